"""Answers: what is sent, and JSON with places to fill in."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    Attributes:
        status, headers: As in HTTP.
        body: Whole, or in parts that are sent one by one.
        tokens: How many were read and written for it.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Sequence[bytes] = b""
    tokens: int = 0


def dumps(value: Any) -> bytes:
    """JSON as a server writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


MARK = "\ufdd0"  # no character; it stands in no text


def hole(name: str) -> str:
    """What holds the place of a value of that name in a `Form`."""
    return f"{MARK}{name}{MARK}"


class Form:
    """JSON written once, with places for values that are JSON already."""

    def __init__(self, value: Any) -> None:
        parts = re.split(f'"{MARK}(.+?){MARK}"', dumps(value).decode())
        self._parts = [part.encode() for part in parts[::2]]
        self.names = parts[1::2]

    def filled(self, values: Mapping[str, bytes]) -> list[bytes]:
        """The JSON in pieces, to be joined with others."""
        pieces = [self._parts[0]]
        for name, part in zip(self.names, self._parts[1:], strict=True):
            pieces += (values[name], part)
        return pieces


def fresh(prefix: str, given: str | None) -> bytes:
    """An id as JSON: what the request gave for it, or a random one."""
    return dumps(f"{prefix}-{given or os.urandom(8).hex()}")


def now() -> bytes:
    """The second, as JSON."""
    return b"%d" % time.time()
