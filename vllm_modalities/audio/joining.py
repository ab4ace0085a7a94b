"""Put the texts of pieces together: one blank where there is one, and no word twice at a join."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import pairwise

from .pieces import Voices
from .transcript import Segment

SNAP = 0.4  # s; farther away, a pause is another one
NEAR = 16  # words, or characters where there are no blanks; two seconds have no more
# Chinese and Japanese with their punctuation, Thai, Lao, Myanmar, Khmer: written without blanks.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
)
WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
MARKS = re.compile(r"\W+")
IS_UNSPACED = re.compile(f"[{UNSPACED}]")


def joined(texts: Iterable[str]) -> str:
    """One text, with a blank where two meet, unless both are written without blanks there."""
    parts = [stripped for text in texts if (stripped := text.strip())]
    text = parts[0] if parts else ""
    for before, after in pairwise(parts):
        bare = IS_UNSPACED.match(before[-1]) and IS_UNSPACED.match(after[0])
        text += after if bare else f" {after}"
    return text


class _Words:
    """The words of some segments, each with its place."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self._places = [
            (number, found.start(), found.end())
            for number, segment in enumerate(segments)
            for found in WORD.finditer(segment.text)
        ]
        self.plain = [
            MARKS.sub("", segments[number].text[start:end]).casefold()
            for number, start, end in self._places
        ]

    def until(self, count: int) -> tuple[Segment, ...]:
        """The segments with the first `count` words alone."""
        if count >= len(self._places):
            return tuple(self._segments)
        number, start, _ = self._places[count]
        cut = replace(self._segments[number], text=self._segments[number].text[:start].rstrip())
        return (*self._segments[:number], *([cut] if cut.text else []))

    def since(self, count: int) -> tuple[Segment, ...]:
        """The segments without the first `count` words."""
        if count >= len(self._places):
            return ()
        number, start, _ = self._places[count]
        first = replace(self._segments[number], text=self._segments[number].text[start:])
        return (first, *self._segments[number + 1 :])


def stitched(
    before: Sequence[Segment], after: Sequence[Segment]
) -> tuple[tuple[Segment, ...], tuple[Segment, ...], bool]:
    """The segments of two pieces that overlap in time, without the words that both have.

    The longest run of words that the end of one and the beginning of the other have in common is
    kept once. What stands between it and the cut was heard by half, and is left out. A run of one
    word counts only where nearly nothing is left out.

    Returns:
        Both, and whether there was such a run: where there was none, every word is kept.
    """
    first, second = _Words(before), _Words(after)
    ending, beginning = first.plain[-NEAR:], second.plain[:NEAR]
    run = SequenceMatcher(None, ending, beginning, autojunk=False).find_longest_match()
    left_out = len(ending) - run.a - run.size + run.b
    if run.size + left_out > NEAR or run.size < 1 + (left_out > 1):
        return tuple(before), tuple(after), not ending or not beginning
    kept = first.until(len(first.plain) - len(ending) + run.a + run.size)
    rest = second.since(run.b + run.size)
    ends = kept[-1].end
    return kept, tuple(_begun(segment, ends) for segment in rest), True


def _begun(segment: Segment, earliest: float) -> Segment:
    """A segment that does not begin before `earliest`."""
    start = max(segment.start, earliest)
    return replace(segment, start=start, end=max(segment.end, start))


def snapped(segments: Iterable[Segment], voices: Voices) -> list[Segment]:
    """`segments` with their ends moved to where sound begins and ends nearby.

    Whisper's times are coarse: it often lets a sentence begin where the one before it ends.
    """
    begins, ends = [begin for begin, _ in voices], [end for _, end in voices]
    found = []
    for segment in segments:
        start = _near(segment.start, begins)
        later = [begin for begin in begins if begin > start]
        if later and not any(begin <= start < end for begin, end in voices):
            start = later[0]
        end = _near(segment.end, ends)
        earlier = [one for one in ends if start < one < end]
        if earlier and not any(begin < end <= until for begin, until in voices):
            end = earlier[-1]
        found.append(replace(segment, start=start, end=max(start, end)))
    return found


def _near(time: float, places: Sequence[float]) -> float:
    nearest = min(places, key=lambda place: abs(place - time), default=time)
    return nearest if abs(nearest - time) <= SNAP else time


def with_tail(segments: Sequence[Segment], text: str, until: float) -> tuple[Segment, ...] | None:
    """`segments` and, as one more that ends at `until`, the words that only `text` has after them.

    Args:
        segments: Timed, and perhaps without the last words.
        text: All words, heard anew, so that some may be spelled otherwise.

    Returns:
        None if `text` has no more words after theirs.
    """
    timed, whole = _Words(segments), _Words([Segment(0.0, until, text.strip())])
    blocks = SequenceMatcher(None, timed.plain, whole.plain, autojunk=False).get_matching_blocks()
    last = max((block for block in blocks if block.size), key=lambda block: block.b, default=None)
    # Words after the last common one stand in both, spelled otherwise; those beyond are lost ones.
    count = last.b + len(timed.plain) - last.a if last else len(timed.plain)
    rest = whole.since(count)
    if not rest:
        return None
    start = min(segments[-1].end if segments else 0.0, until)
    return (*segments, replace(rest[0], start=start))
