"""One HTTP/1.1 answer, understood from its bytes as they come; no I/O.

h11 spends more on an answer than all else that a call does (docs/performance.md has the figures),
since a server sends raw vectors in one chunk each. What is read here is a part of RFC 9112 and
no looser than h11's reading of it, against which it is tested.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

BUFFER = 128 * 1024  # bytes taken from the network at once; a head is no longer either
LINE = 4096  # bytes of the line before a chunk, at most
AT_ONCE = 256 * 2**20  # bytes of a body for which room is made before they have come

_STATUS = re.compile(r"HTTP/1\.([01]) ([1-5]\d\d)(?: [^\x00-\x08\n-\x1f\x7f]*)?", re.ASCII)
_FIELD = re.compile(r"([\w!#$%&'*+.^`|~-]+):[ \t]*([^\x00-\x08\n-\x1f\x7f]*?)[ \t]*", re.ASCII)
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\x00-\x08\n-\x1f\x7f]*)?")
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)


class MalformedError(Exception):
    """What came is not HTTP/1.1, or not all of it came."""


class Reader:
    """Reads one answer to a request that was no HEAD.

    `room()` says where the next bytes go, `came(count)` that they are there.

    Args:
        buffer: `BUFFER` bytes, used until the answer is `done`.

    Attributes:
        status: 0 until the head has come.
        headers: Values by lower-case name; several of one name are joined by commas.
        body: What has come of it.
        done: Whether all has come.
        reusable: Whether the connection may carry another request after that.
        begun: Whether anything has come.
    """

    def __init__(self, buffer: bytearray) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.body = bytearray()
        self.done = False
        self.reusable = self.begun = False
        self._buffer, self._view = buffer, memoryview(buffer)
        self._have = 0  # bytes in the buffer that are not understood yet
        self._left = 0  # bytes of the body, or of its present chunk, that are still to come
        self._chunked = self._until_closed = False  # how the body ends
        self._between = False  # whether a line break is due before the next chunk
        self._target: memoryview | None = None  # where a body of known length goes

    def room(self) -> memoryview:
        """Where the next bytes go."""
        return self._view[self._have :] if self._target is None else self._target

    def came(self, count: int) -> None:
        """So many bytes have been put there; 0 means that no more will come.

        Raises:
            MalformedError: They make no HTTP/1.1 answer.
        """
        self.begun = self.begun or count > 0
        if count == 0:
            self._over()
        elif self._target is not None:
            self._target = self._target[count:]
            self.done = not self._target
        else:
            self._have += count
            at = 0 if self.status else self._head()
            if self.status:
                self._rest(self._dechunked(at) if self._chunked else self._plain(at))
            elif self._have == len(self._buffer):
                raise MalformedError(f"a head of more than {self._have} bytes")

    def _over(self) -> None:
        if not self._until_closed:
            raise MalformedError("the connection was closed before the answer was complete")
        self.done = True

    def _head(self) -> int:
        """Read the head if all of it is there; gives where it ends."""
        at, version = 0, ""
        while not self.status:
            end = self._buffer.find(b"\r\n\r\n", at, self._have)
            if end < 0:
                self._rest(at)
                return 0
            status, version, fields = _parsed(bytes(self._view[at:end]))
            at = end + 4
            if status >= 200:  # what is below only says that an answer will come
                self.status, self.headers = status, fields
        self._framed(version)
        return at

    def _framed(self, version: str) -> None:
        """How the body's end will be known; RFC 9112 section 6.3."""
        coding, length = (self.headers.get(n) for n in ("transfer-encoding", "content-length"))
        options = self.headers.get("connection", "").lower().replace(" ", "").split(",")
        self.reusable = version == "1" and "close" not in options
        if self.status in (204, 304):
            return
        if coding is not None:
            if coding.lower() != "chunked":
                raise MalformedError(f"a transfer coding {coding!r}")
            self._chunked = True
            self.reusable = self.reusable and length is None
        elif length is not None:
            lengths = {one.strip() for one in length.split(",")}
            if len(lengths) != 1 or not _LENGTH.fullmatch(found := lengths.pop()):
                raise MalformedError(f"a length of {length!r} bytes")
            self._left = int(found)
        else:
            self._until_closed, self.reusable = True, False
            self._left = sys.maxsize

    def _plain(self, at: int) -> int:
        """Take a body that ends after so many bytes, or with the stream."""
        part = self._view[at : min(self._have, at + self._left)]
        if self._left <= AT_ONCE and not self.body:
            self.body = bytearray(self._left)
            self.body[: len(part)] = part
            self._target = memoryview(self.body)[len(part) :]
        else:
            self.body += part
        self._left -= len(part)
        self.done = not self._left
        return at + len(part)

    def _dechunked(self, at: int) -> int:
        """Take the chunks that are there; gives where what is not understood yet begins."""
        buffer, view, body, have, left = self._buffer, self._view, self.body, self._have, self._left
        while True:
            if left:
                end = min(at + left, have)
                body += view[at:end]
                left -= end - at
                at = end
                if left:
                    break
                self._between = True
            start = at + 2 if self._between else at
            end = buffer.find(b"\r\n", start, have)
            if end < 0:
                if have - start > LINE:
                    raise MalformedError("a chunk's size of more than a line")
                break
            size = _SIZE.fullmatch(buffer, start, end)
            if size is None or (self._between and buffer[at:start] != b"\r\n"):
                raise MalformedError("a chunk without its size")
            left = int(size[1], 16)
            if not left:
                return self._trailed(at, end)
            at, self._between = end + 2, False
        self._left = left
        return at

    def _trailed(self, at: int, end: int) -> int:
        """The last chunk begins at `at`, its line ends at `end`; what fields follow are dropped."""
        last = self._buffer.find(b"\r\n\r\n", end, self._have)
        if last < 0:
            if self._have - at == len(self._buffer):
                raise MalformedError("a trailer without end")
            return at
        self._left, self.done = 0, True
        return last + 4

    def _rest(self, at: int) -> None:
        """Keep what is not understood yet; after the whole answer there is nothing."""
        self._have -= at
        if self.done:
            self.reusable = self.reusable and not self._have
        elif at:
            self._view[: self._have] = self._view[at : at + self._have]


def _parsed(head: bytes) -> tuple[int, str, dict[str, str]]:
    """Status, minor version and fields of a head."""
    try:
        text = head.decode()
    except UnicodeDecodeError:
        text = head.decode("latin-1")
    first, *lines = text.split("\r\n")
    status = _STATUS.fullmatch(first)
    if status is None or status[2] == "101":
        raise MalformedError(f"a first line {first[:80]!r}")
    fields: dict[str, str] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise MalformedError(f"a header {line[:80]!r}")
        name = field[1].lower()
        fields[name] = f"{fields[name]}, {field[2]}" if name in fields else field[2]
    return int(status[2]), status[1], fields
