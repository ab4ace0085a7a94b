"""Families that no release serves, and what to serve in their place."""

from __future__ import annotations

from ..profiles._shorthand import called
from ._part import Row


def _unserved(name: str, example: str, task: str, instead: str, *others: str) -> Row:
    return Row(
        name=name,
        pattern=called(name, *others),
        example=example,
        task=task,
        instead=instead,
    )


UNSERVED: tuple[Row, ...] = (
    _unserved(
        "jina-embeddings-v4",
        "jinaai/jina-embeddings-v4",
        "embed_tokens",
        "jinaai/jina-embeddings-v4-vllm-retrieval",
    ),
    *(
        _unserved(
            f"jina-embeddings-v2-{size}-en",
            f"jinaai/jina-embeddings-v2-{size}-en",
            "embed",
            "jinaai/jina-embeddings-v3",
        )
        for size in ("small", "base")
    ),
    _unserved(
        "jasper_en_vision_language_v1",
        "NovaSearch/jasper_en_vision_language_v1",
        "embed",
        "NovaSearch/stella_en_1.5B_v5",
    ),
    _unserved(
        "colqwen2",
        "vidore/colqwen2-v1.0",
        "embed_tokens",
        "TomoroAI/tomoro-colqwen3-embed-4b",
        "colqwen2.5",
    ),
    _unserved(
        "mxbai-rerank-base-v1",
        "mixedbread-ai/mxbai-rerank-base-v1",
        "rerank",
        "mixedbread-ai/mxbai-rerank-base-v2",
        "mxbai-rerank-xsmall-v1",
        "mxbai-rerank-large-v1",
    ),
    _unserved(
        "bge-reranker-v2.5-gemma2-lightweight",
        "BAAI/bge-reranker-v2.5-gemma2-lightweight",
        "rerank",
        "BAAI/bge-reranker-v2-m3",
    ),
)
