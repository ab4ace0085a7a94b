"""`SparseEmbeddings`: a few weighted tokens a text, and how well they fit others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._results import Usage
from ..errors import VLLMModalitiesError
from .maxsim import Offsets, Scores, starts

AT_ONCE = 2**22  # products that are held at once: 16 MB


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
        if len(self) > len(other):
            return other.similarity(self).T
        known, columns = np.unique(self.indices, return_inverse=True)
        places = np.searchsorted(known, other.indices)
        shared = np.append(known, -1)[places] == other.indices
        places, weights = places[shared], other.weights[shared, np.newaxis]
        begins = starts(shared)[other.offsets]  # of what is shared of each other text
        filled = np.diff(begins) > 0
        scores = np.zeros((len(self), len(other)), np.float32)
        if not len(places):
            return scores
        step = max(AT_ONCE // (len(places) + len(known)), 1)
        for first in range(0, len(self), step):
            offsets = self.offsets[first : first + step + 1]
            part, count = slice(offsets[0], offsets[-1]), len(offsets) - 1
            table = np.zeros((len(known), count), np.float32)
            table[columns[part], np.repeat(np.arange(count), np.diff(offsets))] = self.weights[part]
            summed = np.add.reduceat(table[places] * weights, begins[:-1][filled], axis=0)
            scores[first : first + step, filled] = summed.T
        return scores
