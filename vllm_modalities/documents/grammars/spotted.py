"""Read HunyuanOCR's spotting: words, then two corners, `Room 12(15,90),(120,120)`.

Nothing stands between two of them. Words may hold brackets, so only two pairs of numbers in a row
end them.

Source: Tencent-Hunyuan/HunyuanOCR tests/test_spotting_scorer.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..preparing import Frame
from . import layout_json
from .boxes import placed
from .clean import tidy, unwrapped
from .parsed import Doubts, Parsed, Piece, assembled

PAIR = r"\(\s?(-?[0-9]{1,5})\s?[,，]\s?(-?[0-9]{1,5})\s?\)"
MARK = re.compile(rf"{PAIR}\s?[,，]\s?{PAIR}")
MORE = re.compile(rf"(?:\s?[,，]\s?{PAIR})+")


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read one page of words with their boxes; words after the last box are kept as text.

    Args:
        text: What the model wrote; a list of objects with `box` and `text` is read too.
        frame: Where the page is; 1000 is its right and bottom edge.
        page: The page's number.
    """
    written = unwrapped(text)
    if written.startswith("[{"):
        return layout_json.parse(text, frame, page)
    doubts = Doubts()
    return assembled(_pieces(written, frame, doubts), doubts, page=page)


def _pieces(text: str, frame: Frame, doubts: Doubts) -> Iterator[Piece]:
    at = 0
    for mark in MARK.finditer(text):
        if mark.start() < at:
            continue
        words = text[at : mark.start()]
        at = mark.end()
        if more := MORE.match(text, at):
            doubts.add("further corners of a box dropped", more[0])
            at = more.end()
        corners = [float(number) for number in mark.groups()]
        yield Piece("text", tidy(words, doubts), placed(corners, frame, doubts, mark[0]))
    rest = text[at:]
    if rest.strip():
        reason = "words without a box kept as text" if at else "no box in the answer"
        doubts.add(reason, rest)
        yield Piece("text", tidy(rest, doubts))
