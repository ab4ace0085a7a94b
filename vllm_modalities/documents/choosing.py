"""Which pages of a document are meant: `pages="1-3,7"`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from .._inputs import invalid

Pages: TypeAlias = "str | int | Sequence[int] | None"
"""None is every page."""

Ranges: TypeAlias = tuple[tuple[int, int | None], ...]
"""First and last page of each, from 1; None is the document's last page."""

PART = re.compile(r"\s*([0-9]{1,9})\s*(-\s*([0-9]{1,9})?\s*)?")


def ranges(pages: Pages) -> Ranges | None:
    """What `pages` asks for; None is every page.

    Args:
        pages: Numbers from 1 and ranges such as `"1-3,7"`, where `"5-"` goes on to the end; or a
            number, or several.

    Raises:
        InvalidRequestError: It reads otherwise.
    """
    if pages is None:
        return None
    written = [pages] if isinstance(pages, int) else pages
    parts = written.split(",") if isinstance(written, str) else list(map(str, written))
    found = tuple(map(_range, parts))
    wrong = [part for part, one in zip(parts, found, strict=True) if one is None]
    if wrong or not parts:
        raise invalid("pages", f'pages must read like "1-3,7", with pages from 1; got {pages!r}')
    return tuple(one for one in found if one is not None)


def among(wanted: Ranges | None, count: int) -> tuple[tuple[int, ...], str]:
    """The pages that there are, in the document's order; and, in words, those that there are not.

    Args:
        wanted: As `ranges` gives it.
        count: How many pages the document has.
    """
    if wanted is None:
        return tuple(range(1, count + 1)), ""
    numbers: set[int] = set()
    missing = []
    for first, last in wanted:
        end = max(first, count) if last is None else last
        numbers.update(range(first, min(end, count) + 1))
        if end > count:
            start = max(first, count + 1)
            missing.append(f"{start}" if start == end else f"{start}-{end}")
    return tuple(sorted(numbers)), ", ".join(missing)


def _range(part: str) -> tuple[int, int | None] | None:
    found = PART.fullmatch(part)
    if found is None:
        return None
    first = int(found[1])
    last = first if found[2] is None else int(found[3]) if found[3] else None
    return None if first < 1 or (last is not None and last < first) else (first, last)
