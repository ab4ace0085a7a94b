"""Fit a page for a model, and turn the model's coordinates back into pixels of the page."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING

from ..errors import MediaError
from .blocks import Box

if TYPE_CHECKING:
    from PIL.Image import Image

    from ..profiles import ImageRule

SLACK = 0.001  # of the page: what a model may miss an edge by without a word


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the edges of a page are, in the numbers that a model prints.

    Attributes:
        width, height: Of the original page, in pixels.
        left, top, right, bottom: Its edges as the model counts.
    """

    width: int
    height: int
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def whole(cls, width: int, height: int, scale: float) -> Frame:
        """Of a page that the model sees whole, from 0 to `scale` both ways."""
        return cls(width, height, 0.0, 0.0, scale, scale)

    def leaves(self, x: float, y: float) -> bool:
        """Whether a point lies outside the page."""
        x_slack, y_slack = SLACK * (self.right - self.left), SLACK * (self.bottom - self.top)
        return not (
            self.left - x_slack < x < self.right + x_slack
            and self.top - y_slack < y < self.bottom + y_slack
        )

    def place(self, x: float, y: float) -> tuple[float, float]:
        """A point in pixels of the page; what lies outside is moved to the edge."""
        x, y = min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)
        return (
            (x - self.left) * self.width / (self.right - self.left),
            (y - self.top) * self.height / (self.bottom - self.top),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A page as a model gets it.

    Attributes:
        image: What is sent; the page itself where nothing had to change.
        frame: The way back to the page.
    """

    image: Image
    frame: Frame


def prepare(page: Image, rule: ImageRule) -> Prepared:
    """Fit `page` (mode RGB, upright) as `rule` says.

    Raises:
        MediaError: One side is too many times as long as the other for the model.
    """
    width, height = page.size
    if rule.ratio and max(width, height) > rule.ratio * min(width, height):
        raise MediaError(
            f"the page is {width}x{height}; the model takes a longer side of at most {rule.ratio} "
            "times the shorter one. Cut the page."
        )
    size = fitted(width, height, rule)
    image = page if size == page.size else page.resize(size)
    canvas = rule.canvas or _widened(*size, rule, least=rule.shortest or 1)
    x, y = ((room - side) // 2 for room, side in zip(canvas, size, strict=True))
    if canvas != size:
        image = _centred(image, canvas, (x, y))
    # The model's number for one pixel of what it is sent.
    across = rule.scale / image.width if rule.scale else 1.0
    down = rule.scale / image.height if rule.scale else 1.0
    edges = (x * across, y * down, (x + size[0]) * across, (y + size[1]) * down)
    return Prepared(image, Frame(width, height, *edges))


def fitted(width: int, height: int, rule: ImageRule) -> tuple[int, int]:
    """The size of the page in the picture that is sent, in pixels."""
    if rule.squeezed:
        return rule.squeezed
    if rule.canvas:
        zoom = min(1.0, rule.canvas[0] / width, rule.canvas[1] / height)
        return max(1, int(width * zoom)), max(1, int(height * zoom))
    if rule.longest and max(width, height) > rule.longest:
        zoom = rule.longest / max(width, height)
        width, height = max(1, round(width * zoom)), max(1, round(height * zoom))
    shorter = min(_widened(width, height, rule))
    if rule.shortest and shorter < rule.shortest:
        zoom = rule.shortest / shorter
        width, height = ceil(width * zoom), ceil(height * zoom)
    step = rule.multiple or 1
    across, down = (max(step, round(side / step) * step) for side in (width, height))
    if rule.pixels:
        fewest, most = rule.pixels
        if across * down > most:
            zoom = sqrt(most / (width * height))
            return (
                max(step, floor(width * zoom / step) * step),
                max(step, floor(height * zoom / step) * step),
            )
        if across * down < fewest:
            zoom = sqrt(fewest / (width * height))
            return ceil(width * zoom / step) * step, ceil(height * zoom / step) * step
    return across, down


def _widened(width: int, height: int, rule: ImageRule, least: int = 1) -> tuple[int, int]:
    """The sides with so much white that neither is too many times the other, or too short."""
    times = rule.widened or max(width, height)
    return max(width, ceil(height / times), least), max(height, ceil(width / times), least)


def _centred(image: Image, canvas: tuple[int, int], corner: tuple[int, int]) -> Image:
    from PIL import Image

    white = Image.new("RGB", canvas, "white")
    white.paste(image, corner)
    return white


def box_in(frame: Frame, numbers: tuple[float, float, float, float]) -> Box | None:
    """A box in pixels of the page, with its corners sorted; None if it has no area there."""
    x0, y0 = frame.place(min(numbers[0], numbers[2]), min(numbers[1], numbers[3]))
    x1, y1 = frame.place(max(numbers[0], numbers[2]), max(numbers[1], numbers[3]))
    return (x0, y0, x1, y1) if x0 < x1 and y0 < y1 else None
