"""What models write around the words that they hear: tags, times and speakers.

Qwen3-ASR writes `language English<asr_text>The words`, and so before each chunk that a server cuts.
MOSS-Transcribe-Diarize writes `[0.11][S01] The words [1.03]`; marks are read with blanks anywhere,
and where some are missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .joining import joined
from .transcript import Segment

Grammar = Literal["asr_text", "diarized"] | None

_TIME = r"\[\s*(\d{1,7}(?:\.\d{0,6})?)\s*\]"
TAG = re.compile(r"(?:language\s{1,3}[A-Za-z]{1,20}(?:[ -][A-Za-z]{1,20})?\s{0,3})?<asr_text>")
HEADER = re.compile(rf"(?:{_TIME}\s*)?\[\s*(S\d{{1,6}})\s*\]")
END = re.compile(rf"{_TIME}\s*\Z")
# The end of a text that may yet become a tag or a mark, within so many characters.
WINDOW = 100
BEGUN = {
    "asr_text": re.compile(
        r"(?:l|la|lan|lang|langu|langua|languag"
        r"|language(?:\s{1,3}[A-Za-z]{0,20}(?:[ -][A-Za-z]{0,20})?\s{0,3})?)?(?:<[a-z_]{0,8})?\Z"
    ),
    "diarized": re.compile(r"(?:\[[^\[\]]{0,14}\]\s*){0,3}(?:\[[^\[\]]{0,14})?\Z"),
}


@dataclass(frozen=True, slots=True)
class Spoken:
    """The words of a text, without what stands around them.

    Attributes:
        text: All words.
        segments: Those that the model itself timed, in seconds from the sound's beginning.
        doubts: What had to be guessed.
    """

    text: str
    segments: tuple[Segment, ...] = ()
    doubts: tuple[str, ...] = ()


def spoken(text: str, grammar: Grammar, *, duration: float) -> Spoken:
    """The words in a model's answer to `duration` seconds of sound."""
    if grammar != "diarized":
        return Spoken(worded(text, grammar))
    segments, guessed = _timed(_marked(text), duration)
    doubts = (
        f"{guessed} of {len(segments)} segments came without a time that fits; it is taken from"
        " their neighbours",
    )
    return Spoken(worded(text, grammar), tuple(segments), doubts if guessed else ())


def worded(text: str, grammar: Grammar) -> str:
    """The words alone."""
    if grammar == "asr_text":
        return joined(TAG.split(text))
    if grammar == "diarized":
        return joined(mark.words for mark in _marked(text))
    return text.strip()


def settled(text: str, grammar: Grammar) -> str:
    """As much of a growing text as no further word makes a part of a tag or a mark."""
    if grammar is None:
        return text
    begun = BEGUN[grammar].search(text, max(0, len(text) - WINDOW))
    assert begun is not None, "the empty end matches"
    return text[: begun.start()]


@dataclass(frozen=True, slots=True)
class _Mark:
    """Words between two marks; times (s) as they are written, None where they are not."""

    start: float | None
    end: float | None
    speaker: str | None
    words: str


def _marked(text: str) -> list[_Mark]:
    """The stretches of words, in the order in which they are written."""
    headers = list(HEADER.finditer(text))
    ends = [header.start() for header in headers] + [len(text)]
    marks = [_mark(None, None, text[: ends[0]])]
    for header, end in zip(headers, ends[1:], strict=True):
        marks.append(_mark(header[1], header[2], text[header.end() : end]))
    return [mark for mark in marks if mark.words]


def _mark(start: str | None, speaker: str | None, body: str) -> _Mark:
    begins = None if start is None else float(start)
    end = END.search(body)
    if end is None or float(end[1]) < (begins or 0.0):  # a number that is spoken
        return _Mark(begins, None, speaker, body.strip())
    return _Mark(begins, float(end[1]), speaker, body[: end.start()].strip())


def _timed(marks: list[_Mark], duration: float) -> tuple[list[Segment], int]:
    """Segments whose beginnings never go back, and how many have a time that was guessed."""
    segments: list[Segment] = []
    earliest, last_end, guessed = 0.0, 0.0, 0
    for place, mark in enumerate(marks):
        start = last_end if mark.start is None else mark.start
        fits = mark.start is not None and earliest <= start <= duration
        start = earliest = min(max(start, earliest), duration)
        following = next((m.start for m in marks[place + 1 :] if m.start is not None), duration)
        end = following if mark.end is None else mark.end
        fits = fits and mark.end is not None and start <= end
        last_end = min(max(end, start), duration)
        segments.append(Segment(start, last_end, mark.words, speaker=mark.speaker))
        guessed += not fits
    return segments, guessed
