"""Read LightOnOCR: Markdown whose figures have places, `![image](image_1.png)120,80,900,400`.

Source: card of lightonai/LightOnOCR-2-1B-bbox-soup, "Image Localization".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..preparing import Frame
from .boxes import placed
from .clean import NAMELESS, tidy, unwrapped
from .parsed import Doubts, Parsed, Piece, assembled

NUMBER = r"[0-9]{1,5}"
FIGURE = re.compile(
    r"!\[(?P<words>[^\[\]\n]*)\]\([^()\n]*\)\s{0,4}"
    rf"\[?(?P<corners>{NUMBER}(?:, ?{NUMBER}){{3}})\]?"
)


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read one page of Markdown; the words between two figures are a block without a box.

    Args:
        text: What the model wrote.
        frame: Where the page is; 1000 is its right and bottom edge.
        page: The page's number, for the links to its figures.
    """
    doubts = Doubts()

    def corners(figure: re.Match[str]) -> tuple[float, float, float, float]:
        x0, y0, x1, y1 = (float(number) for number in figure["corners"].split(","))
        return x0, y0, x1, y1

    found = pieces(unwrapped(text), FIGURE, corners, frame, doubts)
    read = assembled(found, doubts, page=page)
    blocks = read.blocks if any(block.boxes for block in read.blocks) else ()
    return Parsed(blocks, read.markdown, read.text, read.warnings)


def pieces(
    text: str,
    figure: re.Pattern[str],
    corners: Callable[[re.Match[str]], tuple[float, float, float, float]],
    frame: Frame,
    doubts: Doubts,
) -> Iterator[Piece]:
    """Markdown cut at its figures; `corners` reads where one is."""
    at = 0
    for found in figure.finditer(text):
        yield Piece("text", tidy(text[at : found.start()], doubts))
        at = found.end()
        words = found["words"].strip()
        caption = "" if words.lower() in NAMELESS else words
        yield Piece("figure", caption, placed(corners(found), frame, doubts, found[0]))
    yield Piece("text", tidy(text[at:], doubts))
