"""Reading vectors off the wire into one array."""

from __future__ import annotations

import binascii
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


def from_base64(rows: Sequence[str]) -> Matrix:
    """Rows of base64 little-endian float32. Shape (n, width).

    Raises:
        ValueError: A row is not base64, or as wide as no other.
    """
    try:
        return from_bytes([binascii.a2b_base64(row, strict_mode=True) for row in rows])
    except binascii.Error as error:
        raise ValueError(f"a vector is not base64: {error}") from None


def from_bytes(rows: Sequence[bytes]) -> Matrix:
    """Rows of raw little-endian float32. Shape (n, width).

    Raises:
        ValueError: The rows are not equally wide, or not whole numbers long.
    """
    widths = {len(row) for row in rows}
    if len(widths) != 1 or widths.pop() % 4:
        lengths = sorted({len(row) for row in rows})
        raise ValueError(f"vectors are {lengths} bytes long, not equally wide in float32")
    return np.frombuffer(b"".join(rows), dtype="<f4").reshape(len(rows), -1)


def from_numbers(rows: Sequence[Sequence[float | None]]) -> Matrix:
    """Rows of JSON numbers; null, which some servers write for NaN, reads NaN.

    Raises:
        ValueError: The rows are not equally wide.
    """
    widths = sorted({len(row) for row in rows})
    if len(widths) != 1:
        raise ValueError(f"vectors are {widths} numbers wide, not equally")
    with np.errstate(over="ignore"):  # too large for float32 is infinite, which callers look for
        return np.array(rows, dtype=np.float32)


def from_body(body: bytes, count: int, width: int) -> Matrix:
    """`count` raw vectors back to back. Shape (count, width).

    Raises:
        ValueError: The body is not that long.
    """
    if len(body) != count * width * 4:
        raise ValueError(
            f"the body has {len(body)} bytes; {count} vectors of {width} float32 numbers have"
            f" {count * width * 4}"
        )
    return np.frombuffer(body, dtype="<f4").reshape(count, width)
