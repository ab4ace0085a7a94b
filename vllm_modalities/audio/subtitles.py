"""Write segments as SubRip (SRT) or WebVTT."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from .layout import shown

if TYPE_CHECKING:
    from .transcript import Segment

# Makes players take its line for times; tried at the first dash of a run alone, so time is linear.
ARROW = re.compile("(?<!-)-{2,}+>")
SHOWN = 1_000  # ms that a cue is shown at least, if the next one leaves them
GAP = 80  # ms between two cues, two frames, so that an eye sees the change
SHORTEST = 833  # ms; a cue is not made shorter than this for the gap
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000  # ms


@dataclass(frozen=True, slots=True)
class Cue:
    """What is shown from `start` to `end` (ms), with start < end.

    Attributes:
        lines: (speaker or None, words), the words in at most two lines; one of these unless
            several segments begin at once.
    """

    start: int
    end: int
    lines: tuple[tuple[str | None, str], ...]


@dataclass(frozen=True, slots=True)
class _Screen:
    """What is shown at once of one segment."""

    start: int
    end: int
    speaker: str | None
    words: str


def cues(segments: Iterable[Segment]) -> list[Cue]:
    """The segments' words, in order of time; no cue begins before the last one ends.

    Times are rounded to whole milliseconds first. Of a segment with more words than a screen shows
    each screen has its share of the time, by its characters. What reaches into the next is cut
    there, segments that begin at once share a cue, and a cue that is shorter than a second lasts
    as long as the next one lets it.
    """
    screens = [screen for segment in segments for screen in _screens(segment)]
    screens.sort(key=lambda screen: (screen.start, screen.end))
    shared = [(start, list(group)) for start, group in groupby(screens, key=lambda one: one.start)]
    begins = [start for start, _ in shared[1:]]
    made = []
    for place, (start, group) in enumerate(shared):
        end = max(start + SHOWN, *(screen.end for screen in group))
        if place < len(begins):
            end = _before(start, end, begins[place])
        made.append(Cue(start, end, tuple((screen.speaker, screen.words) for screen in group)))
    return made


def _before(start: int, end: int, following: int) -> int:
    """The end of a cue that another follows: a gap before that, if the cue stays long enough."""
    apart = following - GAP
    return min(end, apart if apart - start >= SHORTEST else following)


def _screens(segment: Segment) -> Iterator[_Screen]:
    start, end = (max(0, round(seconds * 1_000)) for seconds in (segment.start, segment.end))
    speaker = _line(segment.speaker or "") or None
    room = len(_named(speaker, ""))
    pages = shown(segment.text, room=room)
    sizes = [sum(map(len, page)) for page in pages]
    lasts, total = max(end - start, 0), sum(sizes)
    for place, page in enumerate(pages):
        begins = start + lasts * sum(sizes[:place]) // total
        ends = start + lasts * sum(sizes[: place + 1]) // total
        yield _Screen(begins, ends, speaker, "\n".join(page))


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
    return f"[{speaker}]: {words}" if speaker else words


def _voiced(speaker: str | None, words: str) -> str:
    if not speaker:
        return words
    voice = ARROW.sub("->", f"<v {html.escape(speaker, quote=False)}>")
    return f"{voice}{words}</v>"


def _clock(time: int, separator: str) -> str:
    """`time` (ms) as hours, minutes, seconds and milliseconds."""
    hours, minutes, seconds = time // HOUR, time % HOUR // MINUTE, time % MINUTE // SECOND
    return f"{hours:02}:{minutes:02}:{seconds:02}{separator}{time % SECOND:03}"
