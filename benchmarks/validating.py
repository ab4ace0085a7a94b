"""What validation costs beside building a request and writing it as JSON.

Each figure is the median of many rounds in one process, taken in turn, so that the ratio holds when
the machine's speed drifts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import pydantic_core

from vllm_modalities import (
    EmbeddingRequest,
    ModelInfo,
    RerankRequest,
    ServerInfo,
    ServerVersion,
)
from vllm_modalities.gates import GATES, examine
from vllm_modalities.profiles import PROFILES, profile_of

ROUNDS, CALLS = 60, 50
TEXTS = tuple(
    f"Text number {number}, of a length that is common in retrieval. " * 4 for number in range(32)
)
MODEL = ModelInfo(
    "Qwen3-Embedding-0.6B",
    max_model_len=32_768,
    embedding_size=1024,
    matryoshka=True,
    profile=profile_of(PROFILES, "Qwen3-Embedding-0.6B"),
)
SERVER = ServerInfo("http://localhost:8000", ServerVersion("0.32.0"), models=(MODEL,))


def embedding_request() -> EmbeddingRequest:
    return EmbeddingRequest(model=MODEL.id, input=TEXTS, dimensions=256, encoding_format="base64")


def rerank_request() -> RerankRequest:
    return RerankRequest(
        model=MODEL.id, query="a query", documents=TEXTS, top_n=3, max_tokens_per_doc=512
    )


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - began) / CALLS


def measure(build: Callable[[], EmbeddingRequest | RerankRequest]) -> tuple[float, float]:
    request = build()
    building, checking = [], []
    for _ in range(ROUNDS):
        building.append(seconds(lambda: pydantic_core.to_json(build().fields_sent())))
        checking.append(seconds(lambda: examine(SERVER, request)))
    return statistics.median(building), statistics.median(checking)


def table() -> Iterator[str]:
    """Markdown: what both kinds of request take."""
    yield (
        f"Holding a request against the table of {len(GATES)} gates, beside building it and"
        f" writing it as JSON (32 texts of 236 characters, medians of {ROUNDS} rounds of {CALLS}"
        " calls)."
    )
    yield from ("", "| | build and write | validate | ratio |", "|---|---|---|---|")
    for build in (embedding_request, rerank_request):
        building, checking = measure(build)
        times = f"{building * 1e6:.1f} µs | {checking * 1e6:.1f} µs | {checking / building:.2f}"
        yield f"| {build.__name__.replace('_', ' ')} | {times} |"


if __name__ == "__main__":
    print("\n".join(table()))
