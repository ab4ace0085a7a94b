"""Read MinerU2.5's layout: `<|box_start|>x0 y0 x1 y1<|box_end|><|ref_start|>type<|ref_end|>`.

Words may follow a mark. `<|rotate_right|>` says that a block lies on its right side, and
`txt_contd_tgt` that it goes on with the text before; what else stands in tokens is dropped.

Source: opendatalab/mineru-vl-utils mineru_vl_utils/mineru_client.py, `ANGLE_MAPPING`; an answer:
myhloli/mineru-vl-utils tests/fixtures/baige_page8_layout.txt.
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
TURNED = re.compile(r"<\|rotate_(right|down|left)\|>")
TURNS = {"right": 270, "down": 180, "left": 90}  # clockwise, so that the block is upright
CONTINUED = "txt_contd_tgt"
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
        written = text[mark.end() : end]
        turned = TURNED.search(written)
        if turned:
            doubts.add("block that is turned", turned[0])
        yield Piece(
            label or "text",
            _clean(written, doubts),
            one_box(mark["box"], frame, doubts),
            turn=TURNS[turned[1]] if turned else 0,
            follows=CONTINUED in written,
        )


def _clean(words: str, doubts: Doubts) -> str:
    if "<|box_start|>" in words:
        doubts.add("mark that could not be read kept as text", words)
    bare = TOKEN.sub("", words)
    return otsl.table(bare) if otsl.is_otsl(bare) else tidy(bare, doubts)
