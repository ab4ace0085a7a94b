"""Blocks of a page that are read one by one: which of them there are, and the page they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from .blocks import Block, area, shared_area
from .grammars.parsed import Doubts, Parsed, Piece, assembled, displayed
from .turning import turned

if TYPE_CHECKING:
    from PIL.Image import Image

# As MinerU2.5's own client has it: myhloli/mineru-vl-utils tests/test_layout_deduplication.py.
SAME = 0.9  # of the area that two blocks cover together, to be one and the same
INSIDE = 0.9  # of a block's area, to be part of a table
MOST = 500  # blocks of a page; a layout that goes on and on has more, and each is a request
WITHIN_TABLES = frozenset({"text", "equation", "equation_block"})
FORMULAS, TITLES = frozenset({"equation", "formula"}), frozenset({"title"})


def distinct(layout: Parsed) -> Parsed:
    """A layout without blocks that are there twice, or are part of a table; it says which.

    Beyond the first 500 blocks all are dropped.
    """
    doubts = Doubts()
    kept: list[Block] = []
    tables = [block for block in layout.blocks if block.type.lower() == "table"]
    turns: dict[int, int] = {}
    follows: set[int] = set()
    for block in layout.blocks[MOST:]:
        doubts.add(f"block beyond the first {MOST} dropped", block.type)
    for block in layout.blocks[:MOST]:
        kind, turn = block.type.lower(), layout.turns.get(block.order, 0)
        if any(
            kind == other.type.lower() and turn == turns.get(other.order, 0) and _same(block, other)
            for other in kept
        ):
            doubts.add("block that stands where another one does dropped", _told(block))
        elif kind in WITHIN_TABLES and any(_inside(block, table) for table in tables):
            doubts.add("block inside a table dropped, since the table is read whole", _told(block))
        else:
            if turn:
                turns[len(kept)] = turn
            if block.order in layout.follows:
                follows.add(len(kept))
            kept.append(replace(block, order=len(kept)))
    warnings = (*layout.warnings, *doubts.warnings())
    return replace(
        layout, blocks=tuple(kept), turns=turns, follows=frozenset(follows), warnings=warnings
    )


def cut_out(page: Image, block: Block, turn: int) -> Image:
    """The part of the page that a block stands on, upright; whole pixels, and one at least."""
    ((x0, y0, x1, y1), *_) = block.boxes
    left, top = min(int(x0), page.width - 1), min(int(y0), page.height - 1)
    part = page.crop((left, top, max(left + 1, round(x1)), max(top + 1, round(y1))))
    return turned(part, turn) if turn else part


def composed(layout: Parsed, words: Mapping[int, str], *, page: int) -> Parsed:
    """The page of a layout, with the words that were read of its blocks.

    Args:
        layout: The blocks, in the order of reading.
        words: Markdown, by the order of the block.
        page: The page's number, for the links to its figures.
    """
    return assembled(_pieces(layout, words), Doubts(), page=page)


def _pieces(layout: Parsed, words: Mapping[int, str]) -> Iterator[Piece]:
    for block in layout.blocks:
        kind, text = block.type.lower(), words.get(block.order, block.text)
        if kind in FORMULAS:
            text = displayed(text)
        elif kind in TITLES and text and not text.startswith("#"):
            text = f"# {text}"
        yield Piece(block.type, text, block.boxes, follows=block.order in layout.follows)


def _told(block: Block) -> str:
    box = " ".join(f"{side:g}" for side in block.boxes[0])
    return f"{block.type} [{box}]"


def _same(one: Block, other: Block) -> bool:
    shared = [(shared_area(*both), *both) for both in product(one.boxes, other.boxes)]
    return any(both > SAME * (area(here) + area(there) - both) for both, here, there in shared)


def _inside(one: Block, table: Block) -> bool:
    pairs = product(one.boxes, table.boxes)
    return any(shared_area(here, there) >= INSIDE * area(here) for here, there in pairs)
