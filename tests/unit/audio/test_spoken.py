"""What models write around the words, and what is made of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import Segment
from vllm_modalities.audio.joining import joined
from vllm_modalities.audio.spoken import Grammar, settled, spoken, worded


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("language English<asr_text>The museum.", "The museum."),
        (" language Chinese<asr_text>你好。", "你好。"),
        ("language None<asr_text>", ""),
        ("<asr_text>The museum.", "The museum."),
        ("One. language Haitian Creole<asr_text>Two.", "One. Two."),
        ("你好。language Chinese<asr_text>再见。", "你好。再见。"),
        ("the language was language English<asr_text>Two.", "the language was Two."),
        ("The language English is spoken.", "The language English is spoken."),
    ],
)
def test_the_tag_that_qwen3_asr_writes_is_no_word(text: str, words: str) -> None:
    assert spoken(text, "asr_text", duration=9.0).text == words


def test_a_text_of_other_models_is_left_as_it_is_but_for_blanks_around_it() -> None:
    text = " [0.1][S01] language English<asr_text> "
    assert spoken(text, None, duration=9.0).text == text.strip()
    assert settled(text, None) == text


def timed(text: str, duration: float = 9.0) -> list[tuple[float, float, str | None, str]]:
    found = spoken(text, "diarized", duration=duration)
    return [(s.start, s.end, s.speaker, s.text) for s in found.segments]


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        (
            "[0.11][S01] One. [1.03][1.5][S02] Two. [2]",
            [(0.11, 1.03, "S01", "One."), (1.5, 2.0, "S02", "Two.")],
        ),
        (
            "[ 0.5 ] [S1]One.\n[1.0]\n[12.5] [S2]Two.[13.]",
            [(0.5, 1.0, "S1", "One."), (9.0, 9.0, "S2", "Two.")],
        ),
        ("[1][S01] One. [3][S02] Two.", [(1.0, 3.0, "S01", "One."), (3.0, 9.0, "S02", "Two.")]),
        ("[1][S01] Note [12] of [2024]", [(1.0, 9.0, "S01", "Note [12] of")]),
        ("[5][S01] Page [2]", [(5.0, 9.0, "S01", "Page [2]")]),
        (
            "[5][S01] One. [6][2][S02] Two. [7]",
            [(5.0, 6.0, "S01", "One."), (5.0, 7.0, "S02", "Two.")],
        ),
        ("Well. [2][S01] One. [3]", [(0.0, 2.0, None, "Well."), (2.0, 3.0, "S01", "One.")]),
        ("[1][S01] One. [2][S02] Two.", [(1.0, 2.0, "S01", "One."), (2.0, 9.0, "S02", "Two.")]),
        ("[S01] One. [2]", [(0.0, 2.0, "S01", "One.")]),
        ("[1][S01] [2]", []),
        ("", []),
        ("No marks.", [(0.0, 9.0, None, "No marks.")]),
    ],
)
def test_marks_are_read_where_some_are_missing_or_make_no_sense(text: str, segments) -> None:
    assert timed(text) == segments


def test_whole_marks_are_no_doubt_and_guessed_times_are() -> None:
    assert spoken("[1][S01] One. [2]", "diarized", duration=9.0).doubts == ()
    (doubt,) = spoken("[1][S01] One. [2][3][S02] Two.", "diarized", duration=9.0).doubts
    assert doubt.startswith("1 of 2 segments")


WORDS = st.lists(st.sampled_from(["a", "lan", "language", "English", "12", "."]), max_size=5)
PIECES = st.sampled_from(
    [
        "language English<asr_text>",
        "<asr_text>",
        " language ",
        "word",
        " ",
        "[1.5]",
        "[S01]",
        "[0.1][S02]",
        "[2]",
        "[",
        "]",
        "<asr",
        "[9999999]",
        "\n",
        "语",
    ]
)
TEXTS = st.lists(PIECES | st.text("alng [].S012<>_", max_size=4), max_size=12).map("".join)
GRAMMARS = st.sampled_from(["asr_text", "diarized", None])


@given(text=TEXTS, grammar=GRAMMARS, cut=st.integers(0, 60))
def test_words_that_are_handed_out_early_stay_the_beginning_of_the_words(
    text: str, grammar: Grammar, cut: int
) -> None:
    """So that a stream never has to take a word back."""
    early = worded(settled(text[:cut], grammar), grammar)
    assert worded(text, grammar).startswith(early)


@given(text=TEXTS, duration=st.floats(0, 1e5))
def test_segments_lie_in_the_sound_and_never_begin_before_the_last(
    text: str, duration: float
) -> None:
    found = spoken(text, "diarized", duration=duration)
    starts = [segment.start for segment in found.segments]
    assert starts == sorted(starts)
    assert all(0 <= s.start <= s.end <= duration and s.text for s in found.segments)
    assert joined(s.text for s in found.segments) == found.text


@pytest.mark.parametrize(
    ("text", "words"),
    [("语[S01]语", "语语"), ("语[S01]word", "语 word"), ("one[S01]two", "one two")],
)
def test_speakers_words_meet_with_a_blank_where_their_script_has_blanks(text, words) -> None:
    found = spoken(text, "diarized", duration=0.0)
    assert found.text == joined(s.text for s in found.segments) == words


MARKED = st.lists(
    st.tuples(
        st.integers(0, 900), st.integers(0, 90), st.integers(1, 9), st.text("ab .", min_size=1)
    ).filter(lambda one: one[3].strip()),
    max_size=6,
)


@given(marked=MARKED)
def test_marks_as_they_should_be_are_read_as_they_are_written(marked) -> None:
    times = sorted(start for start, *_ in marked)
    rows = [
        Segment(float(time), float(time + length), words.strip(), speaker=f"S0{who}")
        for time, (_, length, who, words) in zip(times, marked, strict=True)
    ]
    text = "".join(f"[{r.start:.2f}][{r.speaker}] {r.text} [{r.end:.2f}]" for r in rows)
    assert spoken(text, "diarized", duration=2000.0).segments == tuple(rows)
