"""One HTTP/1.1 answer out of its bytes, without I/O: by h11, or by httptools if it is installed.

httptools (extra `fast`) is a binding of llhttp, the parser of Node.js. A server sends raw vectors
in one chunk each, and having h11 read those would take most of the time of a call: what is plain
of them goes past it.
"""

from __future__ import annotations

import abc
import importlib.util
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from .._flow import Hear

if TYPE_CHECKING:
    import h11

HEAD = 100 * 1024  # bytes that the head of an answer may have, as in httpx
LARGEST = 2**31  # bytes that an answer may have, so that one without end does not fill the memory


class MalformedError(Exception):
    """What came is not HTTP/1.1, or not all of it came."""


class Reader(abc.ABC):
    """Reads one answer, to a request that was no HEAD.

    Args:
        hear: Hears the body of a 2xx answer as it comes.

    Attributes:
        status: 0 until the head has come.
        headers: Values by lower-case name; several of one name are joined by commas.
        body: What has come of it.
        begun: Whether anything has come.
        done: Whether all has come that is wanted.
        reusable: Whether the connection may carry another request after that.
    """

    def __init__(self, hear: Hear | None = None) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.body = bytearray()
        self.done = self.reusable = False
        self._size = 0
        self._hear, self._heard = hear, 0

    @property
    def begun(self) -> bool:
        return self._size > 0

    def came(self, data: memoryview) -> None:
        """These bytes came; none means that no more will.

        Raises:
            MalformedError: They make no HTTP/1.1 answer, or one that is too large.
        """
        self._size += len(data)
        if self._size > LARGEST:
            raise MalformedError(f"an answer of more than {LARGEST:,} bytes")
        if not data and not self.status:
            raise MalformedError("the connection was closed without an answer")
        self._take(data)
        if self._hear is not None and 200 <= self.status < 300:
            part, self._heard = bytes(self.body[self._heard :]), len(self.body)
            if part and not self._hear(part) and not self.done:
                self.done, self.reusable = True, False

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Nothing more is read; what has come stays."""

    @abc.abstractmethod
    def _take(self, data: memoryview) -> None:
        """Understand more of the answer."""

    def _head(self, status: int, fields: Iterable[tuple[bytes, bytes]]) -> None:
        headers: dict[str, str] = {}
        for raw, value in fields:
            name, text = raw.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")
            headers[name] = f"{headers[name]}, {text}" if name in headers else text
        self.status, self.headers = status, headers


class _PlainChunks:
    """The chunks of a body that are a size and bytes, taken before h11 sees them.

    A server sends raw vectors in one chunk each, and h11 makes an event of each. What is not plain,
    and so the last chunk too, is h11's to judge.

    Args:
        body: Takes the bytes.
    """

    _BEFORE = re.compile(rb"\r\n([0-9A-Fa-f]{1,8})\r\n")
    _LONGEST = 12

    def __init__(self, body: bytearray) -> None:
        self._body = body
        self._left = 0  # of the chunk that is on its way
        self._held = b"\r\n"  # of what goes before the next: the end of the one before, its size

    def take(self, data: memoryview) -> bytes:
        """Take what is plain.

        Returns:
            Nothing as long as all is plain; then, once, what h11 reads on with, from where a chunk
            begins.

        Raises:
            MalformedError: A chunk does not end where it says.
        """
        body, at, held = self._body, self._left, self._held
        body += data[:at]
        first = held + bytes(data[: self._LONGEST]) if held else data
        before = self._BEFORE.match(first, at)
        while before and (size := int(before[1], 16)):
            begins = before.end() - len(held)
            at, held = begins + size, b""
            body += data[begins:at]
            before = self._BEFORE.match(data, at)
        self._left, self._held = max(at - len(data), 0), b""
        return b"" if self._left else self._between(held + bytes(data[at:]))

    def _between(self, rest: bytes) -> bytes:
        """What to do with what goes before a chunk, if it is not plain, or not all there."""
        if not rest.startswith(b"\r\n"[: len(rest)]):
            raise MalformedError("a chunk that is longer than it says")
        if rest.count(b"\n") < 2 and len(rest) < self._LONGEST:
            self._held = rest
            return b""
        return rest[2:]


@cache
def _request() -> tuple[h11.Request, h11.EndOfMessage]:
    """Some request that was no HEAD: h11 reads answers to what it knows of."""
    import h11

    return h11.Request(method="POST", target="/", headers=[("Host", "-")]), h11.EndOfMessage()


class H11Reader(Reader):
    """Reads by h11, but for plain chunks."""

    def __init__(self, hear: Hear | None = None) -> None:
        super().__init__(hear)
        import h11

        self._h11 = h11
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD)
        for event in _request():
            self._connection.send(event)
        self._chunks: _PlainChunks | None = None

    def _take(self, data: memoryview) -> None:
        rest = bytes(data) if self._chunks is None else self._chunks.take(data)
        while not self.status and (ends := rest.find(b"\r\n\r\n")) >= 0:
            head, rest = rest[: ends + 4], rest[ends + 4 :]
            self._understand(head)
            if self._is_before_chunks():
                self._chunks = _PlainChunks(self.body)
                rest = self._chunks.take(memoryview(rest))
        if rest or not data:
            self._chunks = None  # from here on all is h11's
            self._understand(rest)

    def _understand(self, data: bytes) -> None:
        h11 = self._h11
        self._connection.receive_data(data)
        try:
            while not self.done:
                event = self._connection.next_event()
                if isinstance(event, h11.Data):
                    self.body += event.data
                elif event is h11.NEED_DATA:
                    return
                elif isinstance(event, h11.Response):  # and not one that says it is still to come
                    self._head(event.status_code, event.headers)
                elif isinstance(event, h11.EndOfMessage):
                    self.done = True
        except h11.RemoteProtocolError as error:
            raise MalformedError(str(error)) from None
        left, _ = self._connection.trailing_data
        self.reusable = self._connection.their_state is h11.DONE and not left and len(data) > 0

    def _is_before_chunks(self) -> bool:
        """Whether h11 has read a head to its end, nothing more, and chunks come."""
        read_on = self.done or self.body or self._connection.trailing_data[0]
        return not read_on and self.headers.get("transfer-encoding") == "chunked"


class ToolsReader(Reader):
    """Reads by httptools, which calls the `on_` methods."""

    def __init__(self, hear: Hear | None = None) -> None:
        super().__init__(hear)
        import httptools

        self._errors = (httptools.HttpParserError, httptools.HttpParserUpgrade)
        self._parser = httptools.HttpResponseParser(self)
        self._fields: list[tuple[bytes, bytes]] = []

    def _take(self, data: memoryview) -> None:
        if not data:
            if {"content-length", "transfer-encoding"}.isdisjoint(self.headers):
                self.done = True  # the end of the stream is that of the body
                return
            raise MalformedError("the connection was closed before the answer was complete")
        try:
            self._parser.feed_data(data)
        except self._errors as error:
            if not self.done:
                raise MalformedError(str(error)) from None
            self.reusable = False  # what follows the answer is none
        if self._size > HEAD and not self.status:
            raise MalformedError(f"a head of more than {HEAD} bytes")

    def close(self) -> None:
        del self._parser  # knows this reader: the answer would stay until Python looks for circles

    def on_message_begin(self) -> None:
        self.reusable = False  # if something follows the answer
        self._fields = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200 and not self.status:  # what is below says that the answer is to come
            self._head(status, self._fields)

    def on_body(self, part: bytes) -> None:
        if not self.done:
            self.body += part

    def on_message_complete(self) -> None:
        if self.status and not self.done:
            self.done, self.reusable = True, self._parser.should_keep_alive()


@cache
def reader_kind() -> type[Reader]:
    """The faster of the two that is there."""
    return H11Reader if importlib.util.find_spec("httptools") is None else ToolsReader
