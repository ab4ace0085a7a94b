"""Read Chandra: `<div data-bbox="[x0, y0, x1, y1]" data-label="Text"><p>Words.</p></div>`.

What stands inside the outermost divs becomes Markdown; tables stay HTML.

Source: datalab-to/chandra chandra/prompts.py, chandra/output.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..html_markdown import TAG, markdown_of
from ..preparing import Frame
from .boxes import boxes, one_box
from .clean import tidy, unwrapped
from .parsed import Doubts, Parsed, Piece, assembled

BOX = re.compile(r"data-bbox\s*=\s*[\"']?(?P<box>[^\"'<>]{0,80})")
LABEL = re.compile(r"data-label\s*=\s*[\"']?(?P<label>[A-Za-z_-]{1,40})")


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read one page; words outside any div are kept as text.

    Args:
        text: What the model wrote.
        frame: Where the page is; `bbox_scale` (1024, later 1000) is its right and bottom edge.
        page: The page's number, for the links to its figures.
    """
    doubts = Doubts()
    written = unwrapped(text)
    if not TAG.search(written):  # Markdown, then
        return assembled([Piece("text", tidy(written, doubts))], doubts, page=page)
    return assembled(_pieces(written, frame, doubts), doubts, page=page)


def _pieces(text: str, frame: Frame, doubts: Doubts) -> Iterator[Piece]:
    depth, at, opened = 0, 0, ""
    for tag in TAG.finditer(text):
        if tag["name"].lower() != "div":
            continue
        marked = not tag["end"] and "data-bbox" in tag["attributes"]
        if marked and depth:  # the one before was never closed
            doubts.add("block that is never closed", opened)
            yield _piece(opened, text[at : tag.start()], frame, doubts)
            depth = 0
        elif not depth:
            yield _outside(text[at : tag.start()], doubts)
        elif depth == 1 and tag["end"]:
            yield _piece(opened, text[at : tag.start()], frame, doubts)
        if not depth or (depth == 1 and tag["end"]):
            at = tag.end()
        if not depth and not tag["end"]:
            opened = tag["attributes"]
        depth = max(0, depth - 1) if tag["end"] else depth + 1
    rest = text[at:]
    if depth:
        doubts.add("answer cut inside a block", rest)
        yield _piece(opened, rest, frame, doubts)
    elif at:
        yield _outside(rest, doubts)
    else:
        yield Piece("text", _words(rest, doubts))


def _outside(words: str, doubts: Doubts) -> Piece:
    if words.strip():
        doubts.add("words outside any block kept as text", words)
    return Piece("text", _words(words, doubts))


def _piece(attributes: str, inside: str, frame: Frame, doubts: Doubts) -> Piece:
    box, label = BOX.search(attributes), LABEL.search(attributes)
    kind = label["label"] if label else "text"
    printed = box["box"].strip() if box else ""
    read = boxes if "[" in printed else one_box
    return Piece(kind, _words(inside, doubts), read(printed, frame, doubts))


def _words(inside: str, doubts: Doubts) -> str:
    return tidy(markdown_of(inside), doubts)
