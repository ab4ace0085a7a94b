"""A call that talks while it listens: the caller's items go out beside what is heard."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from itertools import chain
from typing import Any

import anyio.to_thread

from .._flow import Request, Response
from .._theirs import theirs
from .call import Call
from .connection import LateError, Waiting
from .heads import Head
from .pool import ClosedError, Pool
from .waiting import run, run_async
from .websocket import WebSocket, protocol_of

_END = object()


class Session:
    """One websocket, from its first byte to its last.

    Args:
        request: With a `talk`, and with what hears the messages.
        head: Where it goes.
        headers: Of the handshake.
    """

    def __init__(
        self, pool: Pool, request: Request, head: Head, headers: Mapping[str, str]
    ) -> None:
        assert request.talk is not None
        assert request.hear is not None
        self._talk, self._hear = request.talk, request.hear
        self._pool, self._origin, self._headers = pool, head.origin, headers
        self._call = Call(request, head.hide)
        self._silence = request.timeout
        self._ends = math.inf if request.ends is None else request.ends
        self._protocol = protocol_of(request.server + request.path)
        self._socket: WebSocket | None = None
        self._error: Exception | None = None  # of the caller's own items

    def open(self) -> Waiting[None]:
        """Connect, shake hands, and say what comes first.

        Raises:
            OSError, LateError: That failed.
            VLLMModalitiesError: The server answered that it will not.
        """
        ends = time.monotonic() + self._silence
        connection = yield from self._pool.dial(self._origin, ends)
        self._socket = WebSocket(connection, self._protocol)
        answer = yield from self._socket.begin(self._headers, ends)
        fields = {name.lower(): value for name, value in answer.headers.raw_items()}
        self._call.heard(answer.status_code, fields)
        if answer.status_code != 101:
            raise self._call.result(bytes(answer.body or b"")).fault("the answer is no websocket")
        for message in self._talk.first:
            yield from self._socket.say(message, ends)

    def listen(self) -> Waiting[None]:
        """Hear messages until no more are wanted; raises as `WebSocket.listen`."""
        assert self._socket is not None
        return self._socket.listen(self._hear, self._silence, self._ends)

    def tell(self) -> None:
        """Say all that the caller gives, blocking."""
        assert isinstance(self._talk.items, Iterable)
        with self._answering():
            for item in chain(self._talk.items, (_END,)):
                for message in self._made(item):
                    if not run(self._said(message)):
                        return

    async def tell_async(self) -> None:
        """Say all that the caller gives."""
        async with aclosing(_each(self._talk.items)) as items:
            with self._answering():
                async for item in items:
                    for message in self._made(item):
                        if not await run_async(self._said(message)):
                            return

    def _made(self, item: Any) -> Iterable[str]:
        return self._talk.rest() if item is _END else self._talk.add(item)

    def _said(self, message: str) -> Waiting[bool]:
        """Say it; False if the connection is broken, as whoever listens will find too."""
        assert self._socket is not None
        try:
            yield from self._socket.say(message, self._ends)
        except (OSError, LateError):
            return False
        return True

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """An error of the caller's own items ends the session, and is what comes of it."""
        assert self._socket is not None
        try:
            with theirs():
                yield
        except Exception as error:
            self._error = error
            self._socket.connection.interrupt()

    def failure(self, error: Exception) -> Exception:
        """What `error` is called here."""
        if self._error is not None:
            return self._error
        if isinstance(error, LateError):
            return self._call.late(connecting=self._socket is None)
        return self._call.broken(ClosedError() if self._pool.is_closed else error)

    def result(self) -> Response:
        """Whose it was; all else was heard."""
        call = self._call
        return Response(101, call.headers, b"", call.request.server, hidden=call.hide)

    def close(self) -> None:
        """End it, with a goodbye if that needs no waiting."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.end()
            self._pool.hang_up(self._socket.connection)


async def _each(items: Iterable[Any] | AsyncIterable[Any]) -> AsyncGenerator[Any, None]:
    """The items, and `_END`; those of a plain iterable are waited for in a thread."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
        yield _END
        return
    rest, item = iter(items), None
    while item is not _END:
        item = await anyio.to_thread.run_sync(next, rest, _END, abandon_on_cancel=True)
        yield item
