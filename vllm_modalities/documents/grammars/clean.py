"""Clean what models wrap around Markdown: end tokens, fences, invented pictures, kinds of math."""

from __future__ import annotations

import re
from itertools import pairwise

from .parsed import BLANK_LINES, Doubts

# There with `skip_special_tokens=false`; also the ends of a turn.
ENDS = (
    "<｜end▁of▁sentence｜>",
    "<|endoftext|>",
    "<|im_end|>",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<|user|>",
    "</s>",
    "<eos>",
)
FENCE = "```"
FENCED = re.compile(r"```(?:markdown|md|html|json|latex|text)?[ \t]*\n", re.IGNORECASE)
WRITTEN = re.compile(r"```(?:markdown|md|html|json)[ \t]*\n", re.IGNORECASE)
# Each stops at the next bracket and at the end of the line: linear on any input.
LINK = re.compile(r"!\[(?P<words>[^\[\]\n]*)\]\((?P<target>[^()\n]*)\)")
# `\\` first: `\\[2pt]` breaks a line of a matrix.
MATH = re.compile(r"\\\\|\\\(|\\\)|\\\[|\\\]")
TABLE, END_OF_TABLE = re.compile(r"<table\b", re.IGNORECASE), re.compile(r"</table>", re.IGNORECASE)
NAMELESS = {"image", "img", "figure", "picture"}  # words that say nothing of a figure
PAIRS = {r"\(": r"\)", r"\[": r"\]"}
DOLLARS = {r"\(": "$", r"\)": "$", r"\[": "$$", r"\]": "$$"}


def unwrapped(text: str) -> str:
    """`text` without tokens that end it, and without a fence around the whole of it."""
    text = text.strip()
    before, stop = -1, len(text)
    while stop != before:
        before, stop = stop, _end(text, stop)
    text = text[:stop]
    opened = FENCED.match(text)
    if not opened:
        return text
    inside = text[opened.end() :]
    if inside.endswith(FENCE) and FENCE not in inside[: -len(FENCE)]:
        return inside.removesuffix(FENCE).strip()
    # A cut answer, or one with fences of its own inside; ```python may well be the page's first.
    return inside.removesuffix(FENCE).strip() if WRITTEN.match(text) else text


def whole(text: str) -> str:
    """`text` without halves of surrogate pairs: two make a character, one by itself makes none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _end(text: str, stop: int) -> int:
    """Where `text[:stop]` ends without its last token, if that ends an answer."""
    size = next((len(end) for end in ENDS if text.endswith(end, 0, stop)), 0)
    stop -= size
    while size and stop and text[stop - 1].isspace():
        stop -= 1
    return stop


def tidy(text: str, doubts: Doubts) -> str:
    """Markdown with `$` and `$$` around math, without pictures that are not there."""

    def words(link: re.Match[str]) -> str:
        doubts.add("link to a picture that the model made up dropped", link["target"])
        return "" if link["words"].lower() in NAMELESS else link["words"]

    text = LINK.sub(words, text)
    if missing := max(0, len(TABLE.findall(text)) - len(END_OF_TABLE.findall(text))):
        doubts.add("table that is never closed", text[text.find("<") :])
    return BLANK_LINES.sub("\n\n", dollars(text)).strip() + "</table>" * missing


def dollars(text: str) -> str:
    r"""`text` with `$…$` for `\(…\)` and `$$…$$` for `\[…\]`, where both ends are there."""
    marks = [mark for mark in MATH.finditer(text) if mark[0] != "\\\\"]
    paired: list[re.Match[str]] = []
    for left, right in pairwise(marks):
        if PAIRS.get(left[0]) == right[0]:
            paired += [left, right]
    written, at = [], 0
    for mark in paired:
        inside = mark[0] in PAIRS
        before = text[at : mark.start()]
        written += [before if inside else before.strip(" "), DOLLARS[mark[0]]]
        at = mark.end()
    return "".join([*written, text[at:]])
