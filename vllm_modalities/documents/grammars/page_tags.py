"""Read Nanonets-OCR: Markdown with tags around what stands beside the words of a page.

`<page_number>` and `<watermark>` become blocks of their own, and `<img>` holds a figure's caption
or what it shows; none of them has a place.

Source: card of nanonets/Nanonets-OCR2-3B (its prompt names the tags).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..preparing import Frame
from .clean import tidy, unwrapped
from .parsed import Doubts, Parsed, Piece, assembled

TAG = re.compile(r"<(?P<end>/?)(?P<name>img|watermark|page_number|signature)\b[^<>\n]*>")
TYPES = {"img": "figure", "": "text"}


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read one page; a tag that is never closed holds the words up to the end of its line."""
    doubts = Doubts()
    read = assembled(_pieces(unwrapped(text), doubts), doubts, page=page)
    tagged = any(block.type != "text" for block in read.blocks)
    return read if tagged else Parsed((), read.markdown, read.text, read.warnings)


def _pieces(text: str, doubts: Doubts) -> Iterator[Piece]:
    at = 0
    opened = ""
    for tag in [*TAG.finditer(text), None]:
        words = text[at : tag.start() if tag else len(text)]
        at = tag.end() if tag else at
        closes = tag is not None and tag["end"] and tag["name"] == opened
        if opened and not closes:
            doubts.add(f"<{opened}> that is never closed", words)
            line, _, words = words.partition("\n")
            yield Piece(TYPES.get(opened, opened), tidy(line, doubts))
            yield Piece("text", tidy(words, doubts))
        else:
            yield Piece(TYPES.get(opened, opened), tidy(words, doubts))
        opened = str(tag["name"]) if tag and not tag["end"] else ""
