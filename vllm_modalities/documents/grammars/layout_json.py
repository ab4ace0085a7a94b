"""Read a layout as JSON: `[{"bbox": [x0, y0, x1, y1], "category": "Title", "text": "# A"}, …]`.

dots.ocr writes it, and so do others that are asked for boxes, with other names of the fields.
A cut list, missing commas, a fence around it and LaTeX's single backslashes are all read.

Source: rednote-hilab/dots.ocr dots_ocr/utils/prompts.py and output_cleaner.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..blocks import is_figure
from ..preparing import Frame
from .boxes import placed
from .clean import tidy, unwrapped, whole
from .parsed import Doubts, Parsed, Piece, assembled, displayed

BOXES = ("bbox", "bbox_2d", "box", "box_2d")
LABELS = ("category", "label", "type")
TEXTS = ("text", "text_content", "content")
FORMULAS = frozenset({"formula", "equation", "isolate_formula"})
# A string, perhaps cut; a number; a mark. Possessive: nothing is tried twice.
TOKEN = re.compile(r'"(?P<string>(?:[^"\\]|\\.)*+)(?P<end>"?)|(?P<number>-?[0-9]+(?:\.[0-9]+)?)|'
                   r"(?P<mark>[{}\[\]:,])", re.DOTALL)  # fmt: skip
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
# JSON reads \frac and \beta as a form feed and a backspace, which no page has.
LATEX = {"\x08": r"\b", "\x0c": r"\f"}


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read one page; a text that holds no object of a layout is Markdown.

    Args:
        text: What the model wrote.
        frame: Where the page is; dots.ocr counts pixels of the picture that it got.
        page: The page's number, for the links to its figures.
    """
    doubts = Doubts()
    written = unwrapped(text)
    found = _loaded(written or "[]")
    if found is None:
        cuts = Doubts()
        found = [one for one in _salvaged(written, cuts) if _of(one, BOXES + TEXTS) is not None]
        if not found:
            doubts.add("no layout in the answer, which was read as Markdown", written)
            return assembled([Piece("text", tidy(written, doubts))], doubts, page=page)
        doubts.add("answer is no sound JSON; what could be read of it was", written)
        doubts.extend(cuts)
    return assembled((_piece(one, frame, doubts) for one in found), doubts, page=page)


def _loaded(text: str) -> list[Mapping[str, Any]] | None:
    """The objects of a whole and sound answer."""
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    listed = found if isinstance(found, list) else [found]
    return listed if all(isinstance(one, dict) for one in listed) else None


def _of(one: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((one[name] for name in names if one.get(name) is not None), None)


def _piece(one: Mapping[str, Any], frame: Frame, doubts: Doubts) -> Piece:
    box, label, words = (_of(one, names) for names in (BOXES, LABELS, TEXTS))
    kind = whole(str(label or "text"))  # JSON may spell halves of characters
    text = str(words or "").translate({ord(found): latex for found, latex in LATEX.items()})
    text = tidy(whole(text), doubts)
    if kind.lower() in FORMULAS:
        text = displayed(text)
    numbers = isinstance(box, list) and all(type(number) in (int, float) for number in box)
    if numbers and len(box) == 4:
        return Piece(kind, text, placed(box, frame, doubts, str(box)))
    if box is not None or is_figure(kind):
        doubts.add("box dropped, since it is not four numbers", str(box))
    return Piece(kind, text)


def _salvaged(text: str, doubts: Doubts) -> Iterator[dict[str, Any]]:
    """The objects of an answer that is no JSON, each as far as it goes; inner ones stand alone."""
    one = Salvaged()
    for token in TOKEN.finditer(text):
        if token["string"] is not None:
            one.text(token["string"])
            if not token["end"]:
                doubts.add("answer cut inside a text", token["string"])
        elif token["number"]:
            one.number(float(token["number"]))
        elif token["mark"] in "{}":
            if one.fields:
                yield one.fields
            one = Salvaged()
        else:
            one.mark(token["mark"])
    if one.fields or one.numbers:
        doubts.add("answer cut inside a block", str({**one.fields, one.key: one.numbers}))
        yield one.fields


@dataclass(slots=True)
class Salvaged:
    """An object as far as it was read: its fields, and the one that is being read."""

    fields: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    filled: bool = True  # whether the key has its value, so that a string is the next key
    numbers: list[float] | None = None  # of a list that is open

    def text(self, written: str) -> None:
        """A string: a value behind a colon, else a key."""
        if self.filled:
            self.key = written
        else:
            self.fields[self.key], self.filled = _unescaped(written), True

    def number(self, value: float) -> None:
        """A number, which counts in a list alone."""
        if self.numbers is not None:
            self.numbers.append(value)

    def mark(self, mark: str) -> None:
        """A colon, a comma or a bracket."""
        if mark == ":":
            self.filled = False
        elif mark == "[":
            self.numbers = None if self.filled else []
        elif mark == "]" and self.numbers is not None:
            self.fields[self.key], self.numbers, self.filled = self.numbers, None, True
        elif mark == "," and self.numbers is None:  # after a number, null or true: not read
            self.filled = True


def _unescaped(written: str) -> str:
    r"""The text of a JSON string; an escape that JSON does not know is LaTeX's, such as `\sqrt`."""

    def read(escape: re.Match[str]) -> str:
        if escape[1]:
            return chr(int(escape[1], 16))
        return ESCAPES.get(escape[2], escape[0])

    return ESCAPE.sub(read, written)
