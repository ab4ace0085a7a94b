"""Every live call is made by both clients, which must agree."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from vllm_modalities import (
    AsyncClient,
    Classification,
    Client,
    Document,
    Embeddings,
    RerankResult,
    Scores,
    SparseEmbeddings,
    TokenEmbeddings,
    Transcript,
)

KEY = "rig-key"


def ask(url: str | Sequence[str], method: str, *arguments: Any, **options: Any) -> Any:
    """The result of `client.method(...)`, after both clients have given the same one."""
    with Client(url, api_key=KEY) as client:
        blocking = getattr(client, method)(*arguments, **options)

    async def awaited() -> Any:
        async with AsyncClient(url, api_key=KEY) as client:
            return await getattr(client, method)(*arguments, **options)

    assert same(blocking, asyncio.run(awaited()))
    return blocking


def same(one: Any, other: Any) -> bool:
    match one, other:
        case (Embeddings(), Embeddings()):
            # Texts of one batch share a matrix product, so the last digits may differ.
            return one.model == other.model and np.allclose(one, other, atol=1e-5)
        case (RerankResult(), RerankResult()):
            ranks = [[found.index for found in result] for result in (one, other)]
            scores = [[found.score for found in result] for result in (one, other)]
            return ranks[0] == ranks[1] and np.allclose(*scores, atol=1e-5)
        case (Scores(), Scores()):
            return one.model == other.model and np.allclose(one, other, atol=1e-5)
        case (Classification(), Classification()):
            return one.labels == other.labels and np.allclose(one.probs, other.probs, atol=1e-5)
        case (TokenEmbeddings(), TokenEmbeddings()):
            # The weights are float16, and so a token's vector depends a little on its neighbours.
            alike = np.allclose(one.vectors, other.vectors, atol=2e-3)
            return one.offsets.tolist() == other.offsets.tolist() and alike
        case (SparseEmbeddings(), SparseEmbeddings()):
            near = one.indices.tolist() == other.indices.tolist()
            return near and np.allclose(one.weights, other.weights, atol=2e-3)
        case ((Transcript() | Document()), (Transcript() | Document())):
            return one.to_dict() == other.to_dict()
        case (np.ndarray(), np.ndarray()):
            return np.array_equal(one, other)
        case ((list() | tuple()), (list() | tuple())):
            return len(one) == len(other) and all(map(same, one, other))
        case _:
            return bool(one == other)
