"""How the numbers of vectors are written on the wire, and how they are read into numpy's.

Source: vLLM 0.16.0 to 0.33.0 vllm/utils/serial_utils.py, `EMBED_DTYPES`; always asked for in
little-endian order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

DType: TypeAlias = Literal["float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"]
Buffer: TypeAlias = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Precision:
    """One way to write numbers.

    Attributes:
        name: As in the request field `embed_dtype`.
        size: Bytes a number.
        array: The type of numpy's that they are kept in.
        numbers: Reads them; float32's and float16's share the buffer's memory.
        rounding: How far from 1 rounding alone may bring the length of a unit vector.
    """

    name: DType
    size: int
    array: type[np.float32 | np.float16]
    numbers: Callable[[Buffer], NDArray[Any]]
    rounding: float


def _bfloat16(buffer: Buffer) -> NDArray[np.float32]:
    """The upper half of a float32."""
    return (np.frombuffer(buffer, "<u2").astype("<u4") << 16).view("<f4")


def _fp8_e5m2(buffer: Buffer) -> NDArray[np.float32]:
    """The upper half of a float16."""
    return (np.frombuffer(buffer, np.uint8).astype("<u2") << 8).view("<f2").astype(np.float32)


def _fp8_e4m3(buffer: Buffer) -> NDArray[np.float32]:
    return _e4m3()[np.frombuffer(buffer, np.uint8)]


@cache
def _e4m3() -> NDArray[np.float32]:
    """All 256 numbers of torch's float8_e4m3fn: no infinity, and one NaN of either sign."""
    bits = np.arange(256)
    exponent, fraction = bits >> 3 & 15, bits & 7
    size = np.where(
        exponent == 0, fraction / 8 * 2.0**-6, (1 + fraction / 8) * 2.0 ** (exponent - 7)
    )
    size[bits & 127 == 127] = np.nan
    return np.where(bits < 128, size, -size).astype(np.float32)


PRECISIONS: Mapping[str, Precision] = {
    precision.name: precision
    for precision in (
        Precision("float32", 4, np.float32, lambda buffer: np.frombuffer(buffer, "<f4"), 2e-3),
        Precision("float16", 2, np.float16, lambda buffer: np.frombuffer(buffer, "<f2"), 2e-3),
        Precision("bfloat16", 2, np.float32, _bfloat16, 5e-3),
        Precision("fp8_e4m3", 1, np.float32, _fp8_e4m3, 5e-2),
        Precision("fp8_e5m2", 1, np.float32, _fp8_e5m2, 5e-2),
    )
}
FLOAT32 = PRECISIONS["float32"]
