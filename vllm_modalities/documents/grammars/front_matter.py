"""Read olmOCR: facts about the page between two lines of dashes, then Markdown.

A figure is a link whose file name is its place: `![A chart](page_40_300_500_200.png)` begins at
(40, 300) and is 500 wide and 200 high, in pixels of the picture that was sent.

Source: allenai/olmocr olmocr/prompts/prompts.py, `build_no_anchoring_v4_yaml_prompt`.
"""

from __future__ import annotations

import re

from ..preparing import Frame
from .clean import unwrapped
from .parsed import Doubts, Parsed, assembled
from .placed_figures import pieces

FACT = re.compile(r"[ \t]{0,8}[a-z_]{1,40}[ \t]{0,8}:[^\n]*")
RULE = "---"
TURNS = {"90": 90, "180": 180, "270": 270}
FIGURE = re.compile(
    r"!\[(?P<words>[^\[\]\n]*)\]\(page_(?P<x>[0-9]{1,5})_(?P<y>[0-9]{1,5})"
    r"_(?P<wide>[0-9]{1,5})_(?P<high>[0-9]{1,5})\.png\)"
)


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read one page; a body of `null` is a blank page.

    Args:
        text: What the model wrote.
        frame: Where the page is, in pixels of the picture that was sent.
        page: The page's number, for the links to its figures.
    """
    doubts = Doubts()
    facts, body = _parted(unwrapped(text), doubts)
    body = "" if body.strip() == "null" else body

    def corners(figure: re.Match[str]) -> tuple[float, float, float, float]:
        x, y, wide, high = (float(figure[name]) for name in ("x", "y", "wide", "high"))
        return x, y, x + wide, y + high

    read = assembled(pieces(body, FIGURE, corners, frame, doubts), doubts, page=page)
    blocks = read.blocks if any(block.boxes for block in read.blocks) else ()
    turned = facts.get("is_rotation_valid", "true").lower() == "false"
    rotation = TURNS.get(facts.get("rotation_correction", ""), 0)
    warnings = read.warnings
    if turned or rotation:
        warnings += (f"the model says that the page is turned, by {rotation} degrees",)
    return Parsed(blocks, read.markdown, read.text, warnings, rotation)


def _parted(text: str, doubts: Doubts) -> tuple[dict[str, str], str]:
    """The facts, and what follows them; a missing second rule ends them at the first other line."""
    lines = text.split("\n")
    if lines[0].strip() != RULE:
        return {}, text
    facts: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 1):
        if line.strip() == RULE:
            return facts, "\n".join(lines[number + 1 :])
        if not FACT.fullmatch(line):
            break
        name, _, value = line.partition(":")
        facts[name.strip()] = value.strip().strip("\"'")
    else:
        number = len(lines)
    doubts.add("facts about the page that are never closed", text)
    return facts, "\n".join(lines[number:])
