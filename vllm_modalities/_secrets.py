"""What must never be shown: keys and passwords, as they stand in the headers of a request."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from ._inputs import invalid

APIKey = str | Callable[[], str] | Callable[[], Awaitable[str]] | None

_TELLING = re.compile(r"auth|key|token|secret|cookie|pass|credential", re.IGNORECASE)
SHORTEST = 3  # characters; hiding less would garble every message


class Unshown(dict[str, Any]):
    """Settings, of which no repr shows any."""

    __repr__ = object.__repr__


def hider(headers: Mapping[str, str]) -> Callable[[str], str]:
    """A function that takes the secrets in `headers` out of a text: a server may echo them."""
    secrets = {
        secret
        for name, value in headers.items()
        if _TELLING.search(name)
        for secret in _parts(value)
        if len(secret) >= SHORTEST
    }
    longest_first = sorted(secrets, key=len, reverse=True)

    def hide(text: str) -> str:
        for secret in longest_first:
            text = text.replace(secret, "***")
        return text

    return hide


def hidden_in(content: bytes | bytearray, hide: Callable[[str], str]) -> bytes:
    """`content` without the secrets; the same object, not a copy, where it holds none."""
    text = content.decode("latin-1")
    cleaned = hide(text)
    return bytes(content) if cleaned == text else cleaned.encode("latin-1")


def _parts(value: str) -> Iterator[str]:
    """A header's value, what follows its scheme, cookies, and the password in a Basic pair."""
    yield value
    yield from (cookie.partition("=")[2] for cookie in value.split("; "))
    scheme, _, credentials = value.partition(" ")
    yield credentials
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(credentials, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        yield pair
        yield pair.partition(":")[2]


def check_key(api_key: APIKey) -> None:
    """Refuse a key that no header can carry, without showing it."""
    if isinstance(api_key, str):
        check_value("api_key", api_key)


def check_value(name: str, value: str) -> None:
    """Refuse a header's value that HTTP cannot carry, without showing it."""
    if not (value.isascii() and value.isprintable() and value == value.strip()):
        raise invalid(
            name,
            f"{name} has characters that no HTTP header can carry; was a line break or a blank"
            " read with it?",
        )
