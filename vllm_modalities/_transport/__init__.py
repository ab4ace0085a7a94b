"""Requests out, answers in, our errors: over connections of our own, or by the user's httpx client.

Where a proxy is configured, httpx is taken too. Only `library.py` knows it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import anyio

from .._flow import Request, Response
from .._inputs import invalid
from .._secrets import APIKey
from ..errors import VLLMModalitiesError
from . import library
from .call import Call
from .connection import LateError
from .heads import awaited_key_of, body_of, head_of, headers_of, key_of
from .http1 import MalformedError, Reader
from .pool import Exchange, Pool
from .session import Session
from .waiting import run, run_async

__all__ = ["AsyncTransport", "SyncTransport"]

UNTRACED: Mapping[str, str] = MappingProxyType({})
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
# What a connection may fail with; a ValueError is a server's name that TLS or the resolver refuses.
_FAULTS = (LateError, MalformedError, OSError, ValueError)


class SyncTransport:
    """Sends for `Client`."""

    def __init__(self, http_client: Any, *, api_key: APIKey, connections: int) -> None:
        self._api_key, self._own = api_key, _Own(connections)
        self._borrowed: library.Borrowed | None = None
        if http_client is not None or proxied():
            self._borrowed = library.Borrowed(http_client, api_key, connections)

    def send(self, request: Request, traced: Mapping[str, str] = UNTRACED) -> Response:
        """One exchange; raises our errors.

        Args:
            traced: Headers that say which trace it is part of; no two requests share them.
        """
        if self._borrowed is not None and request.talk is None:
            return self._borrowed.send(request, traced)
        key = key_of(request, self._api_key)
        if request.talk is not None:
            return self._talk(self._own.session(request, key, self._borrowed, traced))
        call, exchange = self._own.begin(request, key, traced)
        try:
            reader = run(self._own.pool.send(exchange))
        except _FAULTS as error:
            failure = _failure(call, exchange, error)
        else:
            return _result(call, reader)
        raise failure  # here, so that it carries no context, which might show a secret

    def _talk(self, session: Session) -> Response:
        try:
            run(session.open())
            # A daemon, so that nothing waits for items that may never come.
            threading.Thread(target=session.tell, daemon=True).start()
            run(session.listen())
        except _FAULTS as error:
            failure = session.failure(error)
        else:
            return session.result()
        finally:
            session.close()
        raise failure

    def close(self) -> None:
        self._own.pool.close()
        if self._borrowed is not None:
            self._borrowed.close()


class AsyncTransport:
    """Sends for `AsyncClient`."""

    def __init__(self, http_client: Any, *, api_key: APIKey, connections: int) -> None:
        self._api_key, self._own = api_key, _Own(connections)
        self._borrowed: library.AsyncBorrowed | None = None
        if http_client is not None or proxied():
            self._borrowed = library.AsyncBorrowed(http_client, api_key, connections)

    async def send(self, request: Request, traced: Mapping[str, str] = UNTRACED) -> Response:
        """One exchange; raises our errors. `traced` as for `SyncTransport`."""
        if self._borrowed is not None and request.talk is None:
            return await self._borrowed.send(request, traced)
        key = await awaited_key_of(request, self._api_key)
        if request.talk is not None:
            return await self._talk(self._own.session(request, key, self._borrowed, traced))
        call, exchange = self._own.begin(request, key, traced)
        try:
            reader = await run_async(self._own.pool.send(exchange))
        except _FAULTS as error:
            failure = _failure(call, exchange, error)
        else:
            return _result(call, reader)
        raise failure  # here, so that it carries no context, which might show a secret

    async def _talk(self, session: Session) -> Response:
        failure: Exception | None = None
        try:
            await run_async(session.open())
            async with anyio.create_task_group() as group:
                group.start_soon(session.tell_async)
                try:
                    await run_async(session.listen())
                except _FAULTS as error:  # in here, or it would come in a group
                    failure = session.failure(error)
                group.cancel_scope.cancel()
        except _FAULTS as error:
            failure = session.failure(error)
        finally:
            session.close()
        if failure is not None:
            raise failure
        return session.result()

    async def close(self) -> None:
        self._own.pool.close()
        if self._borrowed is not None:
            await self._borrowed.close()


class _Own:
    """Connections of our own, and requests written for them."""

    def __init__(self, connections: int) -> None:
        self.pool = Pool(connections, library.tls_context)
        self._head = lru_cache(maxsize=64)(head_of)  # most requests differ in their bodies alone

    def begin(
        self, request: Request, key: str | None, traced: Mapping[str, str]
    ) -> tuple[Call, Exchange]:
        """The request as bytes, and its time runs."""
        ends = time.monotonic() + request.timeout
        headers, body = headers_of(request, key), b""
        if request.form is not None:
            body, headers["Content-Type"] = library.multipart(request.form)
        elif request.json is not None:
            body, headers["Content-Type"] = body_of(request.json), "application/json"
        head = self._head(request.method, request.server, request.path, *headers.items())
        exchange = Exchange(head.origin, head.of(body, traced), body, ends, request.hear)
        return Call(request, head.hide), exchange

    def session(
        self, request: Request, key: str | None, borrowed: object, traced: Mapping[str, str]
    ) -> Session:
        """A websocket, which only these connections carry."""
        if borrowed is not None:
            raise invalid(
                "http_client",
                f"{request.path} is a websocket, which neither an http_client nor a proxy of the"
                " environment carries here; use a client without",
            )
        headers = headers_of(request, key)
        head = self._head(request.method, request.server, request.path, *headers.items())
        return Session(self.pool, request, head, {**headers, **traced})


def _failure(call: Call, exchange: Exchange, error: Exception) -> VLLMModalitiesError:
    if exchange.reader is not None:
        call.heard(exchange.reader.status, exchange.reader.headers)
    if isinstance(error, LateError):
        return call.late(connecting=exchange.connecting)
    return call.broken(error)


def _result(call: Call, reader: Reader) -> Response:
    call.heard(reader.status, reader.headers)
    return call.result(reader.body)


def proxied() -> bool:
    """Whether the environment names a proxy, as httpx reads it."""
    if any(value and name.lower() in _PROXIES for name, value in os.environ.items()):
        return True
    if sys.platform in ("darwin", "win32"):  # where the system's settings may name one too
        from urllib.request import getproxies

        return not _PROXIES.isdisjoint(f"{kind}_proxy" for kind in getproxies())
    return False
