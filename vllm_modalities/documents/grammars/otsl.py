"""Read OTSL, tables as a token a cell: `<fcel>A<lcel><nl>` is a cell over two columns.

Source: docling-core, docling_core/types/doc/tokens.py; PaddleX 3.7.2 pipelines/paddleocr_vl.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..tables import MOST_CELLS, Cell, to_html

# f: filled, e: empty; l, u and x continue the cell to the left, above, or both. The others are
# headings of columns, of rows and of sections.
TOKEN = re.compile(r"<(fcel|ecel|lcel|ucel|xcel|nl|ched|rhed|srow)>")
HEADS = frozenset({"ched", "rhed", "srow"})


def is_otsl(text: str) -> bool:
    """Whether `text` is such a table."""
    return TOKEN.match(text.lstrip()) is not None


def table(text: str) -> str:
    """The table as HTML; short rows are filled with empty cells, and words before it stay."""
    before, *tokens = TOKEN.split(text)
    rows: list[list[tuple[str, str]]] = [[]]
    for kind, words in zip(tokens[::2], tokens[1::2], strict=True):
        if kind == "nl":
            rows.append([])
        else:
            rows[-1].append((kind, " ".join(words.split())))
    written = to_html(_cells([row for row in rows if row]))
    return f"{before.strip()}\n\n{written}".lstrip()


def _cells(rows: list[list[tuple[str, str]]]) -> list[list[Cell]]:
    """Rows of cells with their spans; a token that continues nothing is a cell of its own."""
    width = max(map(len, rows), default=0)
    if width * len(rows) <= MOST_CELLS:
        rows = [row + [("ecel", "")] * (width - len(row)) for row in rows]
    cells: dict[tuple[int, int], Cell] = {}
    words: dict[tuple[int, int], list[str]] = {}
    begins: dict[tuple[int, int], tuple[int, int]] = {}  # of the cell that covers a place
    for y, row in enumerate(rows):
        for x, (kind, text) in enumerate(row):
            left, above, origin = begins.get((y, x - 1)), begins.get((y - 1, x)), (y, x)
            if kind == "lcel" and left and left[0] == y:
                origin = left
                cells[left] = replace(cells[left], columns=x - left[1] + 1)
            elif kind == "ucel" and above and above[1] == x:
                origin = above
                cells[above] = replace(cells[above], rows=y - above[0] + 1)
            elif kind == "xcel" and left and left == above:
                origin = left
            else:
                cells[origin] = Cell("", heads=kind in HEADS)
            words.setdefault(origin, []).append(text)
            begins[y, x] = origin
    texts = {origin: " ".join(filter(None, parts)) for origin, parts in words.items()}
    return [
        [replace(cells[y, x], text=texts[y, x]) for x in range(len(row)) if (y, x) in cells]
        for y, row in enumerate(rows)
    ]
