"""How models write pages: one module a grammar, each of which reads any text in linear time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..preparing import Frame
from . import (
    box_marks,
    corners,
    doctags,
    front_matter,
    grounding,
    html_blocks,
    layout_json,
    locations,
    page_tags,
    placed_figures,
    spotted,
    unmarked,
)
from .parsed import Parsed


class Grammar(Protocol):
    """Reads one page of a model's output; no text raises.

    Args:
        text: What the model wrote.
        frame: Where the page is in the model's numbers.
        page: The page's number, for the links to its figures.
    """

    def __call__(self, text: str, frame: Frame, page: int = 1) -> Parsed: ...


GRAMMARS: Mapping[str, Grammar] = {
    "box-marks": box_marks.parse,
    "corners": corners.parse,
    "doctags": doctags.parse,
    "front-matter": front_matter.parse,
    "grounding": grounding.parse,
    "html-blocks": html_blocks.parse,
    "layout-json": layout_json.parse,
    "locations": locations.parse,
    "page-tags": page_tags.parse,
    "placed-figures": placed_figures.parse,
    "plain": unmarked.parse,
    "spotted": spotted.parse,
}
"""By the name that a profile gives."""

__all__ = ["GRAMMARS", "Grammar", "Parsed"]
