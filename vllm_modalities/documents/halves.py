"""Read a page in two halves, parted between two lines, where the whole is too long for a model.

Where no row is free of words, the halves overlap, and what both say stands once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np

from .blocks import Block, area, figure_path, is_figure, shared_area
from .grammars.parsed import FIGURE, Parsed, plain

if TYPE_CHECKING:
    from PIL.Image import Image

MIDDLE = (0.35, 0.65)  # where the cut may be, of the page's height
FREE = 32  # greys that a row without words may span; scans are never quite white
OVERLAP = 0.05  # of the page's height, on both sides of a cut that crosses words
# A tag, a word, or a character: Chinese and Japanese have no blanks between words.
WORD = re.compile(r"<[^<>]{1,200}>|[^\W\u3040-\u9fff]+|\S")
LOOKED_AT = 1_000  # words and marks on both sides of the seam
FEWEST = 6  # words that both halves say, to be the same place


@dataclass(frozen=True, slots=True)
class Seam:
    """Where a page is parted.

    Attributes:
        top: Row that the lower half begins with.
        bottom: Row that the upper half ends before; more than `top` where words cross all rows.
        height: Of the page, in pixels.
    """

    top: int
    bottom: int
    height: int

    @property
    def spans(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """First row, and the one behind the last, of both halves."""
        return (0, self.bottom), (self.top, self.height)

    @property
    def overlaps(self) -> bool:
        """Whether both halves show some of the page."""
        return self.top < self.bottom

    def __str__(self) -> str:
        if self.overlaps:
            return f"two halves that overlap, from row {self.top} to {self.bottom}"
        return f"two halves, parted at row {self.top}"


def cut(image: Image) -> Seam:
    """A seam at the row nearest to the middle that nothing crosses, or around the emptiest one."""
    first, last = (round(image.height * part) for part in MIDDLE)
    rows = np.asarray(image.crop((0, first, image.width, max(last, first + 1))).convert("L"))
    # A row's paper is its lightest grey or its darkest, whichever has more pixels like it.
    lightest, darkest = rows.max(axis=1, keepdims=True), rows.min(axis=1, keepdims=True)
    dark = (rows < np.maximum(lightest, FREE) - FREE).sum(axis=1)
    light = (rows > np.minimum(darkest, 255 - FREE) + FREE).sum(axis=1)
    ink = np.minimum(dark, light)
    away = np.abs(np.arange(len(ink)) + first - image.height / 2)
    best = int(np.lexsort((away, ink))[0])
    row, both = first + best, max(1, round(OVERLAP * image.height)) if ink[best] else 0
    return Seam(max(0, row - both), min(image.height, row + both), image.height)


def joined(top: Parsed, bottom: Parsed, *, seam: Seam, page: int) -> Parsed:
    """Both halves as one page; figures are counted on, and boxes moved down.

    Args:
        page: The page's number, for the links to its figures.
    """
    before = len(re.findall(_links(page), top.markdown))
    lower = re.sub(
        _links(page), lambda link: figure_path(page, before + int(link[1])), bottom.markdown
    )
    warnings = dict.fromkeys((*top.warnings, *bottom.warnings))
    meeting = _meeting(top.markdown, lower) if seam.overlaps else None
    if meeting:
        markdown = top.markdown[: meeting[0]] + lower[meeting[1] :]
    else:
        markdown = "\n\n".join(filter(None, (top.markdown, lower)))
        if seam.overlaps:
            warnings["where the halves overlap, words may stand twice"] = None
    moved = {block.order: _moved(block, seam.top) for block in bottom.blocks}
    kept = [
        order for order, block in moved.items() if not (meeting and _is_among(block, top.blocks))
    ]
    places = {order: len(top.blocks) + place for place, order in enumerate(kept)}
    return Parsed(
        (*top.blocks, *(replace(moved[order], order=place) for order, place in places.items())),
        markdown,
        plain(markdown),
        tuple(warnings),
        turns={
            **top.turns,
            **{place: bottom.turns[n] for n, place in places.items() if n in bottom.turns},
        },
        follows=top.follows | {place for n, place in places.items() if n in bottom.follows},
    )


def _meeting(top: str, bottom: str) -> tuple[int, int] | None:
    """Where both halves have said the same words: its end in either; None if that is not known.

    What is left out then, behind it in the upper half and before it in the lower one, is what the
    cut has damaged; no figure may be in it.
    """
    above, below = list(WORD.finditer(top))[-LOOKED_AT:], list(WORD.finditer(bottom))[:LOOKED_AT]
    upper, lower = ([word[0] for word in part] for part in (above, below))
    found = SequenceMatcher(None, upper, lower, autojunk=False).find_longest_match()
    same = above[found.a : found.a + found.size]
    if sum(word[0].isalnum() for word in same) < FEWEST:
        return None
    ends = same[-1].end(), below[found.b + found.size - 1].end()
    if FIGURE.search(top, ends[0]) or FIGURE.search(bottom[: ends[1]]):
        return None
    return ends


def _moved(block: Block, down: int) -> Block:
    boxes = tuple((x0, y0 + down, x1, y1 + down) for x0, y0, x1, y1 in block.boxes)
    return replace(block, boxes=boxes)


def _is_among(block: Block, others: Sequence[Block]) -> bool:
    """Whether most of a block of words stands in one of `others`."""
    return not is_figure(block.type) and any(
        2 * shared_area(box, one) > area(box)
        for box in block.boxes
        for other in others
        for one in other.boxes
    )


def _links(page: int) -> str:
    before, _, behind = figure_path(page, 0).rpartition("0")
    return f"{re.escape(before)}([0-9]{{1,9}}){re.escape(behind)}"
