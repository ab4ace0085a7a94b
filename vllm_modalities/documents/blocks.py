"""What reading a document gives: pages, and blocks of words with the boxes they stand in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from ..errors import VLLMModalitiesError

if TYPE_CHECKING:
    from PIL.Image import Image

Box: TypeAlias = tuple[float, float, float, float]
KeptPicture: TypeAlias = "Image | Callable[[], Image] | None"
"""The image of a page, or what reads it again; None if it was not kept."""

FIGURES = frozenset(
    {"image", "figure", "picture", "chart", "diagram"}
)  # types of block that are cut out of the page
PAGE_BREAK = "\n\n---\n\n"
SHOWN = 40  # characters of a text that a repr quotes


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a page: a title, a paragraph, a table, a figure, a line of words.

    Attributes:
        type: The model's own label, such as `"title"`; `"text"` if it gave none.
        text: The words, as markdown; tables may be HTML. `""` for a figure.
        boxes: Where they stand: (x0, y0, x1, y1) in pixels of the original page, with the origin at
            the top left, 0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height. Empty if unknown.
        order: Its place in the order of reading, from 0.
    """

    type: str
    text: str
    boxes: tuple[Box, ...]
    order: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        boxes = [list(box) for box in self.boxes]
        return {"type": self.type, "text": self.text, "boxes": boxes, "order": self.order}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Page:
    """One page, read.

    Attributes:
        number: Its place in the document, from 1.
        width, height: Size of the original page in pixels; 0 if it could not be read.
        markdown: All its words, in the order of reading; figures are links to
            `figure_path(number, 1)` and so on.
        text: The same without figures and without marks of markdown and HTML.
        blocks: What was found where; empty if the model gives no places.
        finish_reason: Why the model stopped; anything but `"stop"` means that the page may be cut:
            `"length"`, `"repetition"` for a loop, `"error"` for a page that failed, or of which
            a block did.
        warnings: What was dropped, repaired or doubtful.
        picture: The original page, or what reads it again.
        source: Place of its document among those given to `ocr_iter`, from 0.
    """

    number: int
    width: int
    height: int
    markdown: str
    text: str
    blocks: tuple[Block, ...] = ()
    finish_reason: str | None = None
    warnings: tuple[str, ...] = ()
    picture: KeptPicture = None
    source: int = 0

    @property
    def image(self) -> Image | None:
        """The original page, mode RGB; None if it was not kept.

        It is read again from its file each time, so a document of a thousand pages is small.

        Raises:
            MediaError: The file is gone, or damaged by now.
        """
        return self.picture() if callable(self.picture) else self.picture

    @property
    def figures(self) -> tuple[Box, ...]:
        """The boxes that the links to `figure_path(number, 1)` and so on stand for, in order."""
        return tuple(box for block in self.blocks if is_figure(block.type) for box in block.boxes)

    def tables(self) -> list[list[list[str]]]:
        """Its tables, each as rows of cells of one length, in order.

        The text of a cell over several places stands in the first of them, and the others are `""`.
        """
        from .tables import grid, tables_in

        return [grid(cells) for _, _, cells in tables_in(self.markdown)]

    def to_markdown(self, *, tables: Literal["html", "gfm"]) -> str:
        """The Markdown with all tables as HTML, or in pipes as GitHub writes them.

        `.markdown` leaves tables as the model wrote them, but for LaTeX and tokens, which are HTML.
        """
        from .tables import written_as

        return written_as(self.markdown, tables)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; without the image."""
        return {
            "number": self.number,
            "width": self.width,
            "height": self.height,
            "markdown": self.markdown,
            "text": self.text,
            "blocks": [block.to_dict() for block in self.blocks],
            "finish_reason": self.finish_reason,
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], *, picture: KeptPicture = None, source: int = 0
    ) -> Self:
        """The page that `to_dict` gave these values of."""
        blocks = (
            Block(one["type"], one["text"], tuple(map(tuple, one["boxes"])), one["order"])
            for one in values["blocks"]
        )
        known = {**values, "blocks": tuple(blocks), "warnings": tuple(values["warnings"])}
        return cls(**known, picture=picture, source=source)

    def __repr__(self) -> str:
        size = f"{self.width}x{self.height}"
        doubts = f", {counted(self.warnings, 'warning')}" if self.warnings else ""
        blocks = counted(self.blocks, "block")
        return f"Page({self.number}: {size}, {blocks}, {quoted(self.text)}{doubts})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Document:
    """All pages of a document, in order.

    Attributes:
        pages: At least one.
        model: The served model's name.
        warnings: What was dropped, repaired or doubtful, over all pages.
        failures: (position, error) of the pages that failed, which are empty; only with
            `on_error="return"`.
        raw: The server's own answers, with `keep_raw=True`.
    """

    pages: tuple[Page, ...]
    model: str | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[tuple[int, VLLMModalitiesError], ...] = ()
    raw: tuple[bytes, ...] | None = None

    @property
    def markdown(self) -> str:
        """The markdown of all pages, with a rule (`---`) between two."""
        return PAGE_BREAK.join(page.markdown for page in self.pages)

    @property
    def text(self) -> str:
        """The plain words of all pages, with a blank line between two."""
        return "\n\n".join(page.text for page in self.pages)

    def to_markdown(self, *, tables: Literal["html", "gfm"]) -> str:
        """The Markdown of all pages with their tables in one form, see `Page.to_markdown`."""
        return PAGE_BREAK.join(page.to_markdown(tables=tables) for page in self.pages)

    def __len__(self) -> int:
        return len(self.pages)

    def __iter__(self) -> Iterator[Page]:
        return iter(self.pages)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; without the images."""
        pages = [page.to_dict() for page in self.pages]
        return {"model": self.model, "pages": pages, "warnings": list(self.warnings)}

    def overlay(self, page: Page | int = 1) -> Image:
        """A copy of a page, or of the page of that number, with its boxes and their types drawn in.

        Raises:
            KeyError: There is no page of that number.
            ValueError: The page's image was not kept.
        """
        from .export import overlay

        return overlay(self.page(page) if isinstance(page, int) else page)

    def page(self, number: int) -> Page:
        """The page of that number; numbers begin at 1, and `ocr` may have read only some.

        Raises:
            KeyError: There is no such page.
        """
        for page in self.pages:
            if page.number == number:
                return page
        raise KeyError(f"no page {number}; there are {[page.number for page in self.pages]}")

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write `document.md`, its figures (`figures/`, cut out of the pages), and `layout.json`.

        `layout.json` is `to_dict()`. No name of a file is from a model.
        Files of the same name are replaced. Where a page's image was not kept, a comment tells
        where its figures were.

        Returns:
            The path of `document.md`.
        """
        from .export import save

        return save(self, Path(folder))

    def to_html(self) -> str:
        """One HTML page that needs no other file, and no network.

        Each page's picture with its boxes on one side, its words on the other; what the mouse is on
        shows on both. What a model wrote is shown as words: none of it is run or loaded.
        """
        from .html_page import to_html

        return to_html(self)

    def _repr_html_(self) -> str:
        from .html_page import NOTEBOOK, body

        return body(self, most=NOTEBOOK)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.pages[:2])) + (", …" if len(self.pages) > 2 else "")
        return f"Document({counted(self.pages, 'page')}: {shown})"


def is_figure(label: str) -> bool:
    """Whether blocks of this type are cut out of the page."""
    return label.lower() in FIGURES


def area(box: Box) -> float:
    """Pixels that a box covers."""
    return (box[2] - box[0]) * (box[3] - box[1])


def shared_area(one: Box, other: Box) -> float:
    """Pixels that two boxes both cover."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return max(across, 0) * max(down, 0)


def figure_path(page: int, index: int) -> str:
    """Where a figure is saved, relative to the markdown; both numbers from 1."""
    return f"figures/page-{page}-{index}.png"


def counted(things: Sequence[object], noun: str) -> str:
    """How many there are, in words: `1 page`, `2 pages`."""
    return f"{len(things)} {noun}" if len(things) == 1 else f"{len(things)} {noun}s"


def quoted(text: str) -> str:
    """The beginning of a text on one line, for a repr."""
    line = " ".join(text[: 2 * SHOWN].split())
    return repr(line if len(line) <= SHOWN else line[:SHOWN] + "…")
