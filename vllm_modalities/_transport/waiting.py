"""The two ways to wait for a socket: blocking a thread, or in an event loop of asyncio or trio."""

from __future__ import annotations

import math
import select
import selectors
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.lowlevel

from .connection import Address, Resolve, Wait, Waiting

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

LONGEST = 1e6  # seconds that a system call is asked to wait at most


def run(sending: Waiting[T]) -> T:
    """Run the generator, blocking."""
    try:
        wanted = next(sending)
        while True:
            wanted = sending.send(_answer(wanted))
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        sending.close()


def _answer(wanted: Wait | Resolve) -> bool | Sequence[Address] | None:
    if isinstance(wanted, Resolve):
        return _resolved(wanted)
    left = _left(wanted.ends)
    return left > 0 if wanted.event == 0 else _ready(wanted.socket, wanted.event, left)


def _resolved(wanted: Resolve) -> Sequence[Address] | None:
    """The addresses, looked up in a thread, since the system takes as long as it likes."""
    found: Future[Sequence[Address]] = Future()

    def look_up() -> None:
        try:
            found.set_result(socket.getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM))
        except Exception as error:
            found.set_exception(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        return found.result(_left(wanted.ends))
    except TimeoutError:
        return None


def _polled(stream: socket.socket, event: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(stream, select.POLLIN if event == selectors.EVENT_READ else select.POLLOUT)
    return bool(poll.poll(math.ceil(seconds * 1000)))


def _selected(stream: socket.socket, event: int, seconds: float) -> bool:
    reading = [stream] if event == selectors.EVENT_READ else []
    writing = [stream] if event == selectors.EVENT_WRITE else []
    # Windows tells of a connection that failed among the exceptional.
    return any(select.select(reading, writing, writing, seconds))


_ready = _polled if hasattr(select, "poll") else _selected


def _left(ends: float) -> float:
    return min(max(ends - time.monotonic(), 0.0), LONGEST)


async def run_async(sending: Waiting[T]) -> T:
    """Run the generator in the running event loop."""
    watch = _Watch()
    try:
        wanted = next(sending)
        while True:
            wanted = sending.send(await _answer_async(wanted, watch))
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        watch.stop()
        sending.close()


async def _answer_async(wanted: Wait | Resolve, watch: _Watch) -> bool | Sequence[Address] | None:
    if isinstance(wanted, Resolve):
        watch.stop()  # what it watched is closed, and the next socket may get its number
        with anyio.move_on_after(_left(wanted.ends)):
            return await anyio.getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM)
        return None
    if wanted.event == 0:
        await anyio.lowlevel.checkpoint()
        return _left(wanted.ends) > 0
    if wanted.event == selectors.EVENT_READ and watch.begin(wanted):
        return await watch.readable()
    with anyio.move_on_after(_left(wanted.ends)):
        if wanted.event == selectors.EVENT_READ:
            await anyio.wait_readable(wanted.socket)
        else:
            await anyio.wait_writable(wanted.socket)
        return True
    return False


class _Watch:
    """A socket that asyncio's loop watches for as long as its answer takes to come.

    anyio has it watched anew at every wait, which costs more than the reading: raw vectors come in
    a hundred pieces and more.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wanted: Wait | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ready: asyncio.Future[bool] | None = None

    def begin(self, wanted: Wait) -> bool:
        """Watch the socket, if this loop can: neither trio's can, nor Windows' usual one."""
        import asyncio

        if self._wanted == wanted:
            return True
        self.stop()
        try:
            loop = asyncio.get_running_loop()
            loop.add_reader(wanted.socket, self._tell, True)
        except (RuntimeError, NotImplementedError):
            return False
        self._loop, self._wanted = loop, wanted
        self._timer = loop.call_later(_left(wanted.ends), self._tell, False)
        return True

    async def readable(self) -> bool:
        """Wait; False if it is too late."""
        assert self._loop is not None
        assert self._wanted is not None
        if time.monotonic() >= self._wanted.ends:  # the timer told nobody, between two waits
            return False
        self._ready = self._loop.create_future()
        return await self._ready

    def _tell(self, ready: bool) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(ready)

    def stop(self) -> None:
        if self._wanted is not None and self._timer is not None and self._loop is not None:
            self._loop.remove_reader(self._wanted.socket)
            self._timer.cancel()
            self._wanted = None
