"""How close vectors are to each other, and which are closest."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

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
        _closest(similarity(right[start : start + step], left, metric), min(k, len(left)))
        for start in range(0, max(len(right), 1), step)
    ]
    places, scores = zip(*parts, strict=True)
    return np.concatenate(places), np.concatenate(scores)


def _closest(scores: Matrix, k: int) -> tuple[NDArray[np.int64], Matrix]:
    """The k best of each row, best first, and the first of equals first."""
    if 0 < k < scores.shape[1]:
        chosen: NDArray[Any] = np.sort(np.argpartition(-scores, k - 1, axis=1)[:, :k], axis=1)
    else:
        chosen = np.broadcast_to(np.arange(k), (len(scores), k))
    order = np.argsort(-np.take_along_axis(scores, chosen, axis=1), axis=1, kind="stable")
    places = np.take_along_axis(chosen, order, axis=1).astype(np.int64)
    return places, np.take_along_axis(scores, places, axis=1)
