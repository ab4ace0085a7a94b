from __future__ import annotations

import json

import pytest

from vllm_modalities.audio.transcript import Segment, Transcript, Word

SPOKEN = [
    {"id": 0, "start": 0, "end": 1.5, "text": " Horses pulled", "avg_logprob": -0.2, "tokens": [1]},
    {"id": 1, "start": 1.5, "end": 3.25, "text": " these wagons.", "speaker": "S01"},
]


def test_verbose_json_segments_fit() -> None:
    transcript = Transcript.from_segments(SPOKEN, language="en", model="whisper")
    assert transcript.text == "Horses pulled these wagons."
    assert transcript.segments[0] == Segment(0.0, 1.5, "Horses pulled", avg_logprob=-0.2)
    assert transcript.segments[1].speaker == "S01"
    assert transcript.duration == 3.25
    assert transcript.words == ()


def test_a_given_duration_is_kept() -> None:
    assert Transcript.from_segments(SPOKEN, duration=60.0).duration == 60.0


def test_no_segments_are_no_words() -> None:
    transcript = Transcript.from_segments([])
    assert (transcript.text, transcript.segments, transcript.duration) == ("", (), None)


def test_chinese_is_joined_without_blanks() -> None:
    parts = [{"start": 0, "end": 1, "text": "你好"}, {"start": 1, "end": 2, "text": "世界"}]
    assert Transcript.from_segments(parts, language="zh").text == "你好世界"


@pytest.mark.parametrize(
    ("segment", "said"),
    [
        ({"start": 0, "text": "a"}, "segment 0 has no end"),
        ({"start": None, "end": 1}, "no start and no text"),
        ({"start": 0, "end": float("nan"), "text": "a"}, r"runs from 0\.0 to nan"),
        ({"start": float("-inf"), "end": 1, "text": "a"}, "runs from -inf"),
    ],
)
def test_a_segment_that_is_none_is_named(segment: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Transcript.from_segments([segment])


def test_the_dict_is_json() -> None:
    transcript = Transcript("a", words=(Word(0.0, 1.0, "a"),), warnings=("doubtful",))
    again = json.loads(json.dumps(transcript.to_dict()))
    assert again["words"] == [{"start": 0.0, "end": 1.0, "text": "a"}]
    assert again["warnings"] == ["doubtful"]
    assert "raw" not in again


def test_the_repr_is_short() -> None:
    long = Transcript.from_segments(
        [{"start": 0, "end": 90, "text": "word " * 900}], language="en", warnings=("doubtful",)
    )
    shown = "'word word word word word word word word …'"
    assert repr(long) == f"Transcript({shown}, 1 segment, 90.0 s, en, warnings: 1)"
    assert repr(Transcript("")) == "Transcript('', 0 segments)"


def test_subtitles_come_from_the_segments() -> None:
    transcript = Transcript.from_segments(SPOKEN)
    assert "00:00:01,500 --> 00:00:03,250" in transcript.to_srt()
    assert "00:00:01.500 --> 00:00:03.250" in transcript.to_vtt()
