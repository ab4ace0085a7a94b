"""How close vectors are to each other, and which are closest."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Metric: TypeAlias = Literal["cosine", "dot"]
Matrix: TypeAlias = NDArray[np.float32]

AT_ONCE = 4_000_000  # scores that are held while the nearest are sought: 16 MB


def matrix_of(vectors: ArrayLike) -> Matrix:
    """One vector or many as rows of float32."""
    return np.atleast_2d(np.asarray(vectors, dtype=np.float32))


def unit(vectors: Matrix) -> Matrix:
    """Each row divided by its length; a row of zeros stays."""
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return vectors / lengths


def similarity(ours: ArrayLike, others: ArrayLike, metric: Metric) -> Matrix:
    """Each of our n vectors with each of m others. Shape (n, m).

    Raises:
        ValueError: They are not equally wide, or there is no such metric.
    """
    left, right = matrix_of(ours), matrix_of(others)
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"vectors of {left.shape[1]} and {right.shape[1]} numbers do not compare")
    match metric:
        case "cosine":
            return unit(left) @ unit(right).T
        case "dot":
            return left @ right.T
    raise ValueError(f"metric must be 'cosine' or 'dot', got {metric!r}")


def nearest(
    ours: ArrayLike, queries: ArrayLike, k: int, metric: Metric
) -> tuple[NDArray[np.int64], Matrix]:
    """Of our n vectors the k closest to each of m queries, closest first; every pair is compared.

    Returns:
        Their positions and their similarities, each of shape (m, min(k, n)).

    Raises:
        ValueError: As for `similarity`, or `k` is below 1.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    left, right = matrix_of(ours), matrix_of(queries)
    if metric == "cosine":
        left, right, metric = unit(left), unit(right), "dot"
    step = max(AT_ONCE // max(len(left), 1), 1)
    parts = [
        best(similarity(right[start : start + step], left, metric), k)
        for start in range(0, max(len(right), 1), step)
    ]
    places, scores = zip(*parts, strict=True)
    return np.concatenate(places), np.concatenate(scores)


def best(scores: Matrix, k: int) -> tuple[NDArray[np.int64], Matrix]:
    """The places of the k highest of each row, best first, and those; of all, where they are fewer.

    NaN is lowest, and of equals the first comes first.
    """
    falling, k = -scores, min(k, scores.shape[1])
    chosen = np.empty((len(scores), k), np.int64)
    if k:
        worst = np.partition(falling, k - 1, axis=1)[:, k - 1 : k]
        rows, places = np.nonzero(~(falling > worst))  # the equals of the worst too, and NaN
        order = np.lexsort((falling[rows, places], rows))
        begins = np.searchsorted(rows, np.arange(len(scores)))
        chosen = places[order[begins[:, np.newaxis] + np.arange(k)]]
    return chosen, np.take_along_axis(scores, chosen, axis=1)
