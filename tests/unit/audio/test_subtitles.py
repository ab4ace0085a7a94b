from __future__ import annotations

from vllm_modalities.audio.subtitles import srt, vtt
from vllm_modalities.audio.transcript import Segment


def times(*segments: Segment) -> list[str]:
    return [line for line in srt(segments).splitlines() if " --> " in line]


def test_srt_numbers_from_one_with_a_blank_line_between() -> None:
    assert srt([Segment(0, 1, "One."), Segment(1, 2.5, "Two.")]) == (
        "1\n00:00:00,000 --> 00:00:00,920\nOne.\n\n2\n00:00:01,000 --> 00:00:02,500\nTwo.\n"
    )


def test_vtt_has_a_header_and_points() -> None:
    assert vtt([Segment(0, 1, "One."), Segment(3_601, 3_602.5, "Two.")]) == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nOne.\n\n01:00:01.000 --> 01:00:02.500\nTwo.\n"
    )


def test_without_segments_there_are_no_cues() -> None:
    assert srt([]) == ""
    assert vtt([]) == "WEBVTT\n"


def test_times_are_rounded_before_they_are_split() -> None:
    assert times(Segment(1.001, 59.9996, "a")) == ["00:00:01,001 --> 00:01:00,000"]


def test_a_hundred_hours_are_written_out() -> None:
    assert times(Segment(360_000, 360_001, "a")) == ["100:00:00,000 --> 100:00:01,000"]


def test_times_before_the_beginning_are_the_beginning() -> None:
    assert times(Segment(-2, 1, "a")) == ["00:00:00,000 --> 00:00:01,000"]


def test_a_cue_ends_two_frames_before_the_next_begins() -> None:
    assert times(Segment(0, 5, "a"), Segment(3, 6, "b")) == [
        "00:00:00,000 --> 00:00:02,920",
        "00:00:03,000 --> 00:00:06,000",
    ]


def test_cues_are_in_order_of_time() -> None:
    assert srt([Segment(5, 6, "later"), Segment(0, 1, "first")]).index("first") < 50


def test_segments_that_begin_at_once_share_a_cue() -> None:
    shared = srt([Segment(0, 5, "Yes.", "S01"), Segment(0, 3, "No.", "S02")])
    assert shared == "1\n00:00:00,000 --> 00:00:05,000\n[S02]: No.\n[S01]: Yes.\n"


def test_a_segment_without_length_or_reversed_is_shown_a_second() -> None:
    assert times(Segment(2, 2, "a")) == ["00:00:02,000 --> 00:00:03,000"]
    assert times(Segment(2, 1, "a")) == ["00:00:02,000 --> 00:00:03,000"]
    assert times(Segment(2, 2, "a"), Segment(2.5, 3, "b"))[0] == "00:00:02,000 --> 00:00:02,500"


def test_a_segment_without_words_is_no_cue() -> None:
    assert srt([Segment(0, 1, " \n "), Segment(1, 2, "a")]).startswith("1\n00:00:01,000")


def test_a_line_break_in_the_words_cannot_end_a_cue() -> None:
    assert "\na b\n" in srt([Segment(0, 1, "a\n\nb")])
    assert "\na b\n" in vtt([Segment(0, 1, "a\r\n\r\nb")])


def test_an_arrow_in_the_words_is_not_taken_for_times() -> None:
    assert "\na -> b\n" in srt([Segment(0, 1, "a --> b")])
    assert "\na --&gt; b\n" in vtt([Segment(0, 1, "a --> b")])


def test_vtt_escapes_what_would_be_markup() -> None:
    assert "\n&lt;b&gt; &amp; it's\n" in vtt([Segment(0, 1, "<b> & it's")])


def test_speakers_are_named() -> None:
    assert "\n[S01]: Yes.\n" in srt([Segment(0, 1, "Yes.", "S01")])
    assert "\n<v A &amp; B>Yes.</v>\n" in vtt([Segment(0, 1, "Yes.", "A & B")])
