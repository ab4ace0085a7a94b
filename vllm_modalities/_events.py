"""Server-sent events out of bytes, in whatever pieces these come.

Source: WHATWG HTML, "Server-sent events"; vLLM writes `data: ` lines alone, each ended by two line
feeds, and `data: [DONE]` in the end.
"""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 2**20  # bytes of one event; one without end does not fill the memory


class Events:
    """Gathers bytes, and gives the data of each event that is whole.

    Bytes are split at line feeds, which are no part of another character in UTF-8, so an event may
    be cut inside one.
    """

    def __init__(self) -> None:
        self._left = b""
        self._lines: list[bytes] = []

    def feed(self, part: bytes) -> Iterator[bytes]:
        """The data of the events that `part` completes.

        Raises:
            ValueError: An event is longer than any that a server sends.
        """
        *lines, self._left = (self._left + part).split(b"\n")
        if len(self._left) + sum(map(len, self._lines)) > LONGEST:
            raise ValueError(f"an event of more than {LONGEST:,} bytes")
        for line in lines:
            name, _, value = line.removesuffix(b"\r").partition(b":")
            if name == b"data":
                self._lines.append(value.removeprefix(b" "))
            elif not name and not value and self._lines:
                data, self._lines = b"\n".join(self._lines), []
                yield data
