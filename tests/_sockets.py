"""Servers on real sockets that answer as a test says, byte by byte."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import anyio
from _script import BLOCKING

from vllm_modalities._flow import Request, Response
from vllm_modalities._transport import AsyncTransport, SyncTransport


def answer(body: bytes = b"{}", *fields: str, first: str = "HTTP/1.1 200 OK") -> bytes:
    head = "\r\n".join([first, f"Content-Length: {len(body)}", *fields])
    return head.encode() + b"\r\n\r\n" + body


@dataclass
class Heard:
    """One request as it came.

    Attributes:
        connection: Number of the connection that it came on, from 0.
        number: Its own number on that connection, from 0.
    """

    head: str
    body: bytes
    connection: int
    number: int

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.split("\r\n")[1:]
        return dict(line.split(": ", 1) for line in lines)


@dataclass
class RawServer:
    """What came, and where: `respond` gives the parts of an answer; after None it hangs up."""

    respond: Callable[[Heard], Iterable[bytes] | None]
    tls: ssl.SSLContext | None = None
    heard: list[Heard] = field(default_factory=list)
    open: list[socket.socket] = field(default_factory=list)
    accepted: int = 0
    url: str = ""
    _over: threading.Event = field(default_factory=threading.Event)

    def accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                stream, _ = listener.accept()
                number = self.accepted
                self.accepted += 1
                self.open.append(stream)
                threading.Thread(target=self.serve, args=(stream, number), daemon=True).start()

    def serve(self, stream: socket.socket, number: int) -> None:
        # What a client does to a connection is not the server's trouble.
        with contextlib.suppress(OSError):
            if self.tls:
                stream = self.tls.wrap_socket(stream, server_side=True)
                self.open.append(stream)
            for count, (head, body) in enumerate(requests(stream)):
                self.heard.append(heard := Heard(head, body, number, count))
                parts = self.respond(heard)
                if parts is None:
                    break
                for part in parts:
                    stream.sendall(part)
        with contextlib.suppress(OSError):
            stream.shutdown(socket.SHUT_RDWR)
        stream.close()

    def wait(self, seconds: float) -> bool:
        """Sleep, unless the test is over."""
        return self._over.wait(seconds)

    def stop(self) -> None:
        self._over.set()
        for stream in self.open:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
            stream.close()


def requests(stream: socket.socket) -> Iterator[tuple[str, bytes]]:
    came = b""
    while True:
        while b"\r\n\r\n" not in came:
            part = stream.recv(65536)
            if not part:
                return
            came += part
        head, _, came = came.partition(b"\r\n\r\n")
        found = re.search(rb"(?i)content-length: (\d+)", head)
        length = int(found[1]) if found else 0
        parts = [came]
        while (left := length - sum(map(len, parts))) > 0:
            parts.append(stream.recv(min(left, 2**20)))
            if not parts[-1]:
                return
        came = b"".join(parts)
        yield head.decode(), came[:length]
        came = came[length:]


@contextlib.contextmanager
def serving(
    respond: Callable[[Heard], Iterable[bytes] | None] = lambda _: [answer()],
    tls: ssl.SSLContext | None = None,
) -> Iterator[RawServer]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = RawServer(respond, tls)
    server.url = f"{'https' if tls else 'http'}://localhost:{listener.getsockname()[1]}"
    thread = threading.Thread(target=server.accept, args=(listener,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        server.stop()
        thread.join()


class Sender:
    """Either transport, called in the same way."""

    def __init__(self, kind: str, http_client: Any = None, *, connections: int = 32) -> None:
        self.kind = kind
        make = SyncTransport if kind == BLOCKING else AsyncTransport
        self.transport: Any = make(http_client, api_key=None, connections=connections)

    def __call__(self, url: str, path: str = "/x", **fields: Any) -> Response:
        return self.run(
            self.transport.send, Request(fields.pop("method", "POST"), path, server=url, **fields)
        )

    def once(self, url: str) -> Response:
        """One request, and the transport closed, in one event loop."""
        request = Request("POST", "/x", server=url)
        if self.kind == BLOCKING:
            with contextlib.closing(self.transport):
                return self.transport.send(request)

        async def main() -> Response:
            try:
                return await self.transport.send(request)
            finally:
                await self.transport.close()

        return anyio.run(main, backend=self.kind)

    def run(self, method: Callable[..., Any], *arguments: Any) -> Any:
        if self.kind == BLOCKING:
            return method(*arguments)
        return anyio.run(method, *arguments, backend=self.kind)

    def together(self, url: str, count: int, **fields: Any) -> list[Response]:
        """So many requests at the same time."""
        request = Request("POST", "/x", server=url, **fields)
        found: list[Response] = []
        if self.kind == BLOCKING:
            threads = [
                threading.Thread(target=lambda: found.append(self.transport.send(request)))
                for _ in range(count)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return found

        async def one() -> None:
            found.append(await self.transport.send(request))

        async def all_of_them() -> None:
            async with anyio.create_task_group() as group:
                for _ in range(count):
                    group.start_soon(one)

        anyio.run(all_of_them, backend=self.kind)
        return found
