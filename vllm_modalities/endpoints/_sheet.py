"""A page, or a part of one, as it is sent."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._forks import renewed_in_children

if TYPE_CHECKING:
    from ..documents.preparing import Frame
    from ..documents.reading import PageImage
    from ..profiles import ImageRule


class _Turns:
    """As many as there are cores: more pages at once would not be ready any sooner."""

    def __init__(self) -> None:
        self.renew()
        renewed_in_children(self)

    def renew(self) -> None:
        """Nobody has one."""
        self._free = threading.BoundedSemaphore(os.cpu_count() or 1)

    def __enter__(self) -> None:
        self._free.acquire()

    def __exit__(self, *_: object) -> None:
        self._free.release()


PREPARING = _Turns()
"""Around whatever has a page stand in memory as pixels."""


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
