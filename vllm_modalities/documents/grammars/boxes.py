"""Turn the coordinates that a model printed into boxes on the page; nothing printed is trusted."""

from __future__ import annotations

import re

from ..blocks import Box
from . import Doubts

GROUP = re.compile(r"\[([^\[\]]*)\]")  # innermost brackets
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def boxes(printed: str, *, width: int, height: int, scale: int, doubts: Doubts) -> tuple[Box, ...]:
    """The boxes in `[[x0, y0, x1, y1], …]` or `[x0, y0, x1, y1]`, in pixels of the page.

    What lies outside is clamped and swapped corners are sorted; a group that is not four numbers,
    or has no area, is dropped. `doubts` hears of each.

    Args:
        printed: Numbers of 0..`scale`, where `scale` is the page's right or bottom edge.
        width, height: Size of the page in pixels.
        scale: 999 for DeepSeek-OCR (run_dpsk_ocr_image.py: `x1 / 999 * image_width`).
    """
    found = []
    for group in GROUP.findall(printed):
        numbers = group.replace(",", " ").split()
        if len(numbers) != 4 or not all(map(NUMBER.fullmatch, numbers)):
            doubts.add("box dropped, since it is not four numbers", f"[{group}]")
            continue
        x0, y0, x1, y1 = (_clamped(float(number), scale) for number in numbers)
        if [x0, y0, x1, y1] != [float(number) for number in numbers]:
            doubts.add(f"box clamped, since it leaves the page (0..{scale})", f"[{group}]")
        if x0 > x1 or y0 > y1:
            doubts.add("box with its corners swapped sorted", f"[{group}]")
        (x0, x1), (y0, y1) = sorted((x0, x1)), sorted((y0, y1))
        box = (x0 * width / scale, y0 * height / scale, x1 * width / scale, y1 * height / scale)
        if box[0] < box[2] and box[1] < box[3]:
            found.append(box)
        else:
            doubts.add("box dropped, since it has no area", f"[{group}]")
    return tuple(found)


def _clamped(number: float, scale: int) -> float:
    return min(max(number, 0.0), float(scale))
