"""Which texts of a piece are doubtful."""

from __future__ import annotations

import pytest

from vllm_modalities.audio.doubts import DENSEST, density, doubt, ghost, repeated

PROSE = (
    "The old captain carried a heavy basket near the quiet river, and my younger sister wrote a"
    " long letter before the train arrived; nobody knew why the village doctor had left."
)


@pytest.mark.parametrize("text", ["No, no, no!", "ha " * 9, "3 3 3 3", "One.", PROSE])
def test_what_people_say_is_not_doubted(text) -> None:
    assert doubt(text, seconds=20, voiced=15) is None


@pytest.mark.parametrize(
    ("text", "seconds", "why"),
    [
        ("", 20, "no words"),
        ("thank you " * 10, 20, "'thank you' again and again"),
        ("I am going to the " * 5, 20, "again and again"),
        ("ha " * 11, 20, "'ha' again and again"),
        ("ありがとう" * 40, 60, "the same words again and again"),
        (PROSE, 3, "characters in 3.0 s"),
    ],
)
def test_loops_and_too_many_or_no_words_are_doubted(text, seconds, why) -> None:
    found = doubt(text, seconds=seconds, voiced=15)
    assert found is not None
    assert why in found


def test_no_words_are_right_where_nobody_speaks() -> None:
    assert doubt("", seconds=20, voiced=0.4) is None


@pytest.mark.parametrize(
    ("text", "voiced", "is_ghost"),
    [
        ("Thank you.", 0.2, True),
        ("THANKS FOR WATCHING!", 0.2, True),
        ("ご視聴ありがとうございました", 0.0, True),
        ("Thank you.", 2.0, False),
        ("Stop!", 0.2, False),
        ("", 0.0, False),
    ],
)
def test_a_ghost_is_a_known_phrase_where_hardly_anything_is_heard(text, voiced, is_ghost) -> None:
    assert ghost(text, voiced=voiced) == is_ghost


def test_a_loop_is_found_wherever_it_stands() -> None:
    assert repeated(f"{PROSE} {'over there ' * 12} {PROSE}") == "over there"
    assert repeated(PROSE) is None
    assert repeated("") is None
    assert density("a" * 999) > DENSEST > density(PROSE)
