"""Vectors as the bytes that a server sends, in each of its types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._vectors import Vector


def float16(vectors: Vector) -> NDArray[Any]:
    return vectors.astype("<f2")


def bfloat16(vectors: Vector) -> NDArray[Any]:
    """The upper half of each number, rounded to the nearest, ties to even."""
    bits = vectors.astype("<f4").view("<u4")
    rounded: NDArray[Any] = bits + (0x7FFF + ((bits >> 16) & 1))
    return (rounded >> 16).astype("<u2")


@cache
def _fp8(exponent: int, mantissa: int) -> NDArray[np.float64]:
    """The values of the codes 0 to 127; those that are no number are infinite."""
    codes = np.arange(128)
    power, rest = codes >> mantissa, codes & (2**mantissa - 1)
    bias, share = 2 ** (exponent - 1) - 1, rest / 2**mantissa
    values = np.where(power == 0, share * 2.0 ** (1 - bias), (1 + share) * 2.0 ** (power - bias))
    return np.where(codes > (0x7E if mantissa == 3 else 0x7B), np.inf, values)


def _to_fp8(vectors: Vector, exponent: int, mantissa: int) -> NDArray[Any]:
    values = _fp8(exponent, mantissa)
    above = np.clip(np.searchsorted(values, np.abs(vectors)), 1, 127)
    size = np.abs(vectors)
    nearest = np.where(values[above] - size < size - values[above - 1], above, above - 1)
    return (nearest | np.where(np.signbit(vectors), 0x80, 0)).astype(np.uint8)


TYPES: Mapping[str, Callable[[Vector], NDArray[Any]]] = {
    "float32": lambda vectors: vectors.astype("<f4"),
    "float16": float16,
    "bfloat16": bfloat16,
    "fp8_e4m3": lambda vectors: _to_fp8(vectors, 4, 3),
    "fp8_e5m2": lambda vectors: _to_fp8(vectors, 5, 2),
}


def raw(vectors: Vector, kind: str = "float32", *, big: bool = False) -> bytes:
    """The numbers of `vectors` back to back, little-endian unless `big`."""
    numbers = TYPES[kind](vectors)
    return (numbers.byteswap() if big else numbers).tobytes()


def packed(vector: Vector) -> NDArray[np.uint8]:
    """Eight signs a byte, the first in the highest bit; 1 stands for 0 and above."""
    return np.packbits(vector >= 0)
