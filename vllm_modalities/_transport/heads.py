"""A request as bytes: the body, and a head of which all but the length is built once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

import pydantic_core

from .._flow import Request
from .._inputs import invalid
from .._secrets import APIKey, check_value, hider
from .pool import Origin

_TOKEN = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_OURS = frozenset({"content-length", "transfer-encoding", "connection"})
_UNQUOTED = "/%?&=:;@!$'()*+,~"  # beside letters and digits: what may stand in a path as it is
_PORTS = {"http": 80, "https": 443}


@cache
def own_headers() -> dict[str, str]:
    """What every request says; looked up late, since finding one's own version takes a while."""
    from importlib.metadata import version

    return {
        "Accept": "*/*",
        "User-Agent": f"vllm-modalities/{version('vllm-modalities')}",
        "Accept-Encoding": "identity",  # vectors and audio do not compress
    }


def key_of(request: Request, api_key: APIKey) -> str | None:
    """The key that a request carries.

    Raises:
        InvalidRequestError: It is to be awaited.
    """
    key = _asked(request, api_key)
    if inspect.iscoroutine(key):
        key.close()
    if inspect.isawaitable(key):
        raise invalid("api_key", "api_key gives what is to be awaited: AsyncClient does that")
    return key


async def awaited_key_of(request: Request, api_key: APIKey) -> str | None:
    """The key that a request carries; what `api_key` gives may be awaitable."""
    key = _asked(request, api_key)
    return await key if inspect.isawaitable(key) else key


def _asked(request: Request, api_key: APIKey) -> str | Awaitable[str] | None:
    if request.anonymous:
        return None
    return api_key() if callable(api_key) else api_key


def headers_of(request: Request, key: str | None) -> dict[str, str]:
    """The headers of a request but for those about its body; of one name the last counts."""
    headers = own_headers() | ({"Authorization": f"Bearer {key}"} if key else {})
    named = {name.lower(): (name, value) for name, value in headers.items()}
    named |= {name.lower(): (name, value) for name, value in request.headers.items()}
    return dict(named.values())


def checked(headers: Mapping[str, str]) -> None:
    """Raise InvalidRequestError where HTTP cannot carry a header, or it is not the user's."""
    for name, value in headers.items():
        check_value(name, value)
        if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
            raise invalid(name, f"{name!r} cannot be a header of a request")


def body_of(json: Mapping[str, Any]) -> bytes:
    """A JSON body.

    Raises:
        InvalidRequestError: A text in it is not Unicode.
    """
    try:
        return pydantic_core.to_json(json)
    except pydantic_core.PydanticSerializationError:
        raise invalid(
            "",
            "a text of the request holds half a surrogate pair, which UTF-8 cannot carry",
        ) from None


@dataclass(frozen=True, slots=True)
class Head:
    """What requests of one kind to one server begin with.

    Attributes:
        origin: The server.
        start: All of the head but the body's length.
        hide: Takes the secrets in it out of a text.
    """

    origin: Origin
    start: bytes
    hide: Callable[[str], str]

    def of(self, body: bytes, more: Mapping[str, str]) -> bytes:
        """The whole head for one body, with more headers."""
        checked(more)
        lines = "".join(f"{name}: {value}\r\n" for name, value in more.items())
        return self.start + lines.encode() + b"Content-Length: %d\r\n\r\n" % len(body)


def head_of(method: str, server: str, path: str, *headers: tuple[str, str]) -> Head:
    """The head of a request.

    Raises:
        InvalidRequestError: HTTP cannot carry one of the headers, or nothing can be named so.
    """
    checked(dict(headers))
    url = urlsplit(server)
    try:
        host = (url.hostname or "").encode("idna").decode()
    except UnicodeError as error:
        raise invalid("base_url", f"{url.hostname!r} is no name of a server: {error}") from None
    port = url.port or _PORTS[url.scheme]
    shown = f"[{host}]" if ":" in host else host
    shown += "" if port == _PORTS[url.scheme] else f":{port}"
    target = quote(url.path + path, safe=_UNQUOTED)
    host_line = () if any(name.lower() == "host" for name, _ in headers) else (("Host", shown),)
    fields = (f"{name}: {value}" for name, value in (*host_line, *headers))
    lines = [f"{method} {target} HTTP/1.1", *fields, ""]
    origin = Origin(host, port, url.scheme == "https")
    return Head(origin, "\r\n".join(lines).encode(), hider(dict(headers)))
