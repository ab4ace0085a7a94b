"""One connection to a server: generators over a non-blocking socket, and whoever runs them waits.

They yield a `Wait` and are sent whether it came about; so the blocking and the asynchronous client
share every line that touches a socket.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from errno import EINPROGRESS, EWOULDBLOCK
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, TypeVar

from .http1 import Reader

A = TypeVar("A")
T = TypeVar("T")

IN_ONE_PIECE = 65_536  # bytes of a request up to which its head and its body are sent together
BUFFER = 128 * 1024  # bytes read at once
TURNS = 16  # reads after which others have a chance to run: about 2 MiB of chunks
Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]  # as getaddrinfo gives it


@dataclass(frozen=True, slots=True)
class Wait:
    """Until a socket can be read from, or written to, or a time has come.

    Attributes:
        socket: Which.
        event: `selectors.EVENT_READ` or `EVENT_WRITE`; 0 is no wait, but
            a chance for others, and a look at the clock.
        ends: `time.monotonic()` after which it is too late.
    """

    socket: socket.socket
    event: int
    ends: float


@dataclass(frozen=True, slots=True)
class Resolve:
    """The addresses of a host; None if they could not be found before `ends`."""

    host: str
    port: int
    ends: float


Waiting = Generator[Wait | Resolve, Any, T]


class LateError(Exception):
    """The time was over before it was done."""


class Connection:
    """An open connection that carries one exchange at a time.

    Attributes:
        stream: Its socket, which never blocks.
        idle_since: `time.monotonic()` at which its last exchange ended.
    """

    def __init__(self, stream: socket.socket) -> None:
        self.stream = stream
        self._buffer = bytearray(BUFFER)
        self.idle_since = 0.0

    def exchange(self, head: bytes, body: bytes, reader: Reader, ends: float) -> Waiting[None]:
        """Send a request, and have `reader` read the answer to its end.

        Raises:
            OSError, MalformedError: The connection broke, or what came was no answer.
            LateError: It took longer than until `ends`.
        """
        together = len(body) <= IN_ONE_PIECE
        refused: OSError | None = None
        try:
            for part in (head + body,) if together else (head, body):
                yield from self._send(part, ends)
        except OSError as error:
            refused = error  # a server may refuse a request, and say why, before it has all of it
        turn, view = 0, memoryview(self._buffer)
        while not reader.done:
            turn += 1
            if turn % TURNS == 0 and not (yield Wait(self.stream, 0, ends)):
                raise LateError
            try:
                count = yield from unblocked(
                    self.stream, EVENT_READ, ends, self.stream.recv_into, self._buffer
                )
            except OSError as error:
                raise refused or error from None
            if count == 0 and refused and not reader.status:
                raise refused
            reader.came(view[:count])
        reader.reusable = reader.reusable and refused is None

    def _send(self, part: bytes, ends: float) -> Waiting[None]:
        left = memoryview(part)
        while left:
            sent = yield from unblocked(self.stream, EVENT_WRITE, ends, self.stream.send, left)
            left = left[sent:]

    def is_open(self) -> bool:
        """Whether nothing came while it was idle: what can come then is the server's closing it."""
        try:
            socket.socket.recv(self.stream, 1, socket.MSG_PEEK)  # beneath TLS, too
        except OSError as error:
            return isinstance(error, BlockingIOError)
        return False

    def interrupt(self) -> None:
        """Let whoever waits for it, in any thread, see its end; the server sees it too."""
        with suppress(OSError):  # it ended by itself
            # Beneath TLS, which would take what is still to be read for the answer's own bytes.
            socket.socket.shutdown(self.stream, socket.SHUT_RDWR)

    def close(self) -> None:
        self.stream.close()


def connect(
    addresses: Sequence[Address], host: str, context: ssl.SSLContext | None, ends: float
) -> Waiting[Connection]:
    """Connect to the first address that takes it, each given an equal share of the time left.

    Raises:
        OSError: None takes it; the last one's reason.
        LateError: None took it in time.
    """
    last: Exception = OSError(f"{host} has no address")
    for place, address in enumerate(addresses):
        now = time.monotonic()
        share = now + max(ends - now, 0.0) / (len(addresses) - place)
        try:
            return (yield from _opened(address, host, context, share))
        except (OSError, LateError) as error:
            last = error
    raise last


def _opened(
    found: Address, host: str, context: ssl.SSLContext | None, ends: float
) -> Waiting[Connection]:
    family, kind, protocol, _, address = found
    # Refused where the system has no IPv6, which its resolver may not know.
    stream = socket.socket(family, kind, protocol)
    try:
        stream.setblocking(False)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield from _connected(stream, address, ends)
        if context is not None:
            stream = yield from _secured(stream, host, context, ends)
    except BaseException:
        stream.close()
        raise
    return Connection(stream)


def _connected(stream: socket.socket, address: Any, ends: float) -> Waiting[None]:
    code = stream.connect_ex(address)
    if code in (EINPROGRESS, EWOULDBLOCK):
        if not (yield Wait(stream, EVENT_WRITE, ends)):
            raise LateError
        code = stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))


def _secured(
    stream: socket.socket, host: str, context: ssl.SSLContext, ends: float
) -> Waiting[socket.socket]:
    secure = context.wrap_socket(stream, server_hostname=host, do_handshake_on_connect=False)
    try:
        yield from unblocked(secure, EVENT_READ, ends, secure.do_handshake, False)
    except BaseException:
        secure.close()
        raise
    return secure


def unblocked(
    stream: socket.socket, event: int, ends: float, act: Callable[[A], T], given: A
) -> Waiting[T]:
    """What `act(given)` is once it need not wait; TLS may want to read before it writes."""
    while True:
        try:
            return act(given)
        except BlockingIOError:
            wanted = event
        except ssl.SSLWantReadError:
            wanted = EVENT_READ
        except ssl.SSLWantWriteError:
            wanted = EVENT_WRITE
        if not (yield Wait(stream, wanted, ends)):
            raise LateError
