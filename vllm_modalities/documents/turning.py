"""Turn a page that lies on its side, and its boxes back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .blocks import Box
from .grammars.parsed import Parsed

if TYPE_CHECKING:
    from PIL.Image import Image

TURNS = (90, 180, 270)  # degrees that a page can be turned by


def turned(image: Image, degrees: int) -> Image:
    """The page turned clockwise by 90, 180 or 270 degrees; no pixel is lost."""
    from PIL.Image import Transpose

    # Pillow counts the other way round.
    ways = {90: Transpose.ROTATE_270, 180: Transpose.ROTATE_180, 270: Transpose.ROTATE_90}
    return image.transpose(ways[degrees])


def turned_back(parsed: Parsed, degrees: int, *, width: int, height: int) -> Parsed:
    """What was read on the turned page, with its boxes on the page as it lay.

    Args:
        degrees: What the page was turned by.
        width, height: Of the turned page, in pixels.
    """

    def back(box: Box) -> Box:
        x0, y0, x1, y1 = box
        return {
            90: (y0, width - x1, y1, width - x0),
            180: (width - x1, height - y1, width - x0, height - y0),
            270: (height - y1, x0, height - y0, x1),
        }[degrees]

    blocks = (replace(block, boxes=tuple(map(back, block.boxes))) for block in parsed.blocks)
    return replace(parsed, blocks=tuple(blocks))
