"""`QuantizedEmbeddings`: vectors in a bit, a byte or two bytes a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._results import Usage
from . import compare
from .compare import Metric
from .decode import not_finite

if TYPE_CHECKING:
    from .embeddings import Embeddings

Quantization: TypeAlias = Literal["binary", "ubinary", "int8", "uint8", "float16"]
BITS = ("binary", "ubinary")
BYTES = ("int8", "uint8")


@dataclass(frozen=True, slots=True, eq=False)
class QuantizedEmbeddings:
    """One short vector an input, in the inputs' order.

    Attributes:
        vectors: Shape (n, dimensions), int8, uint8 or float16. `"ubinary"` packs eight numbers
            into a byte, uint8, shape (n, ceil(dimensions / 8)): 1 for a number of at least 0,
            the first of the eight in the highest bit. `"binary"` is the same less 128, int8.
        quantization: What each number has become.
        dimensions: Width of the vectors that they stand for.
        ranges: Smallest and greatest number in each dimension, which 256 levels cover, shape
            (2, dimensions), float32; None but for `"int8"` and `"uint8"`.
        model: The served model's name.
        usage: Tokens read; None where that is not known.
        warnings: What was doubtful.
    """

    vectors: NDArray[Any]
    quantization: Quantization
    dimensions: int
    ranges: NDArray[np.float32] | None = None
    model: str | None = None
    usage: Usage | None = None
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.vectors)

    @overload
    def __getitem__(self, place: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, place: slice) -> QuantizedEmbeddings: ...
    def __getitem__(self, place: int | slice) -> NDArray[Any] | QuantizedEmbeddings:
        chosen: NDArray[Any] = self.vectors[place]
        return replace(self, vectors=chosen) if isinstance(place, slice) else chosen

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter(self.vectors)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.vectors, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return (
            f"QuantizedEmbeddings({len(self)} x {self.dimensions}, {self.quantization!r},"
            f" model={self.model!r})"
        )

    def unpack(self) -> NDArray[np.float32]:
        """The vectors that these stand for, as nearly as can be told. Shape (n, dimensions).

        A bit becomes 1 or -1, so the cosine of two such vectors is 1 - 2 * (bits that differ) /
        dimensions; a level becomes smallest + level * (greatest - smallest) / 255.
        """
        if self.quantization in BITS:
            bits = np.unpackbits(self._unsigned(), axis=1, count=self.dimensions)
            return bits.astype(np.float32) * 2 - 1
        if self.ranges is None:
            return self.vectors.astype(np.float32)
        levels = self._unsigned().astype(np.float32)
        vectors: NDArray[np.float32] = levels * _steps(self.ranges) + self.ranges[0]
        return vectors

    def _unsigned(self) -> NDArray[np.uint8]:
        """The numbers from 0 to 255."""
        shift = 128 if self.vectors.dtype == np.int8 else 0
        return (self.vectors.astype(np.int16) + shift).astype(np.uint8)

    def similarity(
        self, other: QuantizedEmbeddings | Embeddings | ArrayLike, metric: Metric = "cosine"
    ) -> NDArray[np.float32]:
        """As `Embeddings.similarity`, of what `unpack` gives."""
        return compare.similarity(self.unpack(), numbers(other), metric)

    def nearest(
        self,
        queries: QuantizedEmbeddings | Embeddings | ArrayLike,
        k: int = 10,
        *,
        metric: Metric = "cosine",
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """As `Embeddings.nearest`, of what `unpack` gives."""
        return compare.nearest(self.unpack(), numbers(queries), k, metric)


def quantized(
    vectors: NDArray[np.float32], kind: Quantization, calibration: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
    """The short vectors, and the ranges that their levels cover.

    Raises:
        ValueError: A row is not finite, there is no such kind, or it takes no calibration.
    """
    _finite(vectors, "rows")
    if kind in BYTES:
        ranges = _ranges(vectors if calibration is None else calibration, vectors)
        levels = np.clip(np.rint((vectors - ranges[0]) / _steps(ranges)), 0, 255)
        return (levels - 128).astype(np.int8) if kind == "int8" else levels.astype(np.uint8), ranges
    if calibration is not None:
        raise ValueError(f"{kind!r} takes no calibration; 'int8' and 'uint8' do")
    match kind:
        case "ubinary":
            return np.packbits(vectors >= 0, axis=1), None
        case "binary":
            return (np.packbits(vectors >= 0, axis=1).astype(np.int16) - 128).astype(np.int8), None
        case "float16":
            return vectors.astype(np.float16), None
    kinds = "'binary', 'ubinary', 'int8', 'uint8' or 'float16'"
    raise ValueError(f"quantization must be {kinds}, got {kind!r}")


def _finite(vectors: NDArray[Any], what: str) -> None:
    if failed := not_finite(vectors):
        raise ValueError(f"{what} {failed[:8]} are not finite: leave out what failed")


def _ranges(calibration: ArrayLike, vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Smallest and greatest number of each dimension."""
    known, width = compare.matrix_of(calibration), vectors.shape[1]
    if known.shape[1] != width:
        raise ValueError(f"calibration has {known.shape[1]} numbers a vector, not {width}")
    _finite(known, "rows of calibration")
    if not len(known):
        if len(vectors):
            raise ValueError("calibration has no vectors")
        known = np.zeros((1, width), np.float32)
    return np.stack([known.min(axis=0), known.max(axis=0)])


def _steps(ranges: NDArray[np.float32]) -> NDArray[np.float32]:
    """The numbers' distance from one level to the next; 1 where there is but one number."""
    steps = (ranges[1] - ranges[0]) / np.float32(255)
    return np.where(steps == 0, np.float32(1), steps)


def numbers(other: QuantizedEmbeddings | Embeddings | ArrayLike) -> ArrayLike:
    return other.unpack() if isinstance(other, QuantizedEmbeddings) else other
