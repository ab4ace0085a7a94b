"""Whatever bytes come, nothing but our own errors goes out: seeds, and seeds that were damaged.

The same inputs every time; `nox -s fuzz` looks for new ones, guided by coverage.
"""

from __future__ import annotations

import pytest
from fuzz.targets import ANSWERS, TARGETS, WORDS, seeds
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from vllm_modalities import Client
from vllm_modalities._endpoint import Endpoint

EDITS = st.lists(
    st.tuples(
        st.integers(0, 4_000),  # where
        st.integers(0, 8),  # how much goes
        st.sampled_from(WORDS) | st.binary(max_size=4),  # what comes instead
        st.sampled_from([1, 1, 1, 50]),  # how often
    ),
    max_size=4,
)


def edited(content: bytes, edits: list[tuple[int, int, bytes, int]]) -> bytes:
    for where, gone, word, times in edits:
        at = where % (len(content) + 1)
        content = content[:at] + word * times + content[at + gone :]
    return content


@pytest.mark.parametrize(
    ("name", "seed"), [(name, seed) for name in TARGETS for seed in seeds(name)]
)
def test_what_was_once_too_much_is_taken(name: str, seed: str) -> None:
    TARGETS[name](seeds(name)[seed])


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_damaged_is_read_or_refused_in_our_words(name: str) -> None:
    given_seeds = st.sampled_from(list(seeds(name).values())) | st.binary(max_size=60)

    @settings(derandomize=True, database=None, max_examples=200, phases=[Phase.generate])
    @given(content=given_seeds, edits=EDITS)
    def run(content: bytes, edits: list[tuple[int, int, bytes, int]]) -> None:
        TARGETS[name](edited(content, edits))

    run()


def test_the_answers_to_every_method_of_the_client_are_fuzzed() -> None:
    methods = {
        name
        for parent in Client.__mro__
        for name, value in vars(parent).items()
        if isinstance(value, Endpoint)
    }
    # `send` gives the answer as it came.
    assert methods - {"send"} <= {name.partition("_")[0] for name in ANSWERS} | set(ANSWERS)
