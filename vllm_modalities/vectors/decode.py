"""Reading vectors off the wire into one array."""

from __future__ import annotations

import binascii
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from .precision import FLOAT32, Buffer, Precision

FEW = 16_384  # numbers that are looked at each by itself
Matrix = NDArray[np.float32]


class _Decoder(Protocol):
    def __call__(self, text: str | Buffer, *, validate: bool) -> bytes: ...


@cache
def _fast() -> _Decoder | None:
    """pybase64's decoder, some twenty times as fast as Python's own, where it is installed."""
    try:
        from pybase64 import b64decode
    except ImportError:
        return None
    return cast("_Decoder", b64decode)


def base64_decoded(text: str | Buffer) -> bytes:
    """The bytes that base64 stands for, nothing but base64 allowed.

    Raises:
        ValueError: It is not base64.
    """
    fast = _fast()
    try:
        return fast(text, validate=True) if fast else _plain(text)
    except ValueError:
        return _plain(text)  # which takes a little more, and says better what is wrong


def _plain(text: str | Buffer) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise ValueError(f"a vector is not base64: {error}") from None


def from_base64(rows: Sequence[str], precision: Precision = FLOAT32) -> Matrix:
    """Rows of base64. Shape (n, width).

    Raises:
        ValueError: A row is not base64, or as wide as no other.
    """
    return from_bytes([base64_decoded(row) for row in rows], precision)


def from_bytes(rows: Sequence[Buffer], precision: Precision = FLOAT32) -> Matrix:
    """Rows of raw little-endian numbers. Shape (n, width).

    Raises:
        ValueError: The rows are not equally wide, or not whole numbers long.
    """
    widths = {len(row) for row in rows}
    if len(widths) != 1 or widths.pop() % precision.size:
        lengths = sorted({len(row) for row in rows})
        raise ValueError(f"vectors are {lengths} bytes long, not equally wide in {precision.name}")
    return precision.numbers(b"".join(rows)).reshape(len(rows), -1)


def from_numbers(
    rows: Sequence[Sequence[float | None]], dtype: type[np.generic] = np.float32
) -> NDArray[Any]:
    """Rows of JSON numbers; null, which some servers write for NaN, reads NaN.

    Raises:
        ValueError: The rows are not equally wide.
    """
    widths = sorted({len(row) for row in rows})
    if len(widths) != 1:
        raise ValueError(f"vectors are {widths} numbers wide, not equally")
    with np.errstate(over="ignore"):  # too large for float32 is infinite, which callers look for
        return np.array(rows, dtype=dtype)


def from_body(body: Buffer, count: int, width: int, precision: Precision = FLOAT32) -> Matrix:
    """`count` raw vectors back to back; the array shares the body's memory. Shape (count, width).

    Raises:
        ValueError: The body is not that long.
    """
    expected = count * width * precision.size
    if len(body) != expected:
        raise ValueError(
            f"the body has {len(body)} bytes; {count} vectors of {width} {precision.name} numbers"
            f" have {expected}"
        )
    return precision.numbers(body).reshape(count, width)


def not_finite(vectors: Matrix) -> list[int]:
    """The rows that hold a number which is NaN or infinite."""
    if vectors.size <= FEW:
        if np.isfinite(vectors).all():
            return []
    else:  # a finite sum has finite parts, and costs far less than looking at each
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(float(vectors.sum(dtype=np.float32))):
                return []
    bad: list[int] = np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist()
    return bad


def zeros(vectors: Matrix) -> list[int]:
    """The rows of zeros alone; only those that begin with one are looked at."""
    first = vectors[:, :1]
    if np.count_nonzero(first) == len(vectors):
        return []
    return [row for row in np.flatnonzero(~first.any(axis=1)).tolist() if not vectors[row].any()]
