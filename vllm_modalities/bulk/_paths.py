"""Rows that are a file each, and what is kept of a file that is under way."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from ._columns import files_in
from ._tables import Listing, Source, Table, files_of


def paths_in(source: Source, column: str | None, kinds: Iterable[str]) -> Table:
    """The table with that column, or of the files themselves that end in one of `kinds`.

    Raises:
        InvalidRequestError: There is no such file or column.
    """
    if column is None:
        files = files_of(source, kinds)
        return Listing(files, pa.schema([pa.field("path", pa.string())]), len(files))
    return files_in(source, column)


def journal_of(out: str | os.PathLike[str], number: int) -> Path:
    """Of the row with that number: its finished pieces or pages."""
    return Path(out) / f"_row-{number}.journal"


def tidy(out: str | os.PathLike[str], number: int) -> None:
    """Do without it."""
    journal_of(out, number).unlink(missing_ok=True)
