"""Either client, called in the same way, and what it leaves behind."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _both import same
from _script import BLOCKING
from faults._rows import Row

from vllm_modalities import AsyncClient, Client, PartialFailureError, VLLMModalitiesError

WRONG = "WRONG"


class Caller:
    """A `Client`, or an `AsyncClient` with an event loop of its own."""

    def __init__(self, kind: str, url: Any, **options: Any) -> None:
        self._runner = None if kind == BLOCKING else asyncio.Runner()
        self.client: Any = (Client if kind == BLOCKING else AsyncClient)(url, **options)

    def do(self, outcome: Any) -> Any:
        return outcome if self._runner is None else self._runner.run(outcome)

    def __call__(self, row: Row, **options: Any) -> Any:
        client = self.client.with_options(**options)
        return row.read(self.do(getattr(client, row.method)(*row.arguments, **row.options)))

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
        if not (error.results.vectors[kept] == healthy.vectors[kept]).all():
            return WRONG
        return " and ".join(sorted({type(one).__name__ for _, one in error.failures}))
    except VLLMModalitiesError as error:
        return type(error).__name__
    return "right" if same(result, healthy) else WRONG


@contextmanager
def nothing_left() -> Iterator[None]:
    """Threads and file descriptors are as many afterwards as before."""
    gc.collect()
    before = _kept()
    yield
    gc.collect()  # what nobody closed warns now, and a warning fails the test
    assert _kept() == before


def _kept() -> tuple[set[threading.Thread], set[str]]:
    files = {file.name for file in Path("/proc/self/fd").iterdir()}
    return set(threading.enumerate()), files
