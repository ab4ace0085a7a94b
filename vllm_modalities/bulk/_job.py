"""A job: rows in, a flow for some of them at a time, shards out; what is finished survives a kill.

It is one flow, so both clients run it. As many workers as the client has requests in flight each
take rows, have them done, and keep what came of them before they take more.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from .._context import Context, Target
from .._flow import Flow, Together, Work
from .._inputs import at_least, invalid
from .._many import Streak, is_shared
from .._progress import Progress, told
from .._wire import RequestModel
from ..errors import BadRequestError, InvalidRequestError, VLLMModalitiesError
from ._formats import READ_BYTES
from ._report import BulkReport
from ._shards import Outcome, Piece
from ._state import State
from ._tables import Table

SHARD_ROWS = 65_536
CHUNK_ROWS = 1024  # that are cut into pieces at once, or as many as the file has together
MOST_WARNINGS = 20  # different ones that a report has


Run: TypeAlias = Callable[[Context, Any, Sequence[int]], Flow[Outcome]]
Find: TypeAlias = Callable[[Context, type[RequestModel], str | None], Flow[Target]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is done with rows.

    Attributes:
        request: What the servers are to take.
        opened: Gives the table.
        run: Does some rows, given their numbers in the input.
        cut: Cuts rows into those that are sent together.
        adds: Names of the columns that it adds.
        options: All that changes what comes of a row.
        parts: The column of values with `failures`, if there is one.
        find: Finds servers that take a `request`, or do without.
    """

    request: type[RequestModel]
    opened: Callable[[], Table]
    run: Run
    cut: Callable[[Any], Iterable[range]]
    adds: tuple[str, ...]
    options: Mapping[str, Any]
    parts: str | None = None
    find: Find = Context.find


def job(
    context: Context,
    task: Task,
    *,
    out: str | os.PathLike[str],
    model: str | None,
    shard_rows: int,
    progress: Progress,
) -> Flow[BulkReport]:
    """Do `task` with all rows of its table; the other arguments are as for `embed`.

    Raises:
        InvalidRequestError: The table or the folder is not what it should be. Nothing is sent.
        VLLMModalitiesError: What all rows share, or the eighth piece in a row that failed whole.
    """
    at_least("shard_rows", shard_rows, 1)
    began = context.fleet.clock()
    table = yield from Work(task.opened)
    twice = [name for name in task.adds if name in table.schema.names]
    if twice:
        raise invalid("into", f"the input has a column {twice[0]!r} already; give another name")
    target = yield from task.find(context, task.request, model)
    files = yield from Work(table.identity)
    identity = {"input": files, "model": target.model, "shard_rows": shard_rows, **task.options}
    state = yield from Work(partial(State, Path(out), identity, table.rows, shard_rows))
    with state, told(progress, table.rows, of="rows") as done:
        rows = _Rows(task, table, state, shard_rows, done)
        outcomes = yield from Together(rows.workers(context), lambda _: True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome
        failed = yield from Work(state.write_failures)
        partial_rows = yield from Work(partial(state.count_partial, task.parts))
    return BulkReport(
        out=Path(out),
        rows=table.rows,
        failed=failed,
        partial=partial_rows,
        found=rows.found,
        seconds=context.fleet.clock() - began,
        warnings=rows.warnings(),
    )


class _Rows:
    """The rows of a table on their way into shards.

    Attributes:
        found: Rows that were settled before.
    """

    def __init__(
        self, task: Task, table: Table, state: State, size: int, done: Callable[[int], None]
    ) -> None:
        self._task, self._table, self._state, self._size = task, table, state, size
        self._done = done
        self._pieces = self._cut()
        self._lock, self._is_over = threading.Lock(), False
        self._streak = Streak()  # of pieces that fail whole, by no fault of their rows
        self._has_some = False
        self._warnings: Counter[str] = Counter()
        self.found = 0

    def workers(self, context: Context) -> Iterator[Flow[None]]:
        """As many as are wanted, until there are no more rows."""
        while not self._is_over:
            yield self._worker(context)

    def _worker(self, context: Context) -> Flow[None]:
        try:
            while piece := (yield from Work(self._next)):
                flow = self._task.run(context, piece.rows, piece.numbers)
                (outcome,) = yield from Together([flow])
                yield from Work(partial(self._note, piece, outcome))
        finally:
            self._is_over = True  # where one fails, all end

    def _next(self) -> Piece | None:
        with self._lock:
            return None if self._is_over else next(self._pieces, None)

    def _cut(self) -> Iterator[Piece]:
        """All rows that are not settled."""
        first = 0
        for rows in _chunks(self._table.batches()):
            end, start = first + len(rows), first
            while start < end:
                number = start // self._size
                stop = min((number + 1) * self._size, end)
                yield from self._pieces_of(number, start, rows.slice(start - first, stop - start))
                start = stop
            first = end

    def _pieces_of(self, number: int, start: int, rows: pa.RecordBatch) -> Iterator[Piece]:
        shard = self._state.shard(number)
        wanted = shard.open_rows(start, start + len(rows)) if shard else []
        if known := len(rows) - len(wanted):
            self.found += known
            self._done(known)
        if shard is None or not wanted:
            return
        if known:
            rows = rows.take(pa.array([row - start for row in wanted], pa.int64()))
        for places in self._task.cut(rows):
            numbers = wanted[places.start : places.stop]
            yield Piece(number, shard, numbers, rows.slice(places.start, len(places)))

    def _note(self, piece: Piece, outcome: Outcome | VLLMModalitiesError) -> None:
        """Keep what came of a piece, or raise what ends the whole."""
        if isinstance(outcome, VLLMModalitiesError):
            if is_shared(outcome):
                raise outcome
            outcome = Outcome((), {}, dict.fromkeys(range(len(piece.numbers)), outcome))
        self._has_some = self._has_some or bool(outcome.kept) or self.found > 0
        others = [error for error in outcome.failures.values() if not self._is_of_the_row(error)]
        if len(others) < len(piece.numbers):
            self._streak.ends()
        elif is_shared(others[0]) or self._streak.is_too_long(others[0]):
            raise others[0]
        for warning in outcome.warnings:
            known = warning in self._warnings or len(self._warnings) < MOST_WARNINGS
            self._warnings[warning if known else "others"] += 1
        if piece.shard.note(piece, outcome, self._is_of_the_row):
            self._state.finish(piece.number)
        self._done(len(piece.numbers))

    def _is_of_the_row(self, error: VLLMModalitiesError) -> bool:
        """Whether another try of the row would fail too.

        What a server refuses may be what is asked of all rows, until it has taken some; and a file
        that cannot be read may be put right.
        """
        refused = isinstance(error, BadRequestError) and self._has_some
        return refused or isinstance(error, InvalidRequestError)

    def warnings(self) -> tuple[str, ...]:
        """What was doubtful, and how often."""
        counted = self._warnings.items()
        return tuple(text if count == 1 else f"{text} ({count} times)" for text, count in counted)


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that are not small, and not large unless they were so before."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if rows and (rows >= CHUNK_ROWS or size + batch.nbytes > READ_BYTES):
            yield _one(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows, size = rows + len(batch), size + batch.nbytes
    if rows:
        yield _one(waiting)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    (whole,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole
