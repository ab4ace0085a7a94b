"""Simulated servers on the network: an ASGI application on the stack that vLLM itself runs on."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from ._faults import Fault, Faults, failed
from ._reply import JSON, Reply, dumps
from ._says import seconds_of
from ._server import Server
from ._service import Pace, Service
from ._wanted import FORMS, NO_FORM, Sound, Wanted, from_form, from_json

KEPT = 1000  # requests that are remembered
LARGEST_FIELD = 2**30  # bytes of a form's text; vLLM's Python server has no limit


@dataclass(frozen=True, slots=True)
class Received:
    """A request that a simulated server has seen.

    Attributes:
        url: The server's address.
        method, path: As in HTTP.
        fields: Of its JSON body or its form.
        headers: By lower-case name.
    """

    url: str
    method: str
    path: str
    fields: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)


class Application:
    """All simulated servers of one process, told apart by their ports.

    Attributes:
        faults: What is to go wrong.
        requests: The last that came, oldest first.
        count: How many came.
        transports: The open connections, by the address of the other side.
    """

    def __init__(self, servers: Mapping[int, Server], pace: Pace, faults: Faults) -> None:
        self.faults = faults
        self.requests: deque[Received] = deque(maxlen=KEPT)
        self.count = 0
        self.transports: dict[tuple[str, int], asyncio.Transport] = {}
        self._routers = {port: router_of(server, Service(pace)) for port, server in servers.items()}
        self._naming = {port for port, server in servers.items() if server.model.request_ids}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        wanted = await _wanted(scope, await _content(receive))
        host, port = scope["server"]
        self.count += 1
        url = f"http://{host}:{port}"
        self.requests.append(
            Received(url, wanted.method, wanted.path, wanted.fields, wanted.headers)
        )
        if port in self._naming:
            send = _named(send, wanted.headers.get("x-request-id") or os.urandom(16).hex())
        fault = self.faults.next(wanted.path)
        scope["wanted"], scope["fault"], scope["app"] = wanted, fault, self
        # Whatever is left when the servers stop has nobody to answer any more.
        with suppress(asyncio.CancelledError):
            if fault is None:
                await self._answer(scope, receive, send)
            else:
                await self._fail(fault, scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._routers[scope["server"][1]](scope, receive, send)
        except HTTPException as error:  # in the words that FastAPI has for it
            body = dumps({"detail": error.detail})
            await deliver(Reply(error.status_code, JSON | dict(error.headers or {}), body), send)

    async def _fail(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with what goes wrong on the way; what is wrong in an answer is in its endpoint."""
        transport = self.transports[tuple(scope["client"])]
        if fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
        if fault.kind == "reset":
            reset(transport)
        elif fault.kind == "cut":
            await self._answer(scope, receive, lambda message: _half(message, send, transport))
        else:
            await self._answer(scope, receive, send)
            return
        await receive()  # comes when the connection is gone


def _named(send: Send, name: str) -> Send:
    """As `--enable-request-id-headers` has it: every answer carries an id."""

    async def named(message: Any) -> None:
        if message["type"] == "http.response.start":
            message["headers"].append((b"x-request-id", name.encode("latin-1")))
        await send(message)

    return named


def reset(transport: asyncio.Transport) -> None:
    """Break a connection off so that the other side's reads fail."""
    transport.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )
    transport.abort()


async def _half(message: Any, send: Send, transport: asyncio.Transport) -> None:
    """Pass the head of an answer on, and half of its body; then the connection is closed."""
    if message["type"] == "http.response.start":
        await send(message)
    else:
        body = message["body"]
        await send({"type": message["type"], "body": body[: len(body) // 2], "more_body": True})
        transport.close()


class Endpoint:
    """One route of one server."""

    def __init__(self, server: Server, service: Service) -> None:
        self._server, self._service = server, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer when the time for it is over."""
        fault: Fault | None = scope["fault"]
        reply = failed(fault) if fault else None
        if reply is None:
            spoilt = {fault.kind: True} if fault and fault.kind in ("nan", "loop") else {}
            reply = self._server.answer(scope["wanted"], **spoilt)
            if reply.status == 200 and reply.tokens:
                await self._service.hold(reply.tokens)
        await deliver(reply, send)


def router_of(server: Server, service: Service) -> Router:
    """The routes that the release lists, the busiest first."""
    endpoint = Endpoint(server, service)
    paths = {path: set(ways) for path, ways in server.release.paths.items()}
    paths["/openapi.json"] = {"get"}
    routes = []
    for path in sorted(paths, key=lambda path: path not in BUSY):
        route = Route(path, endpoint, methods=[way.upper() for way in paths[path]])
        assert route.methods is not None
        route.methods.discard("HEAD")  # FastAPI answers it with 405
        routes.append(route)
    return Router(routes)


BUSY = ("/v1/embeddings", "/v1/rerank", "/v1/score", "/pooling")


async def deliver(reply: Reply, send: Send) -> None:
    """Send an answer: with its length if it is whole, else part by part."""
    headers = [(name.encode(), value.encode("latin-1")) for name, value in reply.headers.items()]
    parts = [reply.body] if isinstance(reply.body, bytes) else reply.body
    if isinstance(reply.body, bytes):
        headers.append((b"content-length", b"%d" % len(reply.body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    for part in parts[:-1]:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": parts[-1] if parts else b""})


async def _content(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def _wanted(scope: Scope, content: bytes) -> Wanted:
    """A request, read as its route would read it."""
    method, path = scope["method"], scope["path"]
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    if not path.startswith(FORMS) or method != "POST":
        return from_json(method, path, headers, content)
    if not headers.get("content-type", "").startswith("multipart/form-data"):
        return Wanted(method, path, headers, problem=NO_FORM)

    async def stream() -> AsyncGenerator[bytes, None]:
        yield content

    parser = MultiPartParser(Headers(scope=scope), stream(), max_part_size=LARGEST_FIELD)
    try:
        form = await parser.parse()
    except MultiPartException:
        return Wanted(method, path, headers, problem=NO_FORM)
    fields: dict[str, Any] = {}
    sound = None
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            file = await value.read()
            if name == "file":
                sound = Sound(value.filename or "", len(file), seconds_of(file), file)
        elif name.endswith("[]"):
            fields.setdefault(name, []).append(value)
        else:
            fields[name] = value
    await form.close()
    return from_form(path, headers, fields, sound)
