"""httpx in, our errors out: the only module that knows the HTTP library.

A user's own `http_client` may be of httpx or of its fork httpx2, which has the same API.
"""

from __future__ import annotations

import email.utils
import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from types import ModuleType
from typing import Any, Protocol

import anyio
import httpx
import pydantic_core

from ._flow import Request, Response, said
from .errors import (
    APIConnectionError,
    APITimeoutError,
    ResponseError,
    status_class,
)

CONNECT = 5.0  # seconds at most for connecting
KEEPALIVE = 3.0  # seconds; vLLM's uvicorn closes idle connections after 5 s

HEADERS = {
    "User-Agent": f"vllm-modalities/{version('vllm-modalities')}",
    "Accept-Encoding": "identity",  # vectors and audio do not compress
}

APIKey = str | Callable[[], str] | None


class _Answer(Protocol):
    """What is used of an `httpx.Response`."""

    status_code: int

    @property
    def headers(self) -> Mapping[str, str]: ...


class _Wire:
    """What both transports share: building requests, reading answers, naming faults."""

    def __init__(self, library: ModuleType, api_key: APIKey) -> None:
        self._library = library
        self._api_key = api_key

    def _arguments(self, request: Request) -> dict[str, Any]:
        key = self._key()
        arguments: dict[str, Any] = {
            "method": request.method,
            "url": request.server + request.path,
            "headers": HEADERS
            | ({"Authorization": f"Bearer {key}"} if key else {})
            | dict(request.headers),
            "timeout": self._library.Timeout(
                request.timeout, connect=min(CONNECT, request.timeout)
            ),
        }
        if request.form is not None:
            arguments |= {"data": request.form.fields, "files": request.form.files}
        elif request.json is not None:
            arguments["content"] = pydantic_core.to_json(request.json)
            arguments["headers"] = {"Content-Type": "application/json"} | arguments["headers"]
        return arguments

    def _key(self) -> str | None:
        return self._api_key() if callable(self._api_key) else self._api_key

    def _without_key(self, text: str) -> str:
        """A gateway may echo what it was sent; a key must not come back in an error."""
        key = self._key()
        return text.replace(key, "***") if key else text

    @contextmanager
    def _translated(self, request: Request, answers: list[_Answer]) -> Iterator[None]:
        """Turn the library's exceptions into ours; `answers` holds the answer once it began."""
        name = f"{request.method} {request.path}"
        try:
            yield
        except self._library.TimeoutException as error:
            where = "connecting" if isinstance(error, self._library.ConnectTimeout) else name
            raise self._late(where, request) from error
        except (self._library.TransportError, self._library.DecodingError) as error:
            reason = self._without_key(str(error) or type(error).__name__)
            if answers and answers[0].status_code < 400:
                raise ResponseError(
                    f"the answer to {name} stopped half-way: {reason}",
                    server=request.server,
                    request_id=answers[0].headers.get("x-request-id"),
                    cut=True,
                ) from error
            raise APIConnectionError(
                f"no answer to {name}: {reason}. Is the server up, and is the address right?",
                server=request.server,
            ) from error

    def _late(self, where: str, request: Request) -> APITimeoutError:
        return APITimeoutError(
            f"{where}: no complete answer within {request.timeout:.3g} s;"
            " raise `timeout` or `deadline`, or send less at once",
            server=request.server,
        )

    def _read(self, request: Request, answer: _Answer, content: bytes) -> Response:
        """The answer, if it is one; raises the error that it is otherwise."""
        status, headers = answer.status_code, {k.lower(): v for k, v in answer.headers.items()}
        if 200 <= status < 300:
            return Response(status, headers, content, request.server)
        if status < 400:
            raise ResponseError(
                f"HTTP {status}: {request.path} is moved to"
                f" {self._without_key(headers.get('location', 'an unknown place'))};"
                " redirects are not followed, give the new address as `base_url`",
                server=request.server,
                request_id=headers.get("x-request-id"),
            )
        key = self._key()
        raise status_class(status)(
            status,
            self._without_key(said(content)),
            server=request.server,
            request_id=headers.get("x-request-id"),
            body=content.replace(key.encode(), b"***") if key else content,
            retry_after=_seconds(headers.get("retry-after")),
        )


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After` in seconds, from a number or a date; None where there is no sense in it."""
    if retry_after is None:
        return None
    try:
        return max(float(retry_after), 0.0)
    except ValueError:
        pass
    try:
        return max(email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except ValueError:
        return None


def _library_of(http_client: object) -> ModuleType:
    """httpx or httpx2: whichever defines the class at the root of the user's own."""
    root = type(http_client).__mro__[-2]
    return importlib.import_module(root.__module__.partition(".")[0])


class SyncTransport(_Wire):
    """Sends for `Client`."""

    def __init__(
        self,
        http_client: httpx.Client | None,
        *,
        api_key: APIKey,
        connections: int,
    ) -> None:
        super().__init__(_library_of(http_client) if http_client else httpx, api_key)
        self._owned = http_client is None
        self._client = http_client or httpx.Client(limits=_limits(connections))

    def send(self, request: Request) -> Response:
        """One exchange; raises our errors."""
        answers: list[_Answer] = []
        ends = time.monotonic() + request.timeout
        with self._translated(request, answers):
            sent = self._client.build_request(**self._arguments(request))
            answer = self._client.send(sent, stream=True)
            answers.append(answer)
            try:
                parts = []
                for part in answer.iter_bytes():
                    parts.append(part)
                    if time.monotonic() > ends:
                        raise self._late(request.path, request)
            finally:
                answer.close()
        return self._read(request, answer, b"".join(parts))

    def close(self) -> None:
        if self._owned:
            self._client.close()


class AsyncTransport(_Wire):
    """Sends for `AsyncClient`."""

    def __init__(
        self,
        http_client: httpx.AsyncClient | None,
        *,
        api_key: APIKey,
        connections: int,
    ) -> None:
        super().__init__(_library_of(http_client) if http_client else httpx, api_key)
        self._owned = http_client is None
        self._client = http_client or httpx.AsyncClient(limits=_limits(connections))

    async def send(self, request: Request) -> Response:
        """One exchange; raises our errors."""
        answers: list[_Answer] = []
        with self._translated(request, answers), anyio.move_on_after(request.timeout):
            sent = self._client.build_request(**self._arguments(request))
            answer = await self._client.send(sent, stream=True)
            answers.append(answer)
            try:
                content = b"".join([part async for part in answer.aiter_bytes()])
            finally:
                with anyio.CancelScope(shield=True):
                    await answer.aclose()
            return self._read(request, answer, content)
        raise self._late(f"{request.method} {request.path}", request)

    async def close(self) -> None:
        if self._owned:
            await self._client.aclose()


def _limits(connections: int) -> httpx.Limits:
    # The client's own places bound what is in flight; the pool must never be a second queue.
    return httpx.Limits(
        max_connections=None, max_keepalive_connections=connections, keepalive_expiry=KEEPALIVE
    )
