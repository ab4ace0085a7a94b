"""The answer of a model that prints Markdown and no places."""

from __future__ import annotations

from . import Parsed, plain


def parse(text: str, *, width: int, height: int) -> Parsed:
    """Read one page of Markdown; there are no blocks, whatever the page's size (pixels)."""
    markdown = text.strip()
    return Parsed(blocks=(), markdown=markdown, text=plain(markdown))
