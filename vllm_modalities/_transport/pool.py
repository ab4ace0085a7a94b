"""Idle connections, the one used last handed out first.

httpcore's pool looks at every connection, with a system call each, whenever one is taken or given
back: 6.7 ms of processor time a request at 64 in flight. Here that is one look at one connection.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from .._flow import Hear
from .._forks import renewed_in_children
from .connection import Connection, LateError, Resolve, Waiting, connect
from .http1 import MalformedError, Reader, reader_kind

CONNECT = 5.0  # seconds at most for connecting
KEEPALIVE = 3.0  # seconds; vLLM's uvicorn closes idle connections after 5 s


@dataclass(frozen=True, slots=True)
class Origin:
    """Where connections lead to: connections with equal origins are interchangeable."""

    host: str
    port: int
    secure: bool


@dataclass(slots=True)
class Exchange:
    """One request as bytes, and what comes of it.

    Attributes:
        origin, head, body: The request.
        ends: `time.monotonic()` at which it must be over.
        hear: Hears the answer as it comes.
        reader: The answer, as far as it has come.
        connecting: Whether no connection was there yet.
    """

    origin: Origin
    head: bytes
    body: bytes
    ends: float
    hear: Hear | None = None
    reader: Reader | None = None
    connecting: bool = False


class ClosedError(OSError):
    """The client was closed, before the request or while it was on its way."""

    def __init__(self) -> None:
        super().__init__("the client is closed")


class Pool:
    """The connections of one client, and above all those that no exchange is using.

    Args:
        most: Connections kept for one origin.
        context: Makes the TLS settings, when they are first needed.
    """

    def __init__(self, most: int, context: Callable[[], ssl.SSLContext]) -> None:
        self._most = most
        self._make_context = context
        self._context: ssl.SSLContext | None = None
        self._idle: defaultdict[Origin, deque[Connection]] = defaultdict(deque)
        self._busy: set[Connection] = set()
        self._lock = threading.Lock()
        self._closed = False
        renewed_in_children(self)

    def renew(self) -> None:
        """Leave its connections to the process that opened them, for which they stay open."""
        for connection in self._busy.union(*self._idle.values()):
            connection.close()
        self._busy.clear()
        self._idle.clear()
        self._lock = threading.Lock()

    def send(self, exchange: Exchange) -> Waiting[Reader]:
        """Do one exchange.

        A kept connection that turns out to be closed before a byte of the answer has come is
        replaced by a new one, once: servers close idle connections at any time.

        Raises:
            OSError, MalformedError, LateError: As for `Connection.exchange`.
            ClosedError: The pool is closed, or was meanwhile.
        """
        if self._closed:
            raise ClosedError
        connection = self._taken(exchange.origin)
        if connection is not None:
            try:
                return (yield from self._exchanged(connection, exchange))
            except (OSError, MalformedError):
                if self._closed or exchange.reader is None or exchange.reader.begun:
                    raise
        exchange.connecting = True
        connection = yield from self._opened(exchange.origin, exchange.ends)
        exchange.connecting = False
        return (yield from self._exchanged(connection, exchange))

    def _exchanged(self, connection: Connection, exchange: Exchange) -> Waiting[Reader]:
        try:
            with closing(reader_kind()(exchange.hear)) as reader:
                exchange.reader = reader
                if self._closed:
                    raise ClosedError
                yield from connection.exchange(exchange.head, exchange.body, reader, exchange.ends)
        except BaseException as error:
            self.hang_up(connection)
            if self._closed and isinstance(error, Exception):
                raise ClosedError from None
            raise
        self._given(exchange.origin, connection, reader.reusable)
        return reader

    def dial(self, origin: Origin, ends: float) -> Waiting[Connection]:
        """A connection for one user alone, who gives it to `hang_up` in the end.

        Raises:
            OSError, LateError: As for `Connection.exchange`.
            ClosedError: The pool is closed.
        """
        connection = yield from self._opened(origin, ends)
        if self._closed:
            self.hang_up(connection)
            raise ClosedError
        return connection

    def hang_up(self, connection: Connection) -> None:
        with self._lock:
            self._busy.discard(connection)
        connection.close()

    def _opened(self, origin: Origin, ends: float) -> Waiting[Connection]:
        ends = min(ends, time.monotonic() + CONNECT)
        addresses = yield Resolve(origin.host, origin.port, ends)
        if addresses is None:
            raise LateError
        context = self._secured() if origin.secure else None
        connection = yield from connect(addresses, origin.host, context, ends)
        with self._lock:
            self._busy.add(connection)
        return connection

    def _secured(self) -> ssl.SSLContext:
        with self._lock:
            if self._context is None:
                self._context = self._make_context()
                self._context.set_alpn_protocols(["http/1.1"])
            return self._context

    def _taken(self, origin: Origin) -> Connection | None:
        """The connection used last, if it is fit for use; the others have waited longer."""
        while True:
            with self._lock:
                self._drop_expired()
                if origin not in self._idle:
                    return None
                connection = self._idle[origin].pop()
                self._busy.add(connection)
            # A system call, with which no other thread is kept waiting.
            if connection.is_open():
                return connection
            self.hang_up(connection)

    def _given(self, origin: Origin, connection: Connection, reusable: bool) -> None:
        connection.idle_since = time.monotonic()
        with self._lock:
            self._busy.discard(connection)
            self._drop_expired()
            if reusable and not self._closed and len(self._idle[origin]) < self._most:
                self._idle[origin].append(connection)
                return
        connection.close()

    def _drop_expired(self) -> None:
        """Close those that have been idle for too long, also where nobody goes any more."""
        oldest = time.monotonic() - KEEPALIVE
        for origin, kept in list(self._idle.items()):
            while kept and kept[0].idle_since < oldest:  # the first has been for longest
                kept.popleft().close()
            if not kept:
                del self._idle[origin]

    @property
    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Close the idle connections, and end what those in use wait for."""
        with self._lock:
            self._closed = True
            for connection in self._busy:
                connection.interrupt()
            for kept in self._idle.values():
                while kept:
                    kept.pop().close()
