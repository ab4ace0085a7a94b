"""A shard: so many rows of the input, what came of each, and the Parquet file that they make.

Until all of them are settled, a journal of the shard's own has an entry for each stretch of them,
and a file beside it the rows themselves. So a kill costs what was not answered yet, and the Parquet
file is written from the disk, not from memory.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from .._journal import Journal
from ..errors import VLLMModalitiesError

GROUP_BYTES = (
    1 << 24
)  # of a Parquet file's row groups; as much stands in memory while it is written

Place: TypeAlias = tuple[int, int, int]
"""Where rows stand in a spool: the first byte, how many, and their CRC-32."""

Failed: TypeAlias = tuple[int, str, str]
"""A row that failed: its number in the input from 0, the kind of error, and its words."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of some rows.

    Attributes:
        kept: Places of the rows that went well, in order.
        columns: What they are given, by the new columns' names.
        failures: The other rows' errors, by place.
        warnings: What was doubtful.
    """

    kept: Sequence[int]
    columns: Mapping[str, Any]
    failures: Mapping[int, VLLMModalitiesError]
    warnings: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class Piece:
    """Rows that are sent together: of which shard, their numbers in the input, and themselves."""

    number: int
    shard: Shard
    numbers: Sequence[int]
    rows: Any


def paths(folder: Path, number: int) -> tuple[Path, Path]:
    """The Parquet file of a shard, and its journal; readers of tables pass over names with _."""
    return folder / f"part-{number:05}.parquet", folder / f"_part-{number:05}.journal"


def tidy(folder: Path, number: int) -> None:
    """Do without the journal of a shard whose file is there."""
    _, journal = paths(folder, number)
    for one in (journal, journal.with_suffix(".rows")):
        one.unlink(missing_ok=True)


class Shard:
    """The rows from `first` on, `count` of them.

    Attributes:
        file: Where its rows go.
        settled: Which of them are done, or have failed by a fault of their own.
        close: Lets go of the files.
        again: What came of the rows that are to be tried again, by number.
    """

    def __init__(self, folder: Path, number: int, first: int, count: int) -> None:
        self.first, self.count = first, count
        self.settled = np.zeros(count, bool)
        self.again: dict[int, Failed] = {}
        self.file, journal = paths(folder, number)
        self._lock = threading.Lock()
        with ExitStack() as files:
            self._journal = files.enter_context(Journal(journal))
            self._spool = files.enter_context(Spool(journal.with_suffix(".rows")))
            self._keys = {key for key in self._journal if self._spool.has(self._entry(key)["rows"])}
            for start, end in map(_stretch, self._keys):
                self.settled[start - first : end - first] = True
            self.close = files.pop_all().close

    def open_rows(self, start: int, end: int) -> list[int]:
        """Those of the rows from `start` to `end` that are not settled; numbers in the input."""
        places = np.flatnonzero(~self.settled[start - self.first : end - self.first])
        return (places + start).tolist()

    def note(
        self, piece: Piece, outcome: Outcome, is_final: Callable[[VLLMModalitiesError], bool]
    ) -> bool:
        """Keep what came of a piece; whether that settled the shard's last row.

        Args:
            piece: Some of the shard's rows.
            outcome: What came of them.
            is_final: Whether an error is the row's own fault.
        """
        final = [place for place, error in outcome.failures.items() if is_final(error)]
        failed: dict[int, Failed] = {
            place: (piece.numbers[place], type(error).__name__, str(error))
            for place, error in outcome.failures.items()
        }
        done = piece.rows.take(pa.array(outcome.kept, pa.int64()))
        for name, column in outcome.columns.items():
            done = done.append_column(name, column)
        settled = sorted([*outcome.kept, *final])
        for places in _runs(settled, piece.numbers):
            kept = np.searchsorted(outcome.kept, (places[0], places[-1] + 1)).tolist()
            entry = {
                "rows": self._spool.add(done.slice(kept[0], kept[1] - kept[0])),
                "failures": [failed[place] for place in places if place in failed],
            }
            key = f"{piece.numbers[places[0]]}-{piece.numbers[places[-1]] + 1}"
            self._journal.put(key, entry)
            self._keys.add(key)
        with self._lock:
            self.again.update(
                (failure[0], failure) for place, failure in failed.items() if place not in final
            )
            self.settled[[piece.numbers[place] - self.first for place in settled]] = True
            return bool(self.settled.all())

    def write(self) -> list[Failed]:
        """Write the Parquet file of what is done; the rows that failed, in order."""
        failures = list(self.again.values())
        beside = self.file.with_name(f"_{self.file.name}")
        with _Writer(beside) as writer:
            for key in sorted(self._keys, key=_stretch):
                entry = self._entry(key)
                writer.add(self._spool.get(entry["rows"]))
                failures += map(tuple, entry["failures"])
        if writer.has_rows:
            beside.replace(self.file)
        pa.default_memory_pool().release_unused()  # or each thread that writes keeps its own
        return sorted(failures)

    def _entry(self, key: str) -> dict[str, Any]:
        entry = self._journal.get(key)
        assert entry is not None
        return entry


class Spool:
    """Batches of rows in a file that is only ever added to, each found by its place."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+b")
        self._lock = threading.Lock()

    def add(self, rows: pa.RecordBatch) -> Place:
        """Keep some rows; a kill does not lose them once this returns."""
        sink = pa.BufferOutputStream(pa.system_memory_pool())
        with ipc.new_stream(sink, rows.schema) as stream:
            stream.write_batch(rows)
        content = sink.getvalue()
        with self._lock:
            start = self._file.seek(0, os.SEEK_END)
            self._file.write(content)
            self._file.flush()
        return start, len(content), zlib.crc32(content)

    def has(self, place: Place) -> bool:
        """Whether the rows are there as they were put; a power cut may have lost them."""
        return zlib.crc32(self._content(place)) == place[2]

    def get(self, place: Place) -> pa.RecordBatch:
        """The rows at that place."""
        (rows,) = ipc.open_stream(self._content(place))
        return rows

    def _content(self, place: Place) -> bytes:
        with self._lock:
            self._file.seek(place[0])
            return self._file.read(place[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class _Writer:
    """Batches of rows into a Parquet file, in row groups; no file where there is no row."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None
        self._waiting: list[Any] = []
        self._bytes = 0

    @property
    def has_rows(self) -> bool:
        return self._file is not None

    def add(self, rows: pa.RecordBatch) -> None:
        if len(rows):
            self._waiting.append(rows)
            self._bytes += rows.nbytes
        if self._bytes >= GROUP_BYTES:
            self._write()

    def _write(self) -> None:
        table = pa.Table.from_batches(self._waiting)
        if self._file is None:
            # What are numbers alone has no words to look up, nor bounds that anyone asks for.
            plain: Any = [
                one.name for one in table.schema if not pa.types.is_fixed_size_list(one.type)
            ]
            self._sink = self._path.open("wb")
            self._file = parquet.ParquetWriter(
                self._sink, table.schema, use_dictionary=plain, write_statistics=plain
            )
        self._file.write_table(table, row_group_size=len(table))
        self._waiting, self._bytes = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._waiting and kind is None:
            self._write()
        if self._file is not None:
            self._file.close()
            self._sink.flush()
            os.fsync(self._sink.fileno())
            self._sink.close()


def _stretch(key: str) -> tuple[int, int]:
    """First row and the one after the last."""
    start, _, end = key.partition("-")
    return int(start), int(end)


def _runs(places: Sequence[int], numbers: Sequence[int]) -> Iterator[list[int]]:
    """`places` in stretches, in each of which the rows' numbers follow one another."""
    run: list[int] = []
    for place in places:
        if run and numbers[place] != numbers[run[-1]] + 1:
            yield run
            run = []
        run.append(place)
    if run:
        yield run
