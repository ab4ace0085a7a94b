"""Read DocTags: `<text><loc_57><loc_80><loc_442><loc_97>Words.</text>`, tables as OTSL.

Words are not escaped: a `<` that begins none of the names below is a `<`.

Source: docling-core docling_core/types/doc/tokens.py, `DocumentToken`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from ..blocks import Box
from ..preparing import Frame
from . import otsl
from .boxes import placed
from .clean import tidy, unwrapped
from .parsed import Doubts, Parsed, Piece, assembled

ELEMENTS = """
    text paragraph caption footnote formula title list_item otsl chart picture code page_header
    page_footer document_index checkbox_selected checkbox_unselected key_value_region form
    section_header section_header_level_1 section_header_level_2 section_header_level_3
    section_header_level_4 section_header_level_5 section_header_level_6
"""
LISTS = {"unordered_list", "ordered_list"}
NAMES = "|".join(sorted([*ELEMENTS.split(), *LISTS, "doctag", "group", "inline"], reverse=True))
TOKEN = re.compile(
    rf"<(?P<end>/?)(?P<name>{NAMES})>|<loc_(?P<number>[0-9]{{1,4}})>|<page_break>"
    r"|<_(?P<language>[A-Za-z0-9+#.-]{1,30})_>"
)
# What a picture is said to be.
CLASS = re.compile(r"<[a-z_]{3,40}>")
MARKS = {"title": "# ", "list_item": "- ", "checkbox_selected": "☑ ", "checkbox_unselected": "☐ "}
TABLES, HEADING = {"otsl", "chart", "document_index"}, "section_header"


@dataclass(slots=True)
class Opened:
    """An element that is not yet closed.

    Attributes:
        name: Its tag.
        place: Where its block stands among the page's.
        numbers: Its corners.
        words: What it holds.
        language: Of code.
    """

    name: str
    place: int
    numbers: list[float] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    language: str = ""


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read one page.

    Args:
        text: What the model wrote, with its special tokens (`skip_special_tokens=false`).
        frame: Where the page is; 500 is its right and bottom edge.
        page: The page's number, for the links to its figures.
    """
    doubts = Doubts()
    reader = Reader(frame, doubts)
    written = unwrapped(text)
    at = 0
    for token in TOKEN.finditer(written):
        reader.say(written[at : token.start()])
        reader.take(token)
        at = token.end()
    reader.say(written[at:])
    if reader.stack:
        doubts.add("answer cut inside a block", reader.stack[-1].name)
    while reader.stack:
        reader.close()
    return assembled((piece for piece in reader.pieces if piece), doubts, page=page)


class Reader:
    """The elements that are open, and the pieces of the page so far."""

    def __init__(self, frame: Frame, doubts: Doubts) -> None:
        self.frame, self.doubts = frame, doubts
        self.stack: list[Opened] = []
        self.open: Counter[str] = Counter()
        self.pieces: list[Piece | None] = []
        self.numbered = 0  # items of the ordered list that is open; 0 is none

    def say(self, words: str) -> None:
        """Words of the innermost element."""
        if self.stack:
            self.stack[-1].words.append(words)
        elif words.strip():
            self.doubts.add("words outside any block kept as text", words)
            self.pieces.append(Piece("text", tidy(words, self.doubts)))

    def take(self, token: re.Match[str]) -> None:
        """A tag, a number or a language."""
        name = token["name"]
        if token["number"]:
            if self.stack:
                self.stack[-1].numbers.append(float(token["number"]))
        elif token["language"]:
            if self.stack:
                self.stack[-1].language = token["language"].lower()
        elif name in LISTS:
            self.numbered = 1 if name == "ordered_list" and not token["end"] else 0
        elif name in ELEMENTS.split() and not token["end"]:
            self.stack.append(Opened(name, len(self.pieces)))
            self.open[name] += 1
            self.pieces.append(None)
        elif name and self.open[name]:
            while (closed := self.close()) != name:
                self.doubts.add("block that is never closed", closed)

    def close(self) -> str:
        """End the innermost element; its tag."""
        one = self.stack.pop()
        self.open[one.name] -= 1
        boxes: tuple[Box, ...] = ()
        if len(one.numbers) >= 4:
            boxes = placed(one.numbers[:4], self.frame, self.doubts, str(one.numbers[:4]))
        elif one.numbers:
            self.doubts.add("box dropped, since it is not four numbers", str(one.numbers))
        self.pieces[one.place] = Piece(one.name, self.markdown(one), boxes)
        return one.name

    def markdown(self, one: Opened) -> str:
        """What the element holds, as Markdown."""
        raw = "".join(one.words)
        if one.name in TABLES:
            return otsl.table(raw[max(raw.find("<"), 0) :]) if "<" in raw else raw.strip()
        if one.name == "code":
            inside = raw.strip("\n")
            return f"```{one.language}\n{inside}\n```" if inside.strip() else ""
        words = tidy(CLASS.sub("", raw) if one.name == "picture" else raw, self.doubts)
        return self.marked(one.name, words) if words else ""

    def marked(self, name: str, words: str) -> str:
        """`words` with the mark of Markdown for such an element."""
        if name == "formula":
            return words if "$" in words else f"$$\n{words}\n$$"
        if name == "list_item" and self.numbered:
            self.numbered += 1
            return f"{self.numbered - 1}. {words}"
        if name.startswith(HEADING):
            level = name.removeprefix(f"{HEADING}_level_")
            return f"{'#' * (int(level) + 1 if level.isdigit() else 2)} {words}"
        return MARKS.get(name, "") + words
