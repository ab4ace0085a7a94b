"""What stands at an address that the caller gave, fetched without the client's key."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

from .._context import Context
from .._exchange import exchange
from .._fleet import Replica
from .._flow import Flow, Request, Response
from .._inputs import MediaURL
from .._printable import printable
from ..errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    MediaError,
    ResponseError,
)

MOVES = 5  # redirects that are followed


def fetched(context: Context, given: MediaURL) -> Flow[bytes]:
    """What stands at an address.

    Raises:
        MediaError: It is not there, or not to be had.
        APITimeoutError: The call is out of time.
    """
    if given.url.startswith("data:"):
        return _decoded(given)
    url = given.url
    try:
        for _ in range(1 + MOVES):
            response = yield from _got(context, url)
            if response.status < 300:
                return response.content
            url = urljoin(url, response.headers.get("location", ""))
            if not url.startswith(("http://", "https://")):
                raise MediaError(f"{given.shown} was moved to {printable(url)[:60]!r}.")
    except APITimeoutError as error:
        if context.ends is not None and context.fleet.clock() >= context.ends:
            raise
        raise MediaError(f"{given.shown}: {error}") from error
    except (APIConnectionError, APIStatusError, ResponseError, ValueError) as error:
        raise MediaError(f"{given.shown}: {error}") from error
    raise MediaError(f"{given.shown} was moved more than {MOVES} times.")


def _got(context: Context, url: str) -> Flow[Response]:
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def ask(host: Replica, seconds: float) -> Flow[Response]:
        return (
            yield from Request(
                "GET",
                path,
                server=host.url,
                headers=host.headers,
                timeout=seconds,
                ends=context.ends,
                anonymous=True,
            )
        )

    host = Replica(f"{parts.scheme}://{parts.netloc}")
    return exchange(context, (host,), ask, "GET of an input")  # the rest may be a secret


def _decoded(given: MediaURL) -> bytes:
    """The bytes that a `data:` URL holds."""
    head, _, content = given.url.partition(",")
    if not head.endswith(";base64"):
        return unquote_to_bytes(content)
    try:
        return base64.b64decode(unquote_to_bytes(content), validate=True)
    except binascii.Error as error:
        raise MediaError(f"{given.shown} holds no base64: {error}.") from error
