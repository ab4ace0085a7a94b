"""What a document that was read lacks: pages that are not whole, and pages that are not there."""

from __future__ import annotations

from .blocks import Document, Page
from .choosing import Ranges


def lacking(document: Document, asked: Ranges | None) -> list[str]:
    """In words, what is missing beside the pages among `document.failures`.

    Args:
        asked: The pages that were asked for, see `ranges`.
    """
    failed = {place for place, _ in document.failures}
    lacks = [
        f"page {page.number} is not whole ({page.finish_reason!r})"
        for place, page in enumerate(document)
        if place not in failed and not _is_whole(page)
    ]
    there = {page.number for page in document}
    ends = (first if last is None else last for first, last in asked or ())
    return [*lacks, *(f"there is no page {end}" for end in ends if end not in there)]


def _is_whole(page: Page) -> bool:
    """Whether the model wrote all of it; one without words is blank, or has a warning."""
    return page.finish_reason == "stop" and bool(page.markdown or page.blocks or not page.warnings)
