from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities.profiles import PROFILES, UNKNOWN, Profile, profile_of
from vllm_modalities.profiles._shorthand import called

PIECES = "bge m3 e5 base large small en v1 v1.5 v2 qwen3 embedding reranker jina gte 0.6b whisper"
NAMES = st.text(max_size=60) | st.lists(
    st.sampled_from([*PIECES.split(), "-", "_", "/", "--", "x"]), max_size=9
).map("-".join)
WORDS = st.lists(st.text("abcxyz019", min_size=1, max_size=6), min_size=1, max_size=5)


@given(name=NAMES, root=st.none() | NAMES)
def test_a_name_is_of_the_first_family_it_contains_or_unknown(name: str, root: str | None) -> None:
    found = profile_of(PROFILES, name, root)
    place = PROFILES.index(found) if found is not UNKNOWN else len(PROFILES)
    assert found is UNKNOWN or found.matches(name, root)
    assert not any(profile.matches(name, root) for profile in PROFILES[:place])


@given(
    words=WORDS, between=st.sampled_from("-_."), around=st.sampled_from(["", "/", "--", " ", ":"])
)
def test_a_name_is_found_whatever_stands_between_its_words(
    words: list[str], between: str, around: str
) -> None:
    pattern = called("-".join(words))
    text = around + between.join(words).upper() + around
    assert re.search(pattern, text, re.IGNORECASE)


@given(words=WORDS, touching=st.sampled_from("ab01"), after=st.booleans())
def test_a_name_within_a_longer_word_is_not_found(
    words: list[str], touching: str, after: bool
) -> None:
    name = "-".join(words)
    text = name + touching if after else touching + name
    assert not re.search(called(name), text)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_pattern_repeats_little_and_no_repeat_is_repeated(profile: Profile) -> None:
    """So what a long name costs grows with its square at most, and never doubles with a letter."""
    assert not re.search(r"[*+?]\)[*+]", profile.pattern)
    for alternative in profile.pattern.split("|"):
        assert len(re.findall(r"(?<!\\)[*+]", alternative)) <= 2
