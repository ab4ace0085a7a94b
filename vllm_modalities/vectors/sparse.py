"""`SparseEmbeddings`: a few weighted tokens a text, and how well they fit others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._results import Usage
from ..errors import VLLMModalitiesError
from .maxsim import Offsets, Scores


@dataclass(frozen=True, slots=True, eq=False)
class SparseEmbeddings:
    """The weight of each token that a text has, for n texts in their order.

    Attributes:
        indices: Token numbers of all texts back to back, ascending in each text. int32.
        weights: Their weights, above 0. float32.
        offsets: Where each text begins, and the end of the last. Shape (n + 1,), int64.
        model: The served model's name.
        usage: Tokens read.
        warnings: What was doubtful.
        failures: (position, error) of the texts that failed; only with `on_error="return"`.

    `scipy.sparse.csr_array((s.weights, s.indices, s.offsets))` is the same as a matrix.
    """

    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    offsets: Offsets
    model: str | None = None
    usage: Usage | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[tuple[int, VLLMModalitiesError], ...] = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, place: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """One text's token numbers and their weights."""
        place = range(len(self))[place]
        part = slice(self.offsets[place], self.offsets[place + 1])
        return self.indices[part], self.weights[part]

    def __iter__(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        weights = len(self.weights)
        return f"SparseEmbeddings({len(self)} x {weights} weights, model={self.model!r}{failed})"

    def similarity(self, other: SparseEmbeddings) -> Scores:
        """Lexical score of each with each of `other`: the sum, over the tokens that both have, of
        the product of their weights.

        Returns:
            Shape (n, m).
        """
        known = np.unique(self.indices)
        table = np.zeros((len(known) + 1, len(self)), np.float32)  # the last row is of strangers
        rows = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        table[np.searchsorted(known, self.indices), rows] = self.weights
        places = np.searchsorted(known, other.indices)
        shared = np.append(known, -1)[places] == other.indices
        places[~shared] = len(known)
        scores = np.zeros((len(other), len(self)), np.float32)
        filled = np.diff(other.offsets) > 0
        if filled.any():
            products = table[places] * other.weights[:, np.newaxis]
            scores[filled] = np.add.reduceat(products, other.offsets[:-1][filled], axis=0)
        return scores.T
