"""Which options `vllm serve` of each release has, read from the parsers of sixteen releases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..server import ServerVersion

TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "options.json").read_text("utf-8"))
RELEASES: tuple[str, ...] = tuple(TABLE["releases"])
NAMES: dict[str, list[Any]] = TABLE["options"]  # first release, first without it, what it takes

# What "+" and "?" stand for is argparse's own.
SEVERAL, PERHAPS = "+", "?"


@lru_cache
def listed(version: str) -> str:
    """The release whose options stand for those of `version`: of the same minor, or before it."""
    wanted = ServerVersion(version).release
    same = [name for name in RELEASES if ServerVersion(name).release[:2] == wanted[:2]]
    before = [name for name in RELEASES if ServerVersion(name).release <= wanted]
    return (same or before or RELEASES)[-1 if same or before else 0]


@lru_cache
def names(release: str) -> frozenset[str]:
    """The options that one of `RELEASES` has."""
    return frozenset(
        name
        for name, (first, gone, _) in NAMES.items()
        if ServerVersion(release) >= first and (gone is None or ServerVersion(release) < gone)
    )


def takes(name: str) -> int | str | None:
    """How many words follow an option: 0, 1, `SEVERAL` or `PERHAPS`; None if it is not known."""
    row = NAMES.get(name)
    return None if row is None else row[2]


def choices(name: str, release: str) -> Sequence[str] | None:
    """The only values that an option of one of `RELEASES` takes; None takes anything."""
    found: Sequence[str] | None = None
    for since, values in TABLE["choices"].get(name, {}).items():
        if ServerVersion(release) >= since:
            found = values
    return found
