"""Read a page in two halves, cut between two lines, where the whole is too long for a model."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .blocks import figure_path
from .grammars.parsed import Parsed, plain

if TYPE_CHECKING:
    from PIL.Image import Image

MIDDLE = (0.35, 0.65)  # where the cut may be, of the page's height
FREE = 32  # greys that a row without words may span; scans are never quite white


def cut_row(image: Image) -> tuple[int, bool]:
    """The row that the lower half begins with: the nearest to the middle that no word crosses.

    Returns:
        The row, and whether it is free; where no row is, it is the one with the least on it.
    """
    first, last = (round(image.height * part) for part in MIDDLE)
    rows = np.asarray(image.crop((0, first, image.width, max(last, first + 1))).convert("L"))
    spans = np.maximum(rows.max(axis=1).astype(int) - rows.min(axis=1), FREE)
    away = np.abs(np.arange(len(spans)) + first - image.height / 2)
    best = int(np.lexsort((away, spans))[0])
    return first + best, bool(spans[best] <= FREE)


def joined(top: Parsed, bottom: Parsed, *, row: int, page: int) -> Parsed:
    """Both halves as one page; figures are counted on, and boxes moved down.

    Args:
        row: Where the lower half begins, in pixels of the page.
        page: The page's number, for the links to its figures.
    """
    before = len(re.findall(_links(page), top.markdown))
    moved = tuple(
        replace(
            block,
            boxes=tuple((x0, y0 + row, x1, y1 + row) for x0, y0, x1, y1 in block.boxes),
            order=len(top.blocks) + block.order,
        )
        for block in bottom.blocks
    )
    counted_on = re.sub(
        _links(page), lambda link: figure_path(page, before + int(link[1])), bottom.markdown
    )
    markdown = "\n\n".join(filter(None, (top.markdown, counted_on)))
    warnings = dict.fromkeys((*top.warnings, *bottom.warnings))
    return Parsed(top.blocks + moved, markdown, plain(markdown), tuple(warnings))


def _links(page: int) -> str:
    before, _, behind = figure_path(page, 0).rpartition("0")
    return f"{re.escape(before)}([0-9]{{1,9}}){re.escape(behind)}"
