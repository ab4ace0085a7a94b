"""The two drivers: they run flows, performing each step, one blocking and one asynchronous.

Requests in flight are counted, never flows: flows that wait for flows of their own hold no place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sized
from dataclasses import replace
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread

from ._flow import Alone, Done, Flow, Request, Response, Sleep, Step, Together, Work, step
from ._forks import renewed_in_children
from ._places import Places
from ._theirs import handed_back
from ._transport import AsyncTransport, SyncTransport
from .errors import APITimeoutError, VLLMModalitiesError

T = TypeVar("T")

IN_LINE = "while another call asked the servers who they are"


class Driver:
    """Runs flows in the calling thread, and those of a `Together` in helping threads too."""

    def __init__(self, transport: SyncTransport, max_concurrency: int) -> None:
        self.transport = transport
        self._max_concurrency = max_concurrency
        self.renew()
        renewed_in_children(self)

    def renew(self) -> None:
        """All places are free."""
        self._places = Places(self._max_concurrency, threading.Event)
        self._helpers = threading.Semaphore(self._max_concurrency)
        self._alone = threading.Lock()

    def run(self, flow: Flow[T]) -> T:
        with handed_back():
            return self._run(flow)

    def _run(self, flow: Flow[T]) -> T:
        try:
            state = step(flow)
            while not isinstance(state, Done):
                state = step(flow, self._outcome(state))
            return state.value
        finally:
            flow.close()

    def _outcome(self, wanted: Step[Any]) -> Any:
        """What came of a step: its result, or the exception to throw into the flow."""
        try:
            match wanted:
                case Request():
                    return self._send(wanted)
                case Sleep():
                    return time.sleep(wanted.seconds)
                case Work():
                    return wanted.call()
                case Alone():
                    return self._run_alone(wanted)
                case Together():
                    return self._together(wanted)
                case _:
                    raise TypeError(f"a flow yielded {wanted!r}, which is not a step")
        except Exception as error:
            return error

    def _run_alone(self, wanted: Alone[T]) -> T:
        left = _left(wanted.ends)
        if not self._alone.acquire(timeout=-1 if left is None else left):
            wanted.flow.close()
            raise _passed(IN_LINE, server="any")
        try:
            return self._run(wanted.flow)
        finally:
            self._alone.release()

    def _send(self, request: Request) -> Response:
        with self._places.turn(request.window) as turn:
            if turn.ready is not None and not turn.ready.wait(_left(request.ends)):
                raise _too_late(request)
            request = _within_deadline(request)
            with turn.window.judging():
                return self.transport.send(request)

    def _together(self, wanted: Together[T]) -> list[T | VLLMModalitiesError]:
        queue = _Queue(wanted)

        def pull() -> None:
            for place, flow in queue:
                try:
                    queue.done(place, self._run(flow))
                except Exception as error:
                    queue.failed(place, error)

        def help_out() -> None:
            try:
                pull()
            except BaseException as error:
                queue.crashed(error)
            finally:
                self._helpers.release()

        # This thread pulls too, so flows that wait for flows of their own never starve; helpers
        # are daemons, so that Ctrl-C does not wait for what is in flight.
        helpers: list[threading.Thread] = []
        while len(helpers) < queue.width(self._max_concurrency) - 1:
            if not self._helpers.acquire(blocking=False):
                break
            helpers.append(threading.Thread(target=help_out, daemon=True))
            helpers[-1].start()
        try:
            pull()
        except BaseException:
            queue.abandon()
            raise
        for helper in helpers:
            helper.join()
        return queue.outcomes()


class AsyncDriver:
    """Runs flows as coroutines; `Work` goes to a thread, so the event loop never blocks."""

    def __init__(self, transport: AsyncTransport, max_concurrency: int) -> None:
        self.transport = transport
        self._max_concurrency = max_concurrency
        self.renew()
        renewed_in_children(self)

    def renew(self) -> None:
        """All places are free."""
        self._places = Places(self._max_concurrency, anyio.Event)
        self._alone = anyio.Lock()

    async def run(self, flow: Flow[T]) -> T:
        with handed_back():
            return await self._run(flow)

    async def _run(self, flow: Flow[T]) -> T:
        try:
            state = step(flow)
            while not isinstance(state, Done):
                state = step(flow, await self._outcome(state))
            return state.value
        finally:
            flow.close()

    async def _outcome(self, wanted: Step[Any]) -> Any:
        """What came of a step: its result, or the exception to throw into the flow."""
        try:
            match wanted:
                case Request():
                    return await self._send(wanted)
                case Sleep():
                    return await anyio.sleep(wanted.seconds)
                case Work():
                    return await anyio.to_thread.run_sync(wanted.call)
                case Alone():
                    return await self._run_alone(wanted)
                case Together():
                    return await self._together(wanted)
                case _:
                    raise TypeError(f"a flow yielded {wanted!r}, which is not a step")
        except Exception as error:
            return error

    async def _run_alone(self, wanted: Alone[T]) -> T:
        with anyio.move_on_after(_left(wanted.ends)) as scope:
            await self._alone.acquire()
        if scope.cancelled_caught:
            wanted.flow.close()
            raise _passed(IN_LINE, server="any")
        try:
            return await self._run(wanted.flow)
        finally:
            self._alone.release()

    async def _send(self, request: Request) -> Response:
        with self._places.turn(request.window) as turn:
            if turn.ready is not None:
                with anyio.move_on_after(_left(request.ends)):
                    await turn.ready.wait()
            if not turn.has_place:
                raise _too_late(request)
            request = _within_deadline(request)
            with turn.window.judging():
                return await self.transport.send(request)

    async def _together(self, wanted: Together[T]) -> list[T | VLLMModalitiesError]:
        queue = _Queue(wanted)

        async def pull() -> None:
            for place, flow in queue:
                try:
                    queue.done(place, await self._run(flow))
                except Exception as error:
                    queue.failed(place, error)

        width = queue.width(self._max_concurrency)
        if width == 1:  # as for most calls, and a task costs more than sending a request
            await pull()
            return queue.outcomes()
        async with anyio.create_task_group() as group:
            for _ in range(width):
                group.start_soon(pull)
        return queue.outcomes()


class _Queue(Generic[T]):
    """The flows of one `Together`, handed out one at a time, and their outcomes in order."""

    def __init__(self, wanted: Together[T]) -> None:
        self._wanted = wanted
        self._flows = iter(wanted.flows)
        self._lock = threading.Lock()
        self._outcomes: list[Any] = []
        self._stopped_by: VLLMModalitiesError | None = None
        self._crash: BaseException | None = None
        self._abandoned = False

    def width(self, most: int) -> int:
        """How many flows may be under way at once."""
        flows = self._wanted.flows
        return min(most, len(flows)) if isinstance(flows, Sized) else most

    def __iter__(self) -> Iterator[tuple[int, Flow[T]]]:
        while True:
            with self._lock:
                if self._stopped_by or self._crash or self._abandoned:
                    return
                try:
                    flow = next(self._flows, None)
                except Exception as error:  # the caller's own iterator
                    self.crashed(error)
                    return
                if flow is None:
                    return
                place = len(self._outcomes)
                self._outcomes.append(None)
            yield place, flow

    def done(self, place: int, value: T) -> None:
        self._outcomes[place] = value

    def failed(self, place: int, error: Exception) -> None:
        """Note an error of ours as an outcome; any other is a bug and ends the whole."""
        if not isinstance(error, VLLMModalitiesError):
            self.crashed(error)
            return
        self._outcomes[place] = error
        if self._wanted.stop(error):
            self._stopped_by = self._stopped_by or error

    def crashed(self, error: BaseException) -> None:
        """Hand out nothing more, and raise `error` in the end."""
        self._crash = self._crash or error

    def abandon(self) -> None:
        """Hand out nothing more."""
        self._abandoned = True

    def outcomes(self) -> list[T | VLLMModalitiesError]:
        if self._crash is not None:
            raise self._crash
        for flow in self._flows if self._stopped_by else ():
            flow.close()
            self._outcomes.append(self._stopped_by)
        return self._outcomes


def _left(ends: float | None) -> float | None:
    """Seconds until the call must be over, or as many as a thread can wait; None is unbounded."""
    return None if ends is None else min(max(ends - time.monotonic(), 0.0), threading.TIMEOUT_MAX)


def _within_deadline(request: Request) -> Request:
    left = _left(request.ends)
    if left is None:
        return request
    if left == 0:
        raise _too_late(request)
    return replace(request, timeout=min(request.timeout, left))


def _too_late(request: Request) -> APITimeoutError:
    return _passed(f"before {request.method} {request.path} was answered", server=request.server)


def _passed(when: str, *, server: str) -> APITimeoutError:
    return APITimeoutError(f"the call's deadline passed {when}; raise `deadline`", server=server)
