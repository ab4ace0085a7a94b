"""Simple HTML, as models write it, into Markdown; tables stay HTML."""

from __future__ import annotations

import html
import re

# Stops at the next `<`: linear on any input.
TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-z][a-z0-9]*)(?P<attributes>[^<>]*)>", re.IGNORECASE)
SPAN = re.compile(r"\b(?:row|col)span\s*=\s*[\"']?[0-9]{1,4}[\"']?", re.IGNORECASE)
ALT = re.compile(r"\balt\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')", re.IGNORECASE)
BLANKS = re.compile(r"[ \t\r\n]+")
DEEPEST = 8  # lists within lists whose items are set in
MANY = re.compile(r"\n{3,}")

KEPT_IN_TABLES = {"table", "thead", "tbody", "tr", "td", "th", "caption", "br", "b", "i", "sub"}
KEPT_IN_TABLES |= {"sup"}
AROUND = {"b": "**", "strong": "**", "i": "*", "em": "*", "del": "~~", "code": "`"}
ALONE = {"br": "\n", "hr": "\n\n---\n\n"}
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
LINE_OF_ITS_OWN = {"p", "div", "ul", "ol", "table", "blockquote"}


def markdown_of(text: str) -> str:
    """`text` as Markdown; tags that mean nothing there are dropped, their words are not."""
    writer = Writer()
    at = 0
    for tag in TAG.finditer(text):
        writer.say(text[at : tag.start()])
        writer.take(tag)
        at = tag.end()
    writer.say(text[at:])
    lines = (line.rstrip(" ") for line in "".join(writer.written).split("\n"))
    return MANY.sub("\n\n", "\n".join(lines)).strip()


class Writer:
    """What is written so far, and what is open."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.tables = 0  # that are open
        self.lists: list[int] = []  # the next number of each that is open; 0 has none
        self.math = ""  # the mark that ends it
        self.code = False

    def say(self, words: str) -> None:
        """Words between two tags."""
        if self.code:
            self.written.append(html.unescape(words))
            return
        words = BLANKS.sub(" ", words)
        if self.written and self.written[-1].endswith((" ", "\n")):
            words = words.removeprefix(" ")
        self.written.append(words if self.tables and not self.math else html.unescape(words))

    def take(self, tag: re.Match[str]) -> None:
        """One tag."""
        name, ends, attributes = tag["name"].lower(), bool(tag["end"]), tag["attributes"]
        if name == "table":
            self.tables = max(0, self.tables + (-1 if ends else 1))
            outer = not self.tables if ends else self.tables == 1
            written = f"\n\n<{tag['end']}table>" if outer and not ends else f"<{tag['end']}table>"
            self.written.append(f"{written}\n\n" if outer and ends else written)
        elif name in {"img", "input", "math"}:
            self.written.append(self.inline(name, attributes, ends=ends))
        elif self.tables:
            if name in KEPT_IN_TABLES:
                spans = "".join(f" {span[0]}" for span in SPAN.finditer(attributes))
                self.written.append(f"<{tag['end']}{name}{spans}>")
        else:
            self.written.append(self.block(name, ends=ends))

    def inline(self, name: str, attributes: str, *, ends: bool) -> str:
        """A picture, a box to tick, or math."""
        if name == "img":
            alt = ALT.search(attributes)
            words = (alt["double"] or alt["single"] or "") if alt else ""
            return words if self.tables else html.unescape(words)
        if name == "input":
            return "☑ " if "checked" in attributes else "☐ "
        if ends:
            mark, self.math = self.math, ""
            return mark
        self.math = "$$" if "block" in attributes else "$"
        return self.math

    def block(self, name: str, *, ends: bool) -> str:
        """A tag outside tables that changes how words read."""
        if name in AROUND:
            return "" if self.code else AROUND[name]
        if name == "pre":
            self.code = not ends
            return "\n```\n\n" if ends else "\n\n```\n"
        if name in HEADINGS:
            return "\n\n" if ends else f"\n\n{HEADINGS[name]} "
        if name == "li" and not ends:
            return self.item()
        return ALONE.get(name) or self.gap(name, ends=ends)

    def gap(self, name: str, *, ends: bool) -> str:
        """What stands around a part of the page; what is inside a list stands close."""
        if name in {"ul", "ol"}:
            if not ends:
                self.lists.append(int(name == "ol"))
            elif self.lists:
                self.lists.pop()
        nested = len(self.lists) > (0 if ends else 1)
        return "\n\n" if name in LINE_OF_ITS_OWN and not nested else ""

    def item(self) -> str:
        """How an item of the innermost list begins."""
        indent = "  " * min(max(0, len(self.lists) - 1), DEEPEST)
        number = self.lists[-1] if self.lists else 0
        if number:
            self.lists[-1] += 1
        return f"\n{indent}{f'{number}.' if number else '-'} "
