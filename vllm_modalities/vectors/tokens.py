"""`TokenEmbeddings`: many vectors an item, one array for all, and what one does with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import NDArray

from .._results import Usage
from ..errors import VLLMModalitiesError
from .compare import unit
from .decode import not_finite
from .embeddings import Embeddings
from .maxsim import Listed, Offsets, Scores, Tokens, maxsim, starts

Storage = Literal["float16", "int8"]


@dataclass(frozen=True, slots=True, eq=False)
class TokenEmbeddings(Sequence[NDArray[np.float32]]):
    """A vector a token, for each of n items in their order: n arrays of shape (tokens_i, dim).

    Attributes:
        vectors: All of them back to back. Shape (tokens, dim); float32, float16 or int8.
        offsets: Where each item begins, and the end of the last. Shape (n + 1,), int64. An item
            that failed has no tokens.
        scales: What a token's int8 numbers are to be multiplied by. Shape (tokens,), float32;
            None for floats.
        model: The served model's name.
        usage: Tokens read; None where the wire format carries no count.
        transport: The wire format they came in.
        warnings: What was doubtful.
        failures: (position, error) of the items that failed; only with `on_error="return"`.
        raw: The server's own answers, with `keep_raw=True`.

    Raises:
        ValueError: The offsets are not those of these vectors, or `scales` is missing or too many.
    """

    vectors: NDArray[Any]
    offsets: Offsets
    scales: NDArray[np.float32] | None = None
    model: str | None = None
    usage: Usage | None = None
    transport: str | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[tuple[int, VLLMModalitiesError], ...] = ()
    raw: tuple[bytes, ...] | None = None

    def __post_init__(self) -> None:
        count, ends = len(self.vectors), (int(self.offsets[0]), int(self.offsets[-1]))
        if ends != (0, count):
            raise ValueError(
                f"offsets must go from 0 to {count}, the number of vectors, not {ends}"
            )
        if len([] if self.scales is None else self.scales) != count * (self.vectors.dtype == "i1"):
            raise ValueError("int8 vectors have a scale each in `scales`, and floats have none")

    @classmethod
    def from_arrays(cls, arrays: Sequence[NDArray[Any]]) -> TokenEmbeddings:
        """One (tokens_i, dim) array an item, packed; floats stay float16 or become float32.

        Raises:
            ValueError: An item is no such array, or as wide as no other.
        """
        if not len(arrays):
            return cls(np.empty((0, 0), np.float32), np.zeros(1, np.int64))
        offsets = Listed.of(arrays).offsets
        vectors = np.concatenate([np.asarray(array) for array in arrays])
        kept = vectors.dtype == np.float16
        return cls(vectors if kept else vectors.astype(np.float32), offsets)

    @property
    def dimensions(self) -> int:
        """Width of each vector."""
        return int(self.vectors.shape[1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each item. Shape (n,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, place: int) -> NDArray[np.float32]: ...
    @overload
    def __getitem__(self, place: slice) -> TokenEmbeddings: ...
    def __getitem__(self, place: int | slice) -> NDArray[np.float32] | TokenEmbeddings:
        """One item's vectors, shape (tokens, dim), float32; a slice gives those items."""
        if not isinstance(place, slice):
            first = range(len(self))[place]
            return self.rows(first, first + 1)
        places = range(len(self))[place]
        chosen = {old: new for new, old in enumerate(places)}
        begins, lengths = self.offsets[list(places)], self.lengths[list(places)]
        offsets = starts(lengths)
        kept = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], lengths)
        return replace(
            self,
            vectors=self.vectors[kept],
            offsets=offsets,
            scales=None if self.scales is None else self.scales[kept],
            failures=tuple((chosen[i], error) for i, error in self.failures if i in chosen),
        )

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return (
            f"TokenEmbeddings({len(self)} items, {len(self.vectors)} x {self.dimensions}"
            f" {self.vectors.dtype}, model={self.model!r}{failed})"
        )

    def rows(
        self, first: int, last: int, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """The vectors of items `first` to before `last`. Shape (tokens, dim), float32.

        Args:
            first, last: Positions of items.
            out: Where they are put, if they are not float32 already.
        """
        part = slice(self.offsets[first], self.offsets[last])
        vectors = self.vectors[part]
        if vectors.dtype == np.float32:
            return vectors
        out = np.empty(vectors.shape, np.float32) if out is None else out
        np.copyto(out, vectors)
        if self.scales is not None:
            out *= self.scales[part, np.newaxis]
        return out

    @overload
    def maxsim(self, documents: Tokens) -> Scores: ...
    @overload
    def maxsim(self, documents: Tokens, *, top_k: int) -> tuple[NDArray[np.int64], Scores]: ...
    def maxsim(
        self, documents: Tokens, *, top_k: int | None = None
    ) -> Scores | tuple[NDArray[np.int64], Scores]:
        """How well each of these, as queries, fits each of `documents`; see `maxsim`."""
        return maxsim(self, documents) if top_k is None else maxsim(self, documents, top_k=top_k)

    def quantize(self, storage: Storage) -> TokenEmbeddings:
        """The same vectors in half (`"float16"`) or a quarter (`"int8"`) of float32's memory.

        int8 has one scale a token, which lies in `.scales`: its greatest number becomes 127, so no
        number is off by more than 1/254 of that.

        Raises:
            ValueError: `storage` is neither, or a vector is not finite.
        """
        if storage not in get_args(Storage):
            raise ValueError(f'storage must be "float16" or "int8", got {storage!r}')
        vectors = self.rows(0, len(self))
        if bad := not_finite(vectors):
            items = np.unique(np.searchsorted(self.offsets, bad, side="right") - 1).tolist()
            raise ValueError(f"items {items[:8]} are not finite: leave out what failed")
        if storage == "float16":
            return replace(self, vectors=vectors.astype(np.float16), scales=None)
        scales = np.abs(vectors).max(axis=1, initial=0).astype(np.float32) / 127
        scales[scales == 0] = 1
        numbers = np.rint(vectors / scales[:, np.newaxis]).astype(np.int8)
        return replace(self, vectors=numbers, scales=scales)

    def mean(self, *, skip: tuple[int, int] = (0, 0)) -> Embeddings:
        """One vector an item: the mean of its tokens' vectors, of unit length.

        That is the card's way to one vector for models that have no other, such as
        jina-embeddings-v4-vllm, from vectors that are not of unit length (`normalize=False`).

        Args:
            skip: How many tokens are left out at the beginning and at the end of each item.

        An item without tokens has a row of NaN.

        Raises:
            ValueError: `skip` is below 0.
        """
        first, last = skip
        if min(skip) < 0:
            raise ValueError(f"skip must be two numbers from 0 on, got {skip}")
        begins, lengths = self.offsets[:-1] + first, self.lengths - first - last
        filled = lengths > 0
        means = np.full((len(self), self.dimensions), np.nan, np.float32)
        if filled.any():
            kept = np.repeat(begins[filled], lengths[filled])
            within = starts(lengths[filled])
            kept += np.arange(len(kept)) - np.repeat(within[:-1], lengths[filled])
            vectors = self.rows(0, len(self))[kept]
            means[filled] = np.add.reduceat(vectors, within[:-1], axis=0)
        return Embeddings(
            unit(means),
            model=self.model,
            usage=self.usage,
            transport=self.transport,
            warnings=self.warnings,
            failures=self.failures,
        )
