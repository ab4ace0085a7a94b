"""A server of plain sockets: it answers as `FakeVLLM` says, or misbehaves as a fault says."""

from __future__ import annotations

import itertools
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from _script import Answer, FakeVLLM, Sent

BOUND = 10.0  # seconds after which a test gives up on what hangs
IDLE = 60.0  # seconds after which a server closes an idle connection: no client may need that
PATIENCE = 3.0  # seconds for which a server is silent or slow, at most


class Wire:
    """One connection, as the server sees it."""

    def __init__(self, sock: socket.socket, ended: threading.Event, elsewhere: str = "") -> None:
        self.sock, self.ended, self.elsewhere = sock, ended, elsewhere
        self.sent: Sent | None = None  # the request that is to be answered now
        self.requests = 0
        self._buffer = b""

    def read(self) -> Sent | None:
        """The next request; None if the client has closed the connection."""
        head = self._until(b"\r\n\r\n")
        if head is None:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        pairs = (line.split(":", 1) for line in lines)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        content = self._body(headers)
        is_json = headers.get("content-type") == "application/json"
        self.requests += 1
        self.sent = Sent(method, path, headers, json.loads(content) if is_json else content)
        return self.sent

    def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self._exactly(int(headers.get("content-length", "0")))
        parts = []
        while size := int(self._until(b"\r\n") or b"0", 16):
            parts.append(self._exactly(size))
            self._until(b"\r\n")
        self._until(b"\r\n")
        return b"".join(parts)

    def _until(self, mark: bytes) -> bytes | None:
        while mark not in self._buffer:
            if not self._more():
                return None
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size and self._more():
            pass
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def _more(self) -> bool:
        part = self.sock.recv(65536)
        self._buffer += part
        return bool(part) and self._buffer[0] != 0x16  # which begins TLS

    def send(self, *parts: bytes) -> None:
        self.sock.sendall(b"".join(parts))

    def answer(self, answer: Answer) -> None:
        self.send(head(answer), answer.content)

    def trickle(self, data: bytes, every: float = 0.1) -> None:
        """One byte at a time, over and over, for longer than the client should listen."""
        ends = time.monotonic() + PATIENCE
        for place in itertools.count():
            if self.gone(every):
                return
            if time.monotonic() > ends:
                self.close()
                return
            self.send(data[place % len(data) :][:1])

    def stay(self) -> None:
        """Say nothing."""
        self.gone(PATIENCE)

    def gone(self, seconds: float) -> bool:
        """Wait so long, or until the client closes the connection."""
        self.sock.settimeout(seconds)
        try:
            return not self.sock.recv(1)
        except TimeoutError:
            return self.ended.is_set()
        finally:
            self.sock.settimeout(IDLE)

    def close(self) -> None:
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()

    def reset(self) -> None:
        """Close with RST, as a process that is killed does."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


Play: TypeAlias = Callable[[Wire, Answer], None]
"""What a server does to a request instead of answering it with this answer."""


def head(answer: Answer, *, length: int | None = None, version: str = "1.1") -> bytes:
    """Status line and headers of an answer."""
    headers = {"content-type": "application/json", **answer.headers}
    headers.setdefault("content-length", str(len(answer.content) if length is None else length))
    return head_of(answer.status, headers, version)


def head_of(status: int, headers: Mapping[str, str], version: str = "1.1") -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/{version} {status} Whatever\r\n{lines}\r\n".encode("latin-1")


class Server:
    """Listens on a port of its own until it is closed; faults strike its POST requests.

    Args:
        vllm: Who answers.
        tls: Serve https with this.
        elsewhere: The address of another server, to redirect to.
    """

    def __init__(
        self, vllm: FakeVLLM, tls: ssl.SSLContext | None = None, elsewhere: str = ""
    ) -> None:
        self.vllm, self._tls, self._elsewhere = vllm, tls, elsewhere
        self._play: Play | None = None
        self._times = 0.0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._wires: set[Wire] = set()
        self._threads: list[threading.Thread] = []
        self.connections = 0
        self._port = 0
        self._listener: socket.socket | None = None
        self.listen()
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://localhost:{self._port}"

    def once(self, play: Play) -> None:
        self._play, self._times = play, 1

    def always(self, play: Play) -> None:
        self._play, self._times = play, float("inf")

    def well(self) -> None:
        self._times = 0

    def listen(self) -> None:
        if self._listener is not None:
            return
        self._listener = socket.create_server(("127.0.0.1", self._port), backlog=1024)
        self._port = self._listener.getsockname()[1]
        self._listening = self._start(self._accept, self._listener)

    def go_away(self) -> None:
        """Refuse connections, and break those there are."""
        if self._listener is not None:
            # Closing alone does not wake the thread that accepts.
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listening.join(BOUND)  # or the port would stay taken
            self._listener = None
        with self._lock:
            for wire in self._wires:
                with suppress(OSError):
                    wire.sock.shutdown(socket.SHUT_RDWR)

    def drained(self) -> bool:
        """Wait until the client has closed every connection; False if it does not."""
        threads = [t for t in self._threads if t.name == "wire"]
        for thread in threads:
            thread.join(BOUND)
        return not any(thread.is_alive() for thread in threads)

    def close(self) -> None:
        self._ended.set()
        self.go_away()
        for thread in self._threads:
            thread.join(BOUND)

    def _start(self, run: Callable[[socket.socket], None], sock: socket.socket) -> threading.Thread:
        name = "wire" if run == self._serve else "listener"
        thread = threading.Thread(target=run, args=(sock,), name=name, daemon=True)
        thread.start()
        self._threads.append(thread)  # started, as whoever waits for it needs
        return thread

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                sock, _ = listener.accept()
                self.connections += 1
                self._threads = [thread for thread in self._threads if thread.is_alive()]
                self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(IDLE)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError):  # a client may leave at any time
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
            with self._known(Wire(sock, self._ended, self._elsewhere)) as wire:
                while wire.sock.fileno() >= 0 and (sent := wire.read()):
                    with self.vllm.busy():
                        self._play_for(sent)(wire, self.vllm.answer(sent))
        sock.close()

    @contextmanager
    def _known(self, wire: Wire) -> Iterator[Wire]:
        with self._lock:
            self._wires.add(wire)
        try:
            yield wire
        finally:
            with self._lock:
                self._wires.discard(wire)
            wire.close()

    def _play_for(self, sent: Sent) -> Play:
        with self._lock:
            if sent.method == "GET" or self._play is None or self._times < 1:
                return Wire.answer
            self._times -= 1
            return self._play


@contextmanager
def serving(vllm: FakeVLLM, **options: Any) -> Iterator[Server]:
    server = Server(vllm, **options)
    try:
        yield server
    finally:
        server.close()
