"""Words into what a screen shows at once: two lines at most, broken where a reader pauses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, WIDE = 42, 16  # characters of a line, and of one in full-width script
LINES = 2
SENTENCE = tuple(".!?…。！？")
CLAUSE = tuple(",;:，、；：")
_CLOSING = re.escape("、。，．！？…：；）」』》”’)]},.!?:;ー～")
_OPENING = re.escape("「『（《“‘([{")
# In scripts without blanks a line may break after any character, but not apart from its marks.
_WIDE_UNIT = re.compile(rf"[{_OPENING}]*(?:[A-Za-z0-9'-]+|.)[{_CLOSING}]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Unit:
    """Characters between which no line breaks, and whether a blank stands before them."""

    text: str
    spaced: bool


def shown(text: str, *, room: int = 0) -> list[tuple[str, ...]]:
    """The words in order, as the lines of one screen after the other.

    Args:
        text: Any; blanks and line ends are alike.
        room: Characters that the first line leaves free, such as for a speaker's name.
    """
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in text) * 2 > len(text)
    width = WIDE if wide else WIDTH
    first = max(width - room, width // 2)
    units = _units(text, first)
    screens, begin = [], 0
    while begin < len(units):
        end = begin + _fitting(units[begin:], [first, *[width] * (LINES - 1)])
        if end < len(units):
            end = _pause(units, begin + (end - begin) // 2, end)
        screens.append(_lines(units[begin:end], first, width))
        begin = end
    return screens


def _units(text: str, most: int) -> list[Unit]:
    """The words, or parts of at most so many characters."""
    units = []
    for word in text.split():
        parts = [word]
        if any(unicodedata.east_asian_width(one) in "WF" for one in word):
            parts = _WIDE_UNIT.findall(word)
        spaced = True
        for part in parts:
            for start in range(0, len(part), most):
                units.append(Unit(part[start : start + most], spaced))
                spaced = False
    return units


def _fitting(units: Sequence[Unit], widths: Sequence[int]) -> int:
    """How many units fit into lines of these widths."""
    taken = 0
    for width in widths:
        length = 0
        while taken < len(units):
            unit = units[taken]
            longer = length + len(unit.text) + (unit.spaced and length > 0)
            if longer > width:
                break
            length, taken = longer, taken + 1
    return taken


def _pause(units: Sequence[Unit], least: int, most: int) -> int:
    """The last place of those where a sentence ends, or else a clause, or else `most`."""
    for marks in (SENTENCE, CLAUSE):
        for place in range(most, least, -1):
            if units[place - 1].text.endswith(marks):
                return place
    return most


def _lines(units: Sequence[Unit], first: int, width: int) -> tuple[str, ...]:
    """One line if that does, else two: broken at a clause, or else of about equal length."""
    whole = _joined(units)
    if len(whole) <= first:
        return (whole,)
    breaks = [
        (not units[place - 1].text.endswith(SENTENCE + CLAUSE), abs(len(head) - len(tail)), place)
        for place in range(1, len(units))
        for head, tail in [(_joined(units[:place]), _joined(units[place:]))]
        if len(head) <= first and len(tail) <= width
    ]
    place = min(breaks)[-1]
    return _joined(units[:place]), _joined(units[place:])


def _joined(units: Sequence[Unit]) -> str:
    return "".join(f" {unit.text}" if unit.spaced else unit.text for unit in units).strip(" ")
