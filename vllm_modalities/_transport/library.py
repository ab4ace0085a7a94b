"""httpx, or its fork httpx2, in: a client that the user configured, or one that goes by a proxy.

The only module that knows the HTTP library; loaded late, since most programs need none.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator, Mapping
from contextlib import aclosing, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import anyio

from .._flow import Form, Request, Response
from .._forks import renewed_in_children
from .._inputs import invalid
from .._secrets import APIKey, hider
from .call import Call
from .heads import awaited_key_of, body_of, checked, headers_of, key_of
from .http1 import LARGEST, MalformedError
from .pool import CONNECT, KEEPALIVE

if TYPE_CHECKING:
    import ssl

# A proxy of the environment is never asked for what is on this machine.
DIRECT = {f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")}


class _Lent:
    """A client of the library's, of the kind `KIND`.

    Args:
        http_client: The user's; None is one that goes by the environment's proxies.
    """

    KIND: ClassVar[str]

    def __init__(self, http_client: Any, api_key: APIKey, connections: int) -> None:
        self._library = _library_of(http_client)
        self._owned = http_client is None
        self._client, self._connections, self._api_key = http_client, connections, api_key
        self.renew()
        renewed_in_children(self)

    def renew(self) -> None:
        """Take a client of ours anew; the user's is the user's to renew."""
        if self._owned:
            self._client = getattr(self._library, self.KIND)(**_ours(self._connections))


class Borrowed(_Lent):
    """Sends by a blocking client."""

    KIND = "Client"

    def send(self, request: Request, traced: Mapping[str, str]) -> Response:
        """One exchange; raises our errors."""
        key = key_of(request, self._api_key)
        call, arguments = _prepared(self._library, request, key, traced)
        ends, body = time.monotonic() + request.timeout, bytearray()
        with _translated(self._library, call):
            sent, options = _built(self._library, self._client, request, arguments)
            answer = self._client.send(sent, **options)
            _begun(call, answer)
            try:
                call.unpacked()
                for part in answer.iter_bytes():
                    if not _kept(call, body, part):
                        break
                    if time.monotonic() > ends:
                        raise call.late()
            finally:
                answer.close()
        return _result(call, body)

    def close(self) -> None:
        if self._owned:
            self._client.close()


class AsyncBorrowed(_Lent):
    """Sends by an asynchronous client."""

    KIND = "AsyncClient"

    async def send(self, request: Request, traced: Mapping[str, str]) -> Response:
        """One exchange; raises our errors."""
        key = await awaited_key_of(request, self._api_key)
        call, arguments = _prepared(self._library, request, key, traced)
        body = bytearray()
        with _translated(self._library, call), anyio.move_on_after(request.timeout):
            sent, options = _built(self._library, self._client, request, arguments)
            answer = await self._client.send(sent, **options)
            _begun(call, answer)
            try:
                call.unpacked()
                async with aclosing(answer.aiter_bytes()) as parts:
                    async for part in parts:
                        if not _kept(call, body, part):
                            break
            finally:
                with anyio.CancelScope(shield=True):
                    await answer.aclose()
            return _result(call, body)
        raise call.late()

    async def close(self) -> None:
        if self._owned:
            await self._client.aclose()


def _library_of(http_client: object) -> ModuleType:
    """httpx or httpx2: whichever the user's own client is made of."""
    if http_client is None:
        return importlib.import_module("httpx")
    for kind in type(http_client).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in ("httpx", "httpx2"):
            return importlib.import_module(library)
    raise invalid(
        "http_client", f"http_client must be a client of httpx or httpx2, not {http_client!r}"
    )


def _ours(connections: int) -> dict[str, Any]:
    """What a client is made with that no user configured."""
    import httpx

    # The client's own places bound what is in flight; the pool must never be a second queue.
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=connections, keepalive_expiry=KEEPALIVE
    )
    return {"limits": limits, "mounts": DIRECT}


def _prepared(
    library: ModuleType, request: Request, key: str | None, traced: Mapping[str, str]
) -> tuple[Call, dict[str, Any]]:
    """A request as the library takes it."""
    headers = {**headers_of(request, key), **traced}
    checked(headers)
    arguments: dict[str, Any] = {
        "method": request.method,
        "url": request.server + request.path,
        "headers": headers,
        "timeout": library.Timeout(request.timeout, connect=min(CONNECT, request.timeout)),
    }
    if request.form is not None:
        arguments |= {"data": request.form.fields, "files": request.form.files}
    elif request.json is not None:
        arguments["content"] = body_of(request.json)
        arguments["headers"] = headers | {"Content-Type": "application/json"}
    return Call(request, hider(headers)), arguments


def _built(
    library: ModuleType, client: Any, request: Request, arguments: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The library's request, and how it is sent; an anonymous one has nothing of the client's."""
    options: dict[str, Any] = {"stream": True, "follow_redirects": False}
    if not request.anonymous:
        return client.build_request(**arguments), options
    timeout = arguments.pop("timeout").as_dict()
    sent = library.Request(**arguments, extensions={"timeout": timeout})
    return sent, options | {"auth": None}


def _begun(call: Call, answer: Any) -> None:
    """The answer has begun; a user's own client may have added secrets to the request."""
    call.heard(answer.status_code, answer.headers)
    call.hide = hider(dict(answer.request.headers))


@contextmanager
def _translated(library: ModuleType, call: Call) -> Iterator[None]:
    """Turn the library's exceptions into ours."""
    try:
        yield
    except library.TimeoutException as error:
        raise call.late(connecting=isinstance(error, library.ConnectTimeout)) from error
    except (library.RequestError, library.InvalidURL, MalformedError) as error:
        raise call.broken(error)  # noqa: B904 - which says what caused it


def _kept(call: Call, body: bytearray, part: bytes) -> bool:
    """Keep one more part of the body; whether more of it is wanted."""
    body += part
    if len(body) > LARGEST:
        raise MalformedError(f"an answer of more than {LARGEST:,} bytes")
    hear = call.request.hear
    return hear is None or not 200 <= call.status < 300 or hear(part)


def _result(call: Call, body: bytearray) -> Response:
    call.headers = {name.lower(): value for name, value in call.headers.items()}
    return call.result(body)


def tls_context() -> ssl.SSLContext:
    """Whom to trust, as httpx reads it from the environment: SSL_CERT_FILE, SSL_CERT_DIR."""
    import httpx

    return httpx.create_ssl_context()


def multipart(form: Form) -> tuple[bytes, str]:
    """A form as bytes, and its media type."""
    import httpx

    request = httpx.Request("POST", "http://form", data=dict(form.fields), files=dict(form.files))
    return request.read(), request.headers["Content-Type"]
