"""`Embeddings`: many vectors as one array, and what one does with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._html import CELLS, framed, heat_map
from .._results import Usage
from ..errors import VLLMModalitiesError
from . import compare
from .compare import Metric
from .quantized import Quantization, QuantizedEmbeddings, numbers, quantized


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """One vector an input, in the inputs' order.

    Attributes:
        vectors: Shape (n, dimensions), float32, or float16 where that was asked for; a row of NaN
            where an input failed. An array of numpy's like any other: `torch.from_numpy` takes it
            without a copy.
        model: The served model's name.
        usage: Tokens read; None where the wire format carries no count.
        transport: The wire format they came in: `"bytes"`, `"base64"` or `"float"`, joined by `+`
            where there were several.
        warnings: What was doubtful.
        failures: (position, error) of the inputs that failed; only with `on_error="return"`, and
            in what `embed_iter` gives.
        raw: The server's own answers, with `keep_raw=True`.
        start: Position of the first among all inputs; more than 0 in what `embed_iter` gives, and
            in slices.
    """

    vectors: NDArray[np.float32]
    model: str | None = None
    usage: Usage | None = None
    transport: str | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[tuple[int, VLLMModalitiesError], ...] = ()
    raw: tuple[bytes, ...] | None = None
    start: int = 0

    @property
    def dimensions(self) -> int:
        """Width of each vector."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.vectors)

    @overload
    def __getitem__(self, place: int) -> NDArray[np.float32]: ...
    @overload
    def __getitem__(self, place: slice) -> Embeddings: ...
    def __getitem__(self, place: int | slice) -> NDArray[np.float32] | Embeddings:
        """One vector, shape (dimensions,); a slice gives Embeddings of those inputs."""
        if not isinstance(place, slice):
            vector: NDArray[np.float32] = self.vectors[place]
            return vector
        places = range(len(self))[place]
        chosen = {old: new for new, old in enumerate(places)}
        failures = tuple((chosen[i], error) for i, error in self.failures if i in chosen)
        start = self.start + places.start
        return replace(self, vectors=self.vectors[place], failures=failures, start=start)

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        return iter(self.vectors)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.vectors, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Embeddings({len(self)} x {self.dimensions}, model={self.model!r}{failed})"

    def _repr_html_(self) -> str:
        first = self[:CELLS]
        closeness = first.similarity(first).tolist() if len(first) > 1 else []
        shown = heat_map(closeness, len(self), len(self)) if closeness else ""
        head = f"{self!r}{', cosine of each with each' * bool(closeness)}"
        return framed(head, shown, warnings=self.warnings)

    def truncate(self, dimensions: int) -> Embeddings:
        """The first `dimensions` numbers of each vector, of unit length again.

        Right for models trained for it (Matryoshka); others lose quality.

        Raises:
            ValueError: `dimensions` is not between 1 and the width.
        """
        if not 1 <= dimensions <= self.dimensions:
            raise ValueError(f"dimensions must be from 1 to {self.dimensions}, got {dimensions}")
        cut = compare.unit(self.vectors[:, :dimensions].astype(np.float32))
        return replace(self, vectors=cut.astype(self.vectors.dtype))

    def similarity(
        self, other: Embeddings | QuantizedEmbeddings | ArrayLike, metric: Metric = "cosine"
    ) -> NDArray[np.float32]:
        """How close each vector is to each of `other`.

        Args:
            other: Shape (m, dimensions) or (dimensions,).
            metric: `"cosine"`, from -1 to 1, or `"dot"`, the dot product.

        Returns:
            Shape (n, m); NaN where a vector is.

        Raises:
            ValueError: `other` is of another width, or there is no such metric.
        """
        return compare.similarity(self.vectors, numbers(other), metric)

    def nearest(
        self,
        queries: Embeddings | QuantizedEmbeddings | ArrayLike,
        k: int = 10,
        *,
        metric: Metric = "cosine",
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The `k` vectors that are closest to each query, closest first: every pair is compared.

        Args:
            queries: Shape (m, dimensions) or (dimensions,).
            k: How many; all n where that is fewer.
            metric: As for `similarity`.

        Returns:
            Their positions (int64) and their similarities (float32), each of shape (m, k).

        Raises:
            ValueError: As for `similarity`, or `k` is below 1.
        """
        return compare.nearest(self.vectors, numbers(queries), k, metric)

    def quantize(
        self,
        quantization: Quantization,
        *,
        calibration: Embeddings | QuantizedEmbeddings | ArrayLike | None = None,
    ) -> QuantizedEmbeddings:
        """The vectors in a bit, a byte or two bytes a number.

        `"binary"` and `"ubinary"` keep whether a number is at least 0, as vLLM's `/v2/embed` does.
        `"uint8"` is round((x - smallest) * 255 / (greatest - smallest)), kept to 0..255, with the
        smallest and greatest number of each dimension; `"int8"` is the same less 128.
        sentence-transformers has the same levels, but cuts where this rounds, so that its are
        lower by one about half the time.

        Args:
            quantization: What each number becomes.
            calibration: Vectors whose range in each dimension the levels cover; None is these.
                Give the documents' (or the `ranges` that they got) for queries.

        Raises:
            ValueError: A vector is not finite, there is no such quantization, it takes no
                calibration, or that is of another width, without a vector, or not finite.
        """
        known = None if calibration is None else numbers(calibration)
        short, ranges = quantized(self.vectors, quantization, known)
        return QuantizedEmbeddings(
            vectors=short,
            quantization=quantization,
            dimensions=self.dimensions,
            ranges=ranges,
            model=self.model,
            usage=self.usage,
            warnings=self.warnings,
        )

    def to_list(self) -> list[list[float]]:
        """The vectors as Python numbers."""
        vectors: list[list[float]] = self.vectors.tolist()
        return vectors
