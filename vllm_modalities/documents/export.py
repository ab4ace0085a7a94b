"""Show and save a document: boxes drawn on its pages, Markdown with its figures, its layout."""

from __future__ import annotations

import json
from itertools import cycle
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING

from .blocks import Box, Document, Page, figure_path

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

# Dark enough for white letters on them; a type keeps its colour within a page.
COLOURS = ("#b3261e", "#1a5fb4", "#26734d", "#8f4700", "#7b2d8b", "#00696e", "#5c5c00", "#a3195b")
LABEL = 30  # characters of a type that are drawn
LETTERS = 400  # pixels that a letter is high at most, also on a strip that is a million long
MARGIN = 3  # pixels around a type


def overlay(page: Page) -> Image:
    """A copy of the page's image, the same size, with boxes and their types drawn in."""
    image = page.image  # a PDF's page is rendered anew each time that it is asked for
    if image is None:
        raise ValueError(f"the image of page {page.number} was not kept")
    from PIL import ImageDraw, ImageFont

    picture = image.convert("RGB")
    # `convert` gives the same object for an RGB image that it need not change.
    picture = picture.copy() if picture is image else picture
    scale = max(picture.size) / 1000
    letters = min(max(10, round(14 * scale)), LETTERS)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(letters)
    types = dict.fromkeys(block.type for block in page.blocks)
    colours = dict(zip(types, cycle(COLOURS), strict=False))
    for block in page.blocks:
        colour = colours[block.type]
        for box in block.boxes:
            edge = (*box[:2], min(box[2], picture.width - 1), min(box[3], picture.height - 1))
            draw.rectangle(edge, outline=colour, width=max(1, round(2 * scale)))
            _label(draw, edge, f"{block.order} {block.type}", font=font, colour=colour)
    return picture


def _label(
    draw: ImageDraw, box: Box, words: str, *, font: FreeTypeFont | ImageFont, colour: str
) -> None:
    """Write `words` above the box, or inside it where the page ends."""
    words = words[:LABEL]
    left, top, right, bottom = draw.textbbox((0, 0), words, font=font)
    width, height = right - left + 2 * MARGIN, bottom - top + 2 * MARGIN
    x, y = box[0], box[1] - height if box[1] >= height else box[1]
    draw.rectangle((x, y, x + width, y + height), fill=colour)
    draw.text((x + MARGIN - left, y + MARGIN - top), words, font=font, fill="white")


def crop(page: Image, box: Box) -> Image:
    """The whole pixels that a box touches."""
    x0, y0, x1, y1 = box
    return page.crop((floor(x0), floor(y0), ceil(x1), ceil(y1)))


def save(document: Document, folder: Path) -> Path:
    """Write `document.md`, the figures it links to, and `layout.json`; the path of the first."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown = document.markdown
    for page in document.pages:
        image = page.image if page.figures else None
        for index, box in enumerate(page.figures, 1):
            link = figure_path(page.number, index)
            if image is None:
                place = ", ".join(f"{edge:.0f}" for edge in box)
                lost = (
                    f"<!-- a figure of page {page.number} at ({place}); its image was not kept -->"
                )
                markdown = markdown.replace(f"![]({link})", lost)
                continue
            (folder / link).parent.mkdir(exist_ok=True)
            crop(image, box).save(folder / link)
    target = folder / "document.md"
    target.write_text(markdown + "\n", "utf-8", newline="\n")
    layout = json.dumps(document.to_dict(), ensure_ascii=False, indent=1)
    (folder / "layout.json").write_text(layout + "\n", "utf-8", newline="\n")
    return target
