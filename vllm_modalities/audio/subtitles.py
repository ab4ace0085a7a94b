"""Write segments as SubRip (SRT) or WebVTT."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .transcript import Segment

# Makes players take its line for times; tried at the first dash of a run alone, so time is linear.
ARROW = re.compile("(?<!-)-{2,}+>")
SHOWN = 1_000  # ms that a cue without a length of its own is shown
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000  # ms


@dataclass(frozen=True, slots=True)
class Cue:
    """What is shown from `start` to `end` (ms), with start < end.

    Attributes:
        lines: (speaker or None, words); one line unless several segments begin at once.
    """

    start: int
    end: int
    lines: tuple[tuple[str | None, str], ...]


def cues(segments: Iterable[Segment]) -> list[Cue]:
    """The segments that have words, in order of time; no cue begins before the last one ends.

    Times are rounded to whole milliseconds first. A segment that reaches into the next is cut
    there, segments that begin at once share a cue, and one without length lasts a second at most.
    """
    timed = [
        (max(0, round(segment.start * 1_000)), max(0, round(segment.end * 1_000)), segment)
        for segment in segments
        if segment.text.strip()
    ]
    timed.sort(key=lambda entry: entry[:2])
    shared = [(start, list(group)) for start, group in groupby(timed, key=lambda entry: entry[0])]
    made = []
    for place, (start, group) in enumerate(shared):
        end = max(end for _, end, _ in group)
        end = end if end > start else start + SHOWN
        lines = tuple((segment.speaker, _line(segment.text)) for _, _, segment in group)
        following = shared[place + 1 : place + 2]
        made.append(Cue(start, min([end, *(begin for begin, _ in following)]), lines))
    return made


def srt(segments: Iterable[Segment]) -> str:
    """SubRip: numbered from 1, `HH:MM:SS,mmm`; a speaker stands in brackets before the words."""
    blocks = []
    for number, cue in enumerate(cues(segments), 1):
        times = f"{_clock(cue.start, ',')} --> {_clock(cue.end, ',')}"
        words = (ARROW.sub("->", _named(speaker, words)) for speaker, words in cue.lines)
        blocks.append("\n".join([str(number), times, *words]) + "\n")
    return "\n".join(blocks)


def vtt(segments: Iterable[Segment]) -> str:
    """WebVTT (W3C): `HH:MM:SS.mmm`; a speaker is a voice tag; `&`, `<` and `>` are escaped."""
    blocks = ["WEBVTT\n"]
    for cue in cues(segments):
        times = f"{_clock(cue.start, '.')} --> {_clock(cue.end, '.')}"
        words = (_voiced(speaker, html.escape(words, quote=False)) for speaker, words in cue.lines)
        blocks.append("\n".join([times, *words]) + "\n")
    return "\n".join(blocks)


def _line(text: str) -> str:
    """One line: a blank one inside a cue would end it."""
    return " ".join(text.split())


def _named(speaker: str | None, words: str) -> str:
    return f"[{_line(speaker)}]: {words}" if speaker else words


def _voiced(speaker: str | None, words: str) -> str:
    if not speaker:
        return words
    voice = ARROW.sub("->", f"<v {html.escape(_line(speaker), quote=False)}>")
    return f"{voice}{words}</v>"


def _clock(time: int, separator: str) -> str:
    """`time` (ms) as hours, minutes, seconds and milliseconds."""
    hours, minutes, seconds = time // HOUR, time % HOUR // MINUTE, time % MINUTE // SECOND
    return f"{hours:02}:{minutes:02}:{seconds:02}{separator}{time % SECOND:03}"
