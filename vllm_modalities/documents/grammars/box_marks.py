"""Read MinerU2.5's layout: `<|box_start|>x0 y0 x1 y1<|box_end|><|ref_start|>type<|ref_end|>`.

Words may follow a mark. A turn (`<|rotate_right|>`) and what else stands in tokens is dropped.

Source: opendatalab/mineru-vl-utils mineru_vl_utils/mineru_client.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..preparing import Frame
from . import otsl
from .boxes import one_box
from .clean import tidy, unwrapped
from .parsed import Doubts, Parsed, Piece, assembled

MARK = re.compile(
    r"<\|box_start\|>(?P<box>[^<>\n]{0,60})<\|box_end\|>"
    r"(?:\s{0,2}<\|ref_start\|>(?P<label>[^<>\n]{0,60})(?P<end><\|ref_end\|>|$))?"
)
TURNED = re.compile(r"<\|rotate_(?:right|down|left)\|>")
TOKEN = re.compile(r"<\|[a-z_]{1,30}\|>|txt_contd(?:_tgt)?")


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read a layout, or the words of a region.

    Args:
        text: What the model wrote, with its special tokens (`skip_special_tokens=false`).
        frame: Where the page is; 1000 is its right and bottom edge.
        page: The page's number, for the links to its figures.
    """
    doubts = Doubts()
    return assembled(_pieces(unwrapped(text), frame, doubts), doubts, page=page)


def _pieces(text: str, frame: Frame, doubts: Doubts) -> Iterator[Piece]:
    marks = list(MARK.finditer(text))
    first = marks[0].start() if marks else len(text)
    yield Piece("text", _clean(text[:first], doubts))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=False):  # without a mark there is an end all the same
        label = (mark["label"] or "").strip()
        if not label:
            doubts.add("block without a type", mark[0])
        elif not mark["end"]:
            doubts.add("answer cut inside a type", mark[0])
        words = _clean(text[mark.end() : end], doubts)
        yield Piece(label or "text", words, one_box(mark["box"], frame, doubts))


def _clean(words: str, doubts: Doubts) -> str:
    if "<|box_start|>" in words:
        doubts.add("mark that could not be read kept as text", words)
    if turned := TURNED.search(words):
        doubts.add("block that is turned", turned[0])
    bare = TOKEN.sub("", words)
    return otsl.table(bare) if otsl.is_otsl(bare) else tidy(bare, doubts)
