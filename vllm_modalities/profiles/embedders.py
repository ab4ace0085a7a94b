"""Embedding models: width, pooling, sizes and prompts of each family."""

from __future__ import annotations

from ._profile import EmbedProfile, Profile

ALL_MINILM = Profile(
    name="all-MiniLM-L6-v2",
    pattern=r"minilm-l6",
    embed=EmbedProfile(
        pooling="MEAN",
        normalized=True,
        embedding_size=384,
        matryoshka=(),
        context=256,
        prompts={"query": "", "document": ""},
        sources={
            "pooling": "server: 1_Pooling/config.json as served by vLLM 0.32.0",
            "normalized": "server: unit length seen on vLLM 0.32.0",
            "embedding_size": "server: 384 seen on vLLM 0.32.0",
            "matryoshka": "card: sentence-transformers/all-MiniLM-L6-v2",
            "context": "source: sentence_bert_config.json; max_model_len 256 seen on vLLM 0.32.0",
            "prompts": "card: sentence-transformers/all-MiniLM-L6-v2",
        },
    ),
)

EMBEDDERS: tuple[Profile, ...] = (ALL_MINILM,)
