"""`Embeddings`: many vectors as one array, and what one does with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._results import Usage
from ..errors import VLLMModalitiesError


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """One vector a text, in the texts' order.

    Attributes:
        vectors: Shape (n, dimensions), float32; a row of NaN where a text failed.
        model: The served model's name.
        usage: Tokens read; None where the wire format carries no count.
        transport: The wire format they came in.
        warnings: What was doubtful.
        failures: (position, error) of the texts that failed; only with `on_error="return"`.
        raw: The server's own answers, with `keep_raw=True`.
    """

    vectors: NDArray[np.float32]
    model: str | None = None
    usage: Usage | None = None
    transport: str | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[tuple[int, VLLMModalitiesError], ...] = ()
    raw: tuple[bytes, ...] | None = None

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
        """One vector, shape (dimensions,); a slice gives Embeddings of those texts."""
        if not isinstance(place, slice):
            vector: NDArray[np.float32] = self.vectors[place]
            return vector
        chosen = {old: new for new, old in enumerate(range(len(self))[place])}
        failures = tuple((chosen[i], error) for i, error in self.failures if i in chosen)
        return replace(self, vectors=self.vectors[place], failures=failures)

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        return iter(self.vectors)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.vectors, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Embeddings({len(self)} x {self.dimensions}, model={self.model!r}{failed})"

    def truncate(self, dimensions: int) -> Embeddings:
        """The first `dimensions` numbers of each vector, of unit length again.

        Right for models trained for it (Matryoshka); others lose quality.

        Raises:
            ValueError: `dimensions` is not between 1 and the width.
        """
        if not 1 <= dimensions <= self.dimensions:
            raise ValueError(f"dimensions must be from 1 to {self.dimensions}, got {dimensions}")
        return replace(self, vectors=unit(self.vectors[:, :dimensions]))

    def similarity(self, other: Embeddings | ArrayLike) -> NDArray[np.float32]:
        """Cosine similarity of each vector with each of `other`.

        Args:
            other: Shape (m, dimensions) or (dimensions,).

        Returns:
            Shape (n, m).
        """
        others = np.atleast_2d(np.asarray(other, dtype=np.float32))
        return unit(self.vectors) @ unit(others).T

    def to_list(self) -> list[list[float]]:
        """The vectors as Python numbers."""
        vectors: list[list[float]] = self.vectors.tolist()
        return vectors


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row divided by its length; a row of zeros stays."""
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return vectors / lengths
