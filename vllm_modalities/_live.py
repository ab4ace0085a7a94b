"""Text while it comes, and the whole result at its end.

The flow runs beside the caller: in a thread of its own for `Client`, in a task for `AsyncClient`.
A caller who leaves early ends it: the connection is closed, and the server stops.
"""

from __future__ import annotations

import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Generator,
    Iterator,
)
from contextlib import aclosing
from math import inf
from queue import SimpleQueue
from types import TracebackType
from typing import Generic, Self, TypeVar

import anyio

from ._flow import Flow, Live
from ._inputs import invalid
from ._stream import AsyncRun, Begun, Run, Tasks

T = TypeVar("T")


class _Ending(Generic[T]):
    """What comes at the end."""

    def __init__(self) -> None:
        self._result: list[T] = []

    @property
    def result(self) -> T:
        """The whole, once the text has been read to its end.

        Raises:
            RuntimeError: There is text that has not been read, or the stream failed.
        """
        if not self._result:
            raise RuntimeError("`.result` is there once the stream has been read to its end")
        return self._result[0]


class TextStream(_Ending[T], Iterator[str]):
    """Pieces of text as they come from a server; joined, they are the whole text.

    Leaving the loop and dropping the stream ends the work on the server, and so does `close()`.
    """

    def __init__(self, run: Run, live: Live[T]) -> None:
        super().__init__()
        self._texts = _told(run, live, self._result)

    def __next__(self) -> str:
        return next(self._texts)

    def close(self) -> None:
        """Want no more."""
        self._texts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncTextStream(_Ending[T], AsyncIterator[str]):
    """Pieces of text as they come from a server; joined, they are the whole text.

    `aclose()`, or leaving its `async with`, ends the work on the server.
    """

    def __init__(self, run: AsyncRun, live: Live[T]) -> None:
        super().__init__()
        self._texts = _async_told(run, live, self._result)

    async def __anext__(self) -> str:
        return await anext(self._texts)

    async def aclose(self) -> None:
        """Want no more."""
        await self._texts.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


def _told(run: Run, live: Live[T], result: list[T]) -> Generator[str, None, None]:
    """The texts that the flow tells; what it gives in the end goes into `result`."""
    if isinstance(live.source, AsyncIterable):
        raise invalid("audio", "only AsyncClient takes an async iterable")
    source = b"".join(live.source) if live.gathers and _is_parts(live.source) else live.source
    texts: SimpleQueue[str | None] = SimpleQueue()
    wanted = True

    def tell(text: str) -> bool:
        if text:
            texts.put(text)
        return wanted

    begun = Begun(live.begin(source, tell), None)

    def work() -> None:
        try:
            begun.value = run(begun.flow)
        except BaseException as error:
            begun.error = error
        texts.put(None)

    # A daemon, so that Ctrl-C does not wait for what is in flight.
    threading.Thread(target=work, daemon=True).start()
    try:
        while (text := texts.get()) is not None:
            yield text
    finally:
        wanted = False
    result.append(begun.result())


async def _async_told(run: AsyncRun, live: Live[T], result: list[T]) -> AsyncGenerator[str, None]:
    source = live.source
    if live.gathers and isinstance(source, AsyncIterable):
        source = b"".join([part async for part in source])
    elif live.gathers and _is_parts(source):
        source = b"".join(source)
    told, texts = anyio.create_memory_object_stream[str](inf)

    def tell(text: str) -> bool:
        if text:
            told.send_nowait(text)
        return True  # a caller who leaves cancels the task

    async def running(flow: Flow[T]) -> T:
        with told:
            result: T = await run(flow)
            return result

    with told, texts:
        async with aclosing(Tasks(running)) as tasks:
            begun = tasks.begin(live.begin(source, tell))
            async for text in texts:
                yield text
            await begun.done.wait()
            result.append(begun.result())


def _is_parts(source: object) -> bool:
    """Whether it gives parts of a file one after another; a file gives them too, by `read`."""
    return isinstance(source, Iterator) and not hasattr(source, "read")
