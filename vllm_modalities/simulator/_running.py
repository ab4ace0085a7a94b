"""Simulated servers in a thread of this process: `with simulate(...) as server`."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ._app import Application


class Uvicorn(uvicorn.Server):
    """A server that says when it is up, and stops at once."""

    def __init__(self, app: Application) -> None:
        class Protocol(HttpToolsProtocol):
            """Lets the application know its connections."""

            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                assert self.client is not None
                app.transports[self.client] = transport

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                assert self.client is not None
                del app.transports[self.client]

        super().__init__(
            uvicorn.Config(
                app,
                http=Protocol,
                ws="none",
                lifespan="off",
                interface="asgi3",
                access_log=False,
                proxy_headers=False,
                log_config=None,
                log_level="warning",
                server_header=True,
            )
        )
        self._app = app
        self.up, self._stop = threading.Event(), threading.Event()

    async def main_loop(self) -> None:
        """Keep the date right until it is time to stop."""
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self.up.set()
        await self.on_tick(0)
        while not self.should_exit:
            try:
                await asyncio.wait_for(self._stopped.wait(), 1)
            except TimeoutError:
                await self.on_tick(0)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections, whatever they wait for."""
        for server in self.servers:
            server.close()
        for transport in list(self._app.transports.values()):
            transport.abort()

    def stop(self) -> None:
        """Called from another thread."""
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._stopped.set)


@contextmanager
def serving(app: Application, sockets: Sequence[socket.socket]) -> Iterator[Uvicorn]:
    """The application in a thread of its own, up before this returns."""
    server = Uvicorn(app)
    thread = threading.Thread(
        target=server.run, args=(list(sockets),), name="vllm-modalities simulator", daemon=True
    )
    thread.start()
    server.up.wait()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


def bound(port: int, host: str = "127.0.0.1") -> socket.socket:
    """A socket on that port, or on a free one for 0."""
    one = socket.socket()
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((host, port))
    except OSError:
        one.close()
        raise
    return one
