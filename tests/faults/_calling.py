"""Either client, called in the same way, and what it leaves behind."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _both import same
from _script import BLOCKING
from faults._rows import Row
from faults._server import BOUND

from vllm_modalities import (
    AsyncClient,
    AsyncTextStream,
    Client,
    Document,
    Embeddings,
    Page,
    PartialFailureError,
    TextStream,
    VLLMModalitiesError,
)

WRONG = "WRONG"


def called(client: Client | AsyncClient, row: Row) -> Any:
    """What a row's call gives, awaitable of an `AsyncClient`; what comes in turn is one result."""
    given = getattr(client, row.method)(*row.arguments, **row.options)
    if not row.streams:
        return _whole(given)
    return _awaited(given) if isinstance(client, AsyncClient) else _taken(given)


def _taken(batches: Iterator[Any]) -> Embeddings | Document:
    given: list[Any] = []
    with _joining(given):
        given.extend(batches)
    return _joined(given)


async def _awaited(batches: AsyncIterator[Any]) -> Embeddings | Document:
    given: list[Any] = []
    with _joining(given):
        async for one in batches:
            given.append(one)  # noqa: PERF401 - those before an error count
    return _joined(given)


@contextmanager
def _joining(given: list[Any]) -> Iterator[None]:
    """Put what was given before the end into the error of what failed."""
    try:
        yield
    except PartialFailureError as error:
        raise PartialFailureError(_joined(given), error.failures) from None


def _joined(batches: list[Any]) -> Embeddings | Document:
    if isinstance(batches[0], Page):
        return Document(tuple(batches))
    return replace(batches[0], vectors=np.concatenate([one.vectors for one in batches]))


class Caller:
    """A `Client`, or an `AsyncClient` with an event loop of its own."""

    def __init__(self, kind: str, url: Any, **options: Any) -> None:
        self._runner = None if kind == BLOCKING else asyncio.Runner()
        self.client: Any = (Client if kind == BLOCKING else AsyncClient)(url, **options)

    def do(self, outcome: Any) -> Any:
        return outcome if self._runner is None else self._runner.run(outcome)

    def __call__(self, row: Row, **options: Any) -> Any:
        client = self.client.with_options(**options)
        return row.read(self.do(called(client, row)))

    def tasks(self) -> int:
        """How many tasks there are, after those that only tidy up have had their turns."""

        async def others() -> int:
            for _ in range(3):
                await asyncio.sleep(0)
            return len(asyncio.all_tasks()) - 1

        return 0 if self._runner is None else self._runner.run(others())

    def close(self) -> None:
        self.do(self.client.close())
        if self._runner is not None:
            self._runner.close()


def _whole(made: Any) -> Any:
    """What a method gives, or what a stream has in the end."""
    if isinstance(made, TextStream):
        assert "".join(made) == made.result.text
        return made.result
    return _heard(made) if isinstance(made, AsyncTextStream) else made


async def _heard(stream: AsyncTextStream[Any]) -> Any:
    async with stream:
        assert "".join([text async for text in stream]) == stream.result.text
    return stream.result


@contextmanager
def calling(kind: str, url: Any, **options: Any) -> Iterator[Caller]:
    caller = Caller(kind, url, **options)
    try:
        yield caller
    finally:
        caller.close()


def outcome(caller: Caller, row: Row, healthy: Any, **options: Any) -> str:
    """`right`, the name of the error, or WRONG; of a partial failure, the name of its errors."""
    try:
        result = caller(row, **options)
    except PartialFailureError as error:
        failed = {place for place, _ in error.failures}
        kept = [place for place in range(len(healthy)) if place not in failed]
        if not all(same(error.results[place], healthy[place]) for place in kept):
            return WRONG
        return " and ".join(sorted({type(one).__name__ for _, one in error.failures}))
    except VLLMModalitiesError as error:
        return type(error).__name__
    return "right" if same(result, healthy) else WRONG


@contextmanager
def nothing_left() -> Iterator[None]:
    """No thread runs afterwards that did not before, and no more files are open."""
    gc.collect()
    threads, files = _kept()
    yield
    gc.collect()  # what nobody closed warns now, and a warning fails the test
    patience = time.monotonic() + BOUND  # the loop's own threads take a moment to end
    while True:
        more_threads, more_files = _kept()
        if more_threads <= threads and more_files <= files:
            return
        assert time.monotonic() < patience, (more_threads - threads, more_files - files)
        time.sleep(0.01)


def _kept() -> tuple[set[threading.Thread], int]:
    return set(threading.enumerate()), len(list(Path("/proc/self/fd").iterdir()))
