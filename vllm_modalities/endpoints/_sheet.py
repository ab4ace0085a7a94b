"""A page, or a part of one, as it is sent."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..documents.preparing import Frame
    from ..documents.reading import PageImage
    from ..profiles import ImageRule

# Pages that stand in memory as pixels; more would not be ready any sooner.
PREPARING = threading.BoundedSemaphore(os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page, or a part of one, as it is sent.

    Attributes:
        url: What is sent.
        pixels: How many those are.
        frame: The way back to the page, or to the part.
        number: The page's.
        warnings: What is doubtful about the file it came from.
    """

    url: str
    pixels: int
    frame: Frame
    number: int
    warnings: tuple[str, ...] = ()


def sheet_of(page: PageImage, rule: ImageRule) -> Sheet:
    """A page, fitted as `rule` says; raises as `prepare` does."""
    from ..documents.preparing import prepare
    from ..documents.reading import to_data_url

    fitted = prepare(page.image, rule)
    pixels = fitted.image.width * fitted.image.height
    return Sheet(to_data_url(fitted.image), pixels, fitted.frame, page.number, page.warnings)
