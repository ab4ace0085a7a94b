"""Work that is counted instead of timed."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls(run: Callable[[], object]) -> int:
    """How many functions are called, those written in C too.

    What one of them takes, as a search does, is not in it: `benchmarks/parsing_pages.py` has that.
    """
    count = 0

    def note(frame: object, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count
