"""MaxSim, the score of late interaction: small matrix products over ragged arrays, side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

from .compare import best

if TYPE_CHECKING:
    from .tokens import TokenEmbeddings

Offsets: TypeAlias = NDArray[np.int64]
Scores: TypeAlias = NDArray[np.float32]
Tokens: TypeAlias = "TokenEmbeddings | NDArray[Any] | Sequence[NDArray[Any]]"
"""Items of token vectors: TokenEmbeddings, one (tokens, dim) array, a (n, tokens, dim) array, or a
list of (tokens, dim) arrays."""

# Numbers in a block of documents, tokens in a group of queries, and in a PIECE of such a group,
# whose product with a block stays in a core's cache, so that the maximum costs little beside it.
BLOCK, GROUP, PIECE = 2**20, 4096, 32
# Multiplications in one product: so few are done by no more threads than ask for them (OpenBLAS
# 0.3.31 interface/gemm.c), so the threads here have the cores to themselves.
SMALL = 2**18
# Blocks that are worth a thread.
SHARE = 2


class Ragged(Protocol):
    """Items of token vectors back to back."""

    @property
    def offsets(self) -> Offsets:
        """Where each item begins, and the end of the last. Shape (n + 1,)."""
        ...

    @property
    def dimensions(self) -> int:
        """Width of each vector."""
        ...

    def rows(
        self, first: int, last: int, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """The vectors of items `first` to before `last`, in `out` if they are not there already.

        Shape (tokens, dim).
        """
        ...


@overload
def maxsim(queries: Tokens, documents: Tokens) -> Scores: ...
@overload
def maxsim(
    queries: Tokens, documents: Tokens, *, top_k: int
) -> tuple[NDArray[np.int64], Scores]: ...
def maxsim(
    queries: Tokens, documents: Tokens, *, top_k: int | None = None
) -> Scores | tuple[NDArray[np.int64], Scores]:
    """How well each query fits each document: the sum, over the query's tokens, of the best match.

    The sum is what vLLM's `/score` and ColBERT give; FlagEmbedding's bge-m3 divides it by the
    number of the query's tokens.

    Args:
        queries: n items of token vectors; a single (tokens, dim) array is one.
        documents: m items, likewise. Packed TokenEmbeddings are read where they are; float16 and
            int8 are read block by block, never as a whole in float32.
        top_k: Only the best k documents of each query.

    Returns:
        Scores, shape (n, m), float32. With `top_k`, the documents' places, best first, and their
        scores, each of shape (n, min(k, m)). Where an item has no tokens the score is NaN.

    Raises:
        ValueError: Vectors differ in width, or `top_k` is below 1.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/scoring/utils.py, `compute_maxsim_score`.
    """
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {top_k}")
    asked, answers = ragged(queries), ragged(documents)
    scores = np.full((len(asked.offsets) - 1, len(answers.offsets) - 1), np.nan, np.float32)
    if asked.offsets[-1] and answers.offsets[-1]:  # without any token there is no width either
        if asked.dimensions != answers.dimensions:
            raise ValueError(
                f"queries are {asked.dimensions} numbers wide, documents {answers.dimensions}"
            )
        _fill(scores, asked, answers)
    return scores if top_k is None else best(scores, top_k)


def ragged(given: Tokens) -> Ragged:
    """What was given, as items back to back.

    Raises:
        ValueError: An item is no (tokens, dim) array, or as wide as no other.
    """
    if hasattr(given, "offsets"):
        return cast("Ragged", given)
    arrays = cast("Sequence[NDArray[Any]]", given)
    if isinstance(given, np.ndarray) and given.ndim == 2:
        arrays = [given]
    return Listed.of(arrays)


@dataclass(frozen=True, slots=True)
class Listed:
    """Arrays that stay where they are until their block is read."""

    arrays: Sequence[NDArray[Any]]
    offsets: Offsets
    dimensions: int

    @classmethod
    def of(cls, arrays: Sequence[NDArray[Any]]) -> Listed:
        shapes = {np.shape(array)[1:] for array in arrays}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            raise ValueError(
                f"token vectors must be arrays of shape (tokens, dim), of one dim; got"
                f" {sorted({np.shape(array) for array in arrays})[:3]}"
            )
        lengths = np.fromiter(map(len, arrays), np.int64, len(arrays))
        return cls(arrays, starts(lengths), shapes.pop()[0] if shapes else 0)

    def rows(
        self, first: int, last: int, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        if out is None:
            out = np.empty((self.offsets[last] - self.offsets[first], self.dimensions), np.float32)
        return np.concatenate(self.arrays[first:last], out=out, casting="unsafe")


def starts(lengths: NDArray[np.int64]) -> Offsets:
    """The offsets of items of these lengths. Shape (n + 1,)."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


@dataclass(frozen=True, slots=True)
class _Group:
    """Queries whose scores are summed together.

    Attributes:
        place: Which they are.
        pieces: The vectors of all their tokens, PIECE by PIECE. Each of shape (dim, tokens).
        begins: Where those begin that have tokens.
        filled: Which have.
    """

    place: slice
    pieces: Sequence[NDArray[np.float32]]
    begins: Offsets
    filled: NDArray[np.bool_]

    @classmethod
    def of(cls, queries: Ragged, first: int, last: int) -> _Group:
        rows = queries.rows(first, last)
        parts = [rows[at : at + PIECE] for at in range(0, len(rows), PIECE)]
        pieces = [np.ascontiguousarray(part.T) for part in parts]
        return cls(slice(first, last), pieces, *_segments(queries.offsets, first, last))


def _fill(scores: Scores, queries: Ragged, documents: Ragged) -> None:
    """Put in all scores, block by block: each thread takes the next that none has taken."""
    groups = [_Group.of(queries, *span) for span in _blocks(queries.offsets, GROUP)]
    blocks = list(_blocks(documents.offsets, BLOCK // max(documents.dimensions, 1)))
    longest = max(int(documents.offsets[last] - documents.offsets[first]) for first, last in blocks)
    waiting = iter(blocks)

    def work(_: int) -> None:
        # New memory for each block would take longer than the maximum.
        room = np.empty((longest, documents.dimensions), np.float32)
        products = np.empty(longest * PIECE, np.float32)
        for first, last in waiting:
            begins, filled = _segments(documents.offsets, first, last)
            count = int(documents.offsets[last] - documents.offsets[first])
            block = documents.rows(first, last, room[:count])
            for group in groups:
                if count and group.pieces:
                    best = [
                        np.maximum.reduceat(_product(block, piece, products), begins, axis=0)
                        for piece in group.pieces
                    ]
                    summed = np.add.reduceat(np.hstack(best), group.begins, axis=1)
                    scores[group.place, first:last][np.ix_(group.filled, filled)] = summed.T

    threads = min(_cores(), len(blocks) // SHARE)
    if threads < 2:
        work(0)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))


def _cores() -> int:
    """How many threads numpy's own products would take."""
    told = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(told) if told.isdecimal() else here or 1


def _product(
    block: NDArray[np.float32], queries: NDArray[np.float32], room: NDArray[np.float32]
) -> NDArray[np.float32]:
    """`block @ queries`, laid into `room`, by products of a few rows each."""
    dim, width = queries.shape
    product = room[: len(block) * width].reshape(-1, width)
    step = max(SMALL // max(queries.size, 1), 1)
    parts = len(block) // step
    whole = parts * step
    many, into = block[:whole].reshape(parts, step, dim), product[:whole]
    np.matmul(many, queries, out=into.reshape(parts, step, width))
    np.matmul(block[whole:], queries, out=product[whole:])
    return product


def _blocks(offsets: Offsets, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of items of at most `size` tokens together, or of one item."""
    first, count = 0, len(offsets) - 1
    while first < count:
        last = int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _segments(offsets: Offsets, first: int, last: int) -> tuple[Offsets, NDArray[np.bool_]]:
    """Where in their block the items begin that have tokens, and which those are."""
    begins = offsets[first:last] - offsets[first]
    filled: NDArray[np.bool_] = np.diff(offsets[first : last + 1]) > 0
    return begins[filled], filled
