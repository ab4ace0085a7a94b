"""Vectors of texts: near each other where the texts are, and the same in every process."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

FEATURES = 2048  # words and parts of words fall into so many kinds
SEED = 20261129
COMMON, PART = 0.3, 0.35  # weights of a short word, and of three letters, beside a word's 1

Vector = NDArray[np.float32]


@cache
def _signs(width: int) -> NDArray[np.int8]:
    """One row of -1 and 1 a kind; the raw output of Philox is the same on every platform."""
    raw = np.random.Philox(SEED).random_raw(FEATURES * -(-width // 64)).astype("<u8")
    bits = np.unpackbits(raw.view(np.uint8).reshape(FEATURES, -1), axis=1)[:, :width]
    return bits.astype(np.int8) * 2 - 1


def _kind(part: str) -> int:
    return crc32(part.encode("utf-8", "surrogatepass")) % FEATURES


@lru_cache(maxsize=8192)
def word_vector(word: str, width: int) -> Vector:
    """A word as the sum of what it is and of each three letters in a row of it."""
    signs = _signs(width)
    kinds = [_kind(word[at : at + 3]) for at in range(len(word) - 2)]
    whole = signs[_kind(word)] * np.float32(1 if len(word) > 3 else COMMON)
    vector: Vector = whole + signs[kinds].sum(axis=0) * np.float32(PART)
    return vector / np.float32(width**0.5)


def embedded(text: str, width: int) -> Vector:
    """A text as a vector that is not normalised: the sum of its words."""
    words = re.findall(r"\w+", text.lower()) or [text]
    total = np.full(width, 1e-3 / width**0.5, np.float32)  # so that nothing sums up to nothing
    for word in words:
        total += word_vector(word, width)
    return total


def unit(vectors: Vector) -> Vector:
    """The same directions, with length 1."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vector = vectors / np.maximum(lengths, np.float32(1e-12))
    return scaled


def closeness(one: str, other: str, width: int = 512) -> float:
    """The cosine between two texts."""
    return float(unit(embedded(one, width)) @ unit(embedded(other, width)))
