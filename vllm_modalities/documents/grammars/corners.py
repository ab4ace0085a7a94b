"""Read Nemotron-Parse's corners: `<x_0.1><y_0.2># A title<x_0.8><y_0.3><class_Title>`.

The words stand between the two corners of their box, and the type behind it. Numbers are shares of
the picture that was sent, padding included. Tables are LaTeX, and become HTML.

Source: docling-project/docling tests of `nemotron_parse_utils`; vLLM 0.33.0
vllm/model_executor/models/nemotron_parse.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..preparing import Frame
from ..tables import latex_cells, to_html
from .boxes import placed
from .clean import tidy, unwrapped
from .parsed import Doubts, Parsed, Piece, assembled

NUMBER = r"[0-9]{1,4}(?:\.[0-9]{0,8})?"
MARK = re.compile(
    rf"<x_(?P<x>{NUMBER})>\s{{0,4}}<y_(?P<y>{NUMBER})>|<class_(?P<label>[A-Za-z_-]{{1,40}})>"
)
# What asks for the answer, should a server repeat it.
ASKED = re.compile(r"<(?:predict_\w{1,40}|output_\w{1,40}|/?s)>")
BREAK = re.compile(r"<br ?/?>")
LATEX_TABLE = r"\begin{tab"

Corner = tuple[float, float]


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read one page; words outside any box are kept as text.

    Args:
        text: What the model wrote, with its special tokens (`skip_special_tokens=false`).
        frame: Where the page is on the canvas, as shares of it.
        page: The page's number, for the links to its figures.
    """
    doubts = Doubts()
    written = ASKED.sub("", unwrapped(text))
    return assembled(_pieces(written, frame, doubts), doubts, page=page)


def _pieces(text: str, frame: Frame, doubts: Doubts) -> Iterator[Piece]:
    opened: Corner | None = None
    closed: tuple[str, Corner, Corner] | None = None  # a block whose type is still to come
    at = 0
    for mark in [*MARK.finditer(text), None]:
        words = text[at : mark.start() if mark else len(text)]
        at = mark.end() if mark else at
        if closed and (words.strip() or mark is None or mark["label"] is None):
            doubts.add("block without a type", closed[0])
            yield _piece("text", *closed, frame, doubts)
            closed = None
        if mark and mark["label"]:
            if closed:
                yield _piece(mark["label"], *closed, frame, doubts)
            elif opened:
                doubts.add("block without its second corner", words)
                yield Piece(mark["label"], _clean(words, doubts))
            else:
                doubts.add("type of no block dropped", mark[0])
                yield Piece("text", _clean(words, doubts))
            opened = closed = None
        elif mark and opened:
            closed, opened = (words, opened, _corner(mark)), None
        else:
            if words.strip() and mark is None and opened:
                doubts.add("answer cut inside a block", words)
            elif words.strip():
                doubts.add("words outside any box kept as text", words)
            yield Piece("text", _clean(words, doubts))
            opened = _corner(mark) if mark else None


def _corner(mark: re.Match[str]) -> Corner:
    return float(mark["x"]), float(mark["y"])


def _piece(
    label: str, words: str, first: Corner, second: Corner, frame: Frame, doubts: Doubts
) -> Piece:
    example = f"{first}, {second}"
    return Piece(label, _clean(words, doubts), placed((*first, *second), frame, doubts, example))


def _clean(words: str, doubts: Doubts) -> str:
    if LATEX_TABLE in words:
        return to_html(latex_cells(words.strip()))
    return tidy(BREAK.sub("\n", words), doubts)
