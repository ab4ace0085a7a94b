"""Websockets: messages out and in at once, over one connection of ours.

The protocol is that of `websockets` (the extra `realtime`), of which nothing is used that does I/O.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING, Any

from .._flow import Hear
from .connection import BUFFER, Connection, LateError, Waiting, unblocked

if TYPE_CHECKING:
    from websockets.client import ClientProtocol
    from websockets.http11 import Response

PULSE = 0.1  # s between two looks at whether anybody still listens
LONGEST = 2**20  # bytes of a message; one without end does not fill the memory


def protocol_of(url: str) -> ClientProtocol:
    """The client's side of a websocket at `url`, which begins with http: or https:.

    Raises:
        ImportError: `websockets` is missing.
    """
    try:
        from websockets.client import ClientProtocol
        from websockets.uri import parse_uri
    except ImportError as error:
        raise ImportError(
            "a websocket takes websockets: pip install 'vllm-modalities[realtime]'"
        ) from error
    return ClientProtocol(parse_uri(f"ws{url.removeprefix('http')}"), max_size=LONGEST)


class WebSocket:
    """One websocket, to which one thread or task may write while another reads."""

    def __init__(self, connection: Connection, protocol: ClientProtocol) -> None:
        self.connection, self._stream = connection, connection.stream
        self._protocol = protocol
        self._lock = threading.Lock()  # around whatever does not wait
        self._out, self._in = bytearray(), bytearray(BUFFER)
        self._events: list[Any] = []  # that came and were not looked at
        self._moved = time.monotonic()  # when a message last came or went

    def begin(self, headers: Mapping[str, str], ends: float) -> Waiting[Response]:
        """Shake hands; if the status of the answer is 101, there is a websocket.

        Raises:
            OSError, LateError: There was no answer, or none in time.
        """
        request = self._protocol.connect()
        request.headers.update(headers)
        self._protocol.send_request(request)
        yield from self._sent(ends)
        while not self._events and self._protocol.handshake_exc is None:
            yield from self._receive(ends)
        refusal = self._protocol.handshake_exc
        if not self._events or (refusal and self._events[0].status_code == 101):
            raise OSError(f"{refusal}")
        response: Response = self._events.pop(0)
        return response

    def say(self, message: str, ends: float) -> Waiting[None]:
        """Send one message.

        Raises:
            OSError: The connection broke, or either side has ended it.
            LateError: `ends` came.
        """
        with self._lock:
            if not self._is_open:
                raise self._closed()
            self._protocol.send_text(message.encode())
        yield from self._sent(ends)
        self._moved = time.monotonic()

    def listen(self, hear: Hear, silence: float, ends: float) -> Waiting[None]:
        """Give `hear` each message, and `b""` now and then, until it wants no more.

        Raises:
            OSError: The connection broke, or the server closed it.
            LateError: No message came or went for `silence` seconds, or `ends` came.
        """
        parts: list[bytes] = []
        while hear(b""):
            for message in self._messages(parts):
                self._moved = time.monotonic()
                if not hear(message):
                    return
            if not self._is_open:
                raise self._closed()
            late = min(self._moved + silence, ends)
            try:
                yield from self._receive(min(late, time.monotonic() + PULSE))
            except LateError:
                if time.monotonic() >= late:
                    raise

    def end(self) -> None:
        """Say goodbye, as far as that goes without waiting.

        Raises:
            OSError: The connection is broken.
        """
        with self._lock:
            if self._is_open:
                self._protocol.send_close(1000)
        next(self._sent(0.0), None)

    @property
    def _is_open(self) -> bool:
        return self._protocol.state.name == "OPEN"

    def _closed(self) -> OSError:
        return OSError(f"closed: {self._protocol.close_rcvd or self._protocol.parser_exc}")

    def _messages(self, parts: list[bytes]) -> Iterator[bytes]:
        """The messages that are whole; what has come of the next one stays in `parts`."""
        while self._events:
            frame = self._events.pop(0)
            if frame.opcode.name in ("TEXT", "CONT"):
                parts.append(bytes(frame.data))
                if frame.fin:
                    yield b"".join(parts)
                    parts.clear()

    def _receive(self, ends: float) -> Waiting[None]:
        """Read once, and answer what wants an answer, such as a ping, as far as that may be."""
        yield from unblocked(self._stream, EVENT_READ, ends, self._read, self._in)
        self._events += self._protocol.events_received()
        next(self._sent(0.0), None)

    def _sent(self, ends: float) -> Waiting[None]:
        return unblocked(self._stream, EVENT_WRITE, ends, self._write, self._out)

    def _read(self, buffer: bytearray) -> None:
        with self._lock:
            count = self._stream.recv_into(buffer)
            if count:
                self._protocol.receive_data(buffer[:count])
            else:
                self._protocol.receive_eof()

    def _write(self, waiting: bytearray) -> None:
        with self._lock:
            waiting += b"".join(self._protocol.data_to_send())
            while waiting:
                # What TLS could not send is sent again with whatever came to stand behind it.
                del waiting[: self._stream.send(waiting)]
