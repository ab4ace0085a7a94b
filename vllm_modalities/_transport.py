"""httpx in, our errors out: the only module that knows the HTTP library.

A user's own `http_client` may be of httpx or of its fork httpx2, which has the same API.
"""

from __future__ import annotations

import email.utils
import importlib
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, Protocol

import anyio
import httpx
import pydantic_core

from ._flow import Request, Response, said
from ._inputs import invalid
from ._secrets import APIKey, check_value, hidden_in, hider
from .errors import (
    APIConnectionError,
    APITimeoutError,
    ResponseError,
    status_class,
)

CONNECT = 5.0  # seconds at most for connecting
KEEPALIVE = 3.0  # seconds; vLLM's uvicorn closes idle connections after 5 s


@cache
def own_headers() -> dict[str, str]:
    """What every request says; looked up late, since finding one's own version takes a while."""
    from importlib.metadata import version

    return {
        "User-Agent": f"vllm-modalities/{version('vllm-modalities')}",
        "Accept-Encoding": "identity",  # vectors and audio do not compress
    }


class _Answer(Protocol):
    """What is used of an `httpx.Response`."""

    status_code: int

    @property
    def headers(self) -> Mapping[str, str]: ...


class _Exchange:
    """One request as the library takes it, its answer as ours, and its faults by name."""

    def __init__(self, library: ModuleType, request: Request, api_key: APIKey) -> None:
        self._library, self._request = library, request
        self._name = f"{request.method} {request.path}"
        self.answer: _Answer | None = None  # once it has begun
        headers = {**own_headers(), **_bearer(api_key), **request.headers}
        for name, value in headers.items():
            check_value(name, value)
        self.hide = hider(headers)
        self.arguments: dict[str, Any] = {
            "method": request.method,
            "url": request.server + request.path,
            "headers": headers,
            "timeout": library.Timeout(request.timeout, connect=min(CONNECT, request.timeout)),
        }
        if request.form is not None:
            self.arguments |= {"data": request.form.fields, "files": request.form.files}
        elif request.json is not None:
            headers["Content-Type"] = "application/json"
            self.arguments["content"] = _json(request.json)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn the library's exceptions into ours."""
        try:
            yield
        except self._library.TimeoutException as error:
            connecting = isinstance(error, self._library.ConnectTimeout)
            raise self.late("connecting" if connecting else self._name) from error
        except (self._library.RequestError, self._library.InvalidURL) as error:
            reason = self.hide(str(error) or type(error).__name__)
            cause = error if reason == str(error) else None  # a traceback shows the cause too
            if self.answer is not None and self.answer.status_code < 400:
                raise ResponseError(
                    f"the answer to {self._name} stopped half-way: {reason}",
                    server=self._request.server,
                    request_id=self._request_id(),
                    cut=True,
                ) from cause
            raise APIConnectionError(
                f"no answer to {self._name}: {reason}. Is the server up, and is the address right?",
                server=self._request.server,
            ) from cause

    def late(self, where: str) -> APITimeoutError:
        return APITimeoutError(
            f"{where}: no complete answer within {self._request.timeout:.3g} s;"
            " raise `timeout` or `deadline`, or send less at once",
            server=self._request.server,
        )

    def _request_id(self) -> str | None:
        shown = self.answer.headers.get("x-request-id") if self.answer else None
        return None if shown is None else self.hide(shown)

    def result(self, content: bytes) -> Response:
        """The answer, if it is one; raises the error that it is otherwise."""
        assert self.answer is not None
        status = self.answer.status_code
        headers = {name.lower(): value for name, value in self.answer.headers.items()}
        server = self._request.server
        if 200 <= status < 300:
            return Response(status, headers, content, server, hidden=self.hide)
        if status < 400:
            place = self.hide(headers.get("location", "an unknown place"))
            raise ResponseError(
                f"HTTP {status}: {self._request.path} is moved to {place};"
                " redirects are not followed, give the new address as `base_url`",
                server=server,
                request_id=self._request_id(),
            )
        raise status_class(status)(
            status,
            self.hide(said(content)),
            server=server,
            request_id=self._request_id(),
            body=hidden_in(content, self.hide),
            retry_after=_seconds(headers.get("retry-after")),
        )


def _bearer(api_key: APIKey) -> dict[str, str]:
    key = api_key() if callable(api_key) else api_key
    return {"Authorization": f"Bearer {key}"} if key else {}


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return pydantic_core.to_json(body)
    except pydantic_core.PydanticSerializationError:
        raise invalid(
            "",
            "a text of the request holds half a surrogate pair, which UTF-8 cannot carry",
        ) from None


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After` in seconds, from a number or a date; None where there is no sense in it."""
    try:
        seconds = float(retry_after or "nan")
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(retry_after or "")
            seconds = date.timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _library_of(http_client: object) -> ModuleType:
    """httpx or httpx2: whichever the user's own client is made of."""
    for kind in type(http_client).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in ("httpx", "httpx2"):
            return importlib.import_module(library)
    raise invalid(
        "http_client", f"http_client must be a client of httpx or httpx2, not {http_client!r}"
    )


class SyncTransport:
    """Sends for `Client`."""

    def __init__(self, http_client: Any, *, api_key: APIKey, connections: int) -> None:
        self._api_key = api_key
        self._library = _library_of(http_client) if http_client is not None else httpx
        self._owned = http_client is None
        self._client = http_client or httpx.Client(limits=_limits(connections))

    def send(self, request: Request) -> Response:
        """One exchange; raises our errors."""
        exchange = _Exchange(self._library, request, self._api_key)
        ends = time.monotonic() + request.timeout
        with exchange.translated():
            sent = self._client.build_request(**exchange.arguments)
            exchange.answer = answer = self._client.send(sent, stream=True)
            try:
                parts = []
                for part in answer.iter_bytes():
                    parts.append(part)
                    if time.monotonic() > ends:
                        raise exchange.late(request.path)
            finally:
                answer.close()
        return exchange.result(b"".join(parts))

    def close(self) -> None:
        if self._owned:
            self._client.close()


class AsyncTransport:
    """Sends for `AsyncClient`."""

    def __init__(self, http_client: Any, *, api_key: APIKey, connections: int) -> None:
        self._api_key = api_key
        self._library = _library_of(http_client) if http_client is not None else httpx
        self._owned = http_client is None
        self._client = http_client or httpx.AsyncClient(limits=_limits(connections))

    async def send(self, request: Request) -> Response:
        """One exchange; raises our errors."""
        exchange = _Exchange(self._library, request, self._api_key)
        with exchange.translated(), anyio.move_on_after(request.timeout):
            sent = self._client.build_request(**exchange.arguments)
            exchange.answer = answer = await self._client.send(sent, stream=True)
            try:
                content = b"".join([part async for part in answer.aiter_bytes()])
            finally:
                with anyio.CancelScope(shield=True):
                    await answer.aclose()
            return exchange.result(content)
        raise exchange.late(f"{request.method} {request.path}")

    async def close(self) -> None:
        if self._owned:
            await self._client.aclose()


def _limits(connections: int) -> httpx.Limits:
    # The client's own places bound what is in flight; the pool must never be a second queue.
    return httpx.Limits(
        max_connections=None, max_keepalive_connections=connections, keepalive_expiry=KEEPALIVE
    )
