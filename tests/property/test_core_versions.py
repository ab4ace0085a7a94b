"""Versions: any that PEP 440 knows is read, anything else is refused in words."""

import operator
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import VERSION_PATTERN

from vllm_modalities import ServerVersion
from vllm_modalities.gates import GATES

NUMBERS = st.integers(0, 99)
RELEASES = st.tuples(NUMBERS, NUMBERS, NUMBERS)
SUFFIXES = st.sampled_from(["", "rc1", "a2", ".dev3", ".post1", "+cu129", ".dev1+g1a2b3c4"])
PEP_440 = st.from_regex(
    re.compile(VERSION_PATTERN, re.VERBOSE | re.IGNORECASE),
    fullmatch=True,
    alphabet=st.characters(codec="ascii"),
)


def named(release: tuple[int, ...], suffix: str = "") -> ServerVersion:
    return ServerVersion(".".join(map(str, release)) + suffix)


@given(text=PEP_440)
def test_any_pep_440_version_is_read(text: str) -> None:
    version = ServerVersion(text)
    assert version == text.strip()
    assert len(version.release) == 3
    assert version >= "0"


@given(text=st.text())
def test_any_text_is_a_version_or_a_clear_value_error(text: str) -> None:
    try:
        version = ServerVersion(text)
    except ValueError as error:
        assert "looks like" in str(error)  # noqa: PT017
    else:
        assert version == text.strip()


@given(one=RELEASES, other=RELEASES, suffix=SUFFIXES)
@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_order_goes_by_the_release(compare, one, other, suffix: str) -> None:
    assert compare(named(one, suffix), named(other)) == compare(one, other)
    assert compare(named(one), str(named(other, suffix))) == compare(one, other)


@given(release=RELEASES, suffix=SUFFIXES, gate=st.sampled_from(GATES))
def test_a_gate_affects_the_releases_of_its_half_open_window(release, suffix, gate) -> None:
    since = tuple(map(int, (gate.since or "0.0.0").split(".")))
    until = tuple(map(int, (gate.until or "999.0.0").split(".")))
    assert gate.affects(named(release, suffix)) == (since <= release < until)


@given(gate=st.sampled_from(GATES))
def test_a_gate_s_window_is_told_in_words(gate) -> None:
    for bound in filter(None, (gate.since, gate.until)):
        assert bound in gate.window
    assert gate.window.startswith(("in every release", "before", "from"))
