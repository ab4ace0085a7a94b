"""Turn the coordinates that a model printed into boxes on the page; nothing printed is trusted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..blocks import Box
from ..preparing import Frame, box_in
from .parsed import Doubts

GROUP = re.compile(r"\[([^\[\]]*)\]")  # innermost brackets
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def boxes(printed: str, frame: Frame, doubts: Doubts) -> tuple[Box, ...]:
    """The boxes in `[[x0, y0, x1, y1], …]` or `[x0, y0, x1, y1]`, in pixels of the page."""
    groups = GROUP.findall(printed)
    return tuple(box for group in groups for box in one_box(group, frame, doubts))


def one_box(printed: str, frame: Frame, doubts: Doubts) -> tuple[Box, ...]:
    """The box in `x0, y0, x1, y1`, with commas or blanks, in pixels of the page; none if it is bad.

    What lies outside is clamped and swapped corners are sorted; what is not four numbers, or has no
    area, is dropped. `doubts` hears of each.
    """
    numbers = printed.replace(",", " ").split()
    if len(numbers) != 4 or not all(map(NUMBER.fullmatch, numbers)):
        doubts.add("box dropped, since it is not four numbers", f"[{printed}]")
        return ()
    return placed([float(number) for number in numbers], frame, doubts, f"[{printed}]")


def placed(corners: Sequence[float], frame: Frame, doubts: Doubts, example: str) -> tuple[Box, ...]:
    """The same for four numbers."""
    x0, y0, x1, y1 = corners
    if frame.leaves(x0, y0) or frame.leaves(x1, y1):
        edges = f"{frame.left:g}..{frame.right:g}, {frame.top:g}..{frame.bottom:g}"
        doubts.add(f"box clamped, since it leaves the page ({edges})", example)
    if x0 > x1 or y0 > y1:
        doubts.add("box with its corners swapped sorted", example)
    box = box_in(frame, (x0, y0, x1, y1))
    if box is None:
        doubts.add("box dropped, since it has no area", example)
        return ()
    return (box,)
