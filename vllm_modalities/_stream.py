"""Streams: results one at a time, in order or not, with a bounded number of flows under way.

The caller's items are taken in the caller's own thread or task, when a result is asked for and no
further ahead than the window, so memory does not grow with them. What ends the items is met in
its place, an error too: after the results of the items before it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
)
from contextlib import aclosing, closing, suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import anyio

from ._flow import Cut, Flow, Stream
from ._inputs import invalid

T = TypeVar("T")
Run = Callable[[Flow[Any]], Any]
AsyncRun = Callable[[Flow[Any]], Coroutine[Any, Any, Any]]

_NOTHING = object()


class Begun(Generic[T]):
    """A flow under way, and what comes of it, which is there once it has `ended`.

    `done` is set then: an event of its own, or a bell that all flows ring where none has to wait
    for another.
    """

    def __init__(self, flow: Flow[T], done: Any) -> None:
        self.flow, self.done = flow, done
        self.ended = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.task: object = None  # asyncio itself does not hold on to its tasks

    def end(self) -> None:
        self.ended = True
        self.done.set()

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        result: T = self.value
        return result


class _Line(deque[Begun[T]]):
    """The flows that are begun and not handed over yet, oldest first."""

    def __init__(self, ordered: bool, most: int) -> None:
        super().__init__()
        self._ordered, self._most = ordered, 2 * most

    def is_enough(self) -> bool:
        """Whether nothing more need be begun before something is handed over."""
        there = self[0].ended if self._ordered else any(one.ended for one in self)
        return there or len(self) == self._most

    def result(self) -> T:
        """The result whose turn it is; one is there."""
        one = next(one for one in self if one.ended)
        self.remove(one)
        return one.result()


def results(run: Run, stream: Stream[T], *, most: int) -> Generator[T, None, None]:
    """The results of `stream`.

    Args:
        run: Runs one flow.
        stream: The items, and how they are made into flows.
        most: Flows that run at once; twice as many may be begun and not handed over yet.
    """
    if not isinstance(stream.items, Iterable):
        raise invalid("inputs", "only AsyncClient takes an async iterable of inputs")
    items = _parts(run, stream)
    first = next(items, _NOTHING)
    if first is _NOTHING:
        return
    line = _Line[T](stream.ordered, most)
    bell = None if stream.ordered else _Bell(0)
    with run(stream.begin(first)) as cut, closing(_Threads(run, most, bell)) as threads:
        flows = _flows(cut, first, items)
        while True:
            # One in place of what was handed over last, and more until something is there.
            for flow in flows:
                line.append(threads.begin(flow))
                if line.is_enough():
                    break
            if not line:
                break
            line[0].done.wait()
            yield line.result()
        cut.end()


async def async_results(run: AsyncRun, stream: Stream[T], *, most: int) -> AsyncGenerator[T, None]:
    """The results of `stream`; arguments as for `results`."""
    async with (
        aclosing(_each(stream.items)) as given,
        aclosing(_async_parts(run, stream, given)) as items,
    ):
        first = await anext(items, _NOTHING)
        if first is _NOTHING:
            return
        line = _Line[T](stream.ordered, most)
        bell = None if stream.ordered else _AsyncBell()
        with await run(stream.begin(first)) as cut:
            flows = _async_flows(cut, first, items)
            async with aclosing(flows), aclosing(Tasks(run, bell)) as tasks:
                while True:
                    async for flow in flows:
                        line.append(tasks.begin(flow))
                        if line.is_enough():
                            break
                    if not line:
                        break
                    await line[0].done.wait()
                    yield line.result()
                cut.end()


def _parts(run: Run, stream: Stream[T]) -> Iterator[Any]:
    for item in stream.items:  # type: ignore[union-attr]
        yield from run(stream.parts(item)) if stream.parts else (item,)


async def _async_parts(
    run: AsyncRun, stream: Stream[T], given: AsyncIterator[Any]
) -> AsyncGenerator[Any, None]:
    async for item in given:
        for part in await run(stream.parts(item)) if stream.parts else (item,):
            yield part


def _flows(cut: Cut[T], first: Any, items: Iterator[Any]) -> Generator[Flow[T], None, None]:
    """The flows that the items make, the last of which may raise what ended them."""
    fault = None
    try:
        if flow := cut.add(first):
            yield flow
        for item in items:
            if flow := cut.add(item):
                yield flow
    except Exception as error:
        fault = error
    if flow := cut.rest():
        yield flow
    if fault:
        yield _failing(fault)


async def _async_flows(
    cut: Cut[T], first: Any, items: AsyncIterator[Any]
) -> AsyncGenerator[Flow[T], None]:
    fault = None
    try:
        if flow := cut.add(first):
            yield flow
        async for item in items:
            if flow := cut.add(item):
                yield flow
    except Exception as error:
        fault = error
    if flow := cut.rest():
        yield flow
    if fault:
        yield _failing(fault)


async def _each(items: Iterable[Any] | AsyncIterable[Any]) -> AsyncGenerator[Any, None]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


def _failing(error: Exception) -> Flow[Any]:
    raise error
    yield


class _Bell(threading.Semaphore):
    """An event that each flow sets, and each that waits for it has to itself."""

    set, wait = threading.Semaphore.release, threading.Semaphore.acquire


class _AsyncBell:
    """The same for tasks."""

    def __init__(self) -> None:
        self._rung = anyio.Semaphore(0)
        self.set, self.wait = self._rung.release, self._rung.acquire


class _Threads:
    """Threads that run flows in the order in which they are begun, as many as are needed."""

    def __init__(self, run: Run, most: int, bell: _Bell | None) -> None:
        self._run, self._most, self._bell = run, most, bell
        self._waiting: SimpleQueue[Begun[Any] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0

    def begin(self, flow: Flow[T]) -> Begun[T]:
        begun = Begun(flow, self._bell or threading.Event())
        self._waiting.put(begun)
        if not self._idle.acquire(blocking=False) and self._started < self._most:
            self._started += 1
            # A daemon, so that Ctrl-C does not wait for what is in flight.
            threading.Thread(target=self._work, daemon=True).start()
        return begun

    def _work(self) -> None:
        while begun := self._waiting.get():
            try:
                begun.value = self._run(begun.flow)
            except BaseException as error:
                begun.error = error
            begun.end()
            del begun  # or the result would be held until the next one
            self._idle.release()

    def close(self) -> None:
        """Begin nothing more; what is in flight ends by itself, and no one sees it."""
        with suppress(Empty):
            while True:
                begun = self._waiting.get_nowait()
                assert begun is not None
                begun.flow.close()
        for _ in range(self._started):
            self._waiting.put(None)


class Tasks:
    """Tasks beside the caller's own: an async generator may not yield inside a task group."""

    def __init__(self, run: AsyncRun, bell: _AsyncBell | None = None) -> None:
        self._run, self._bell = run, bell
        self._running: dict[Begun[Any], anyio.CancelScope] = {}

    def begin(self, flow: Flow[T]) -> Begun[T]:
        begun = Begun(flow, self._bell or anyio.Event())
        self._running[begun] = anyio.CancelScope()
        begun.task = _spawned(self._work, begun)
        return begun

    async def _work(self, begun: Begun[Any]) -> None:
        try:
            with self._running[begun]:
                begun.value = await self._run(begun.flow)
        except Exception as error:
            begun.error = error
        finally:
            del self._running[begun]
            begun.end()

    async def aclose(self) -> None:
        """Cancel what runs, and wait until it has ended."""
        running = list(self._running.items())
        for _, scope in running:
            scope.cancel()
        with anyio.CancelScope(shield=True):
            for begun, _ in running:
                while not begun.ended:  # a bell may have rung for another
                    await begun.done.wait()


def _spawned(work: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> object:
    """Start `work` as a task that belongs to no task group."""
    import asyncio  # late: a program without a loop need not wait for it

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        import trio

        return trio.lowlevel.spawn_system_task(work, *arguments)
    return loop.create_task(work(*arguments))
