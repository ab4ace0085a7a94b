"""Whatever a pooling model gives, token by token too: `POST /pooling`."""

from __future__ import annotations

from typing import ClassVar, Literal

from ..server import ServerInfo
from ._pooling import ChatFields
from ._ranking import can_score, score_type
from ._token_embeddings import TokenEmbeddingRequest


class PoolingRequest(ChatFields):
    """Body of `POST /pooling`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/pooling/protocol.py.
    """

    TASK: ClassVar[str] = "pooling"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("embed_tokens", "embed", "classify")
    PATHS: ClassVar[tuple[str, ...]] = ("/pooling",)

    task: str | None = None
    encoding_format: Literal["float", "base64", "bytes", "bytes_only"] | None = None
    embed_dtype: Literal["float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"] | None = None
    endianness: Literal["native", "big", "little"] | None = None


class TokenEmbedRequest(PoolingRequest):
    """Body of `POST /pooling` for a vector a token.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/pooling/protocol.py; from 0.21.0 on a server does
    the one task that it was started for.
    """

    TASK: ClassVar[str] = "embed_tokens"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("pooling",)

    CURE: ClassVar[str] = (
        " A model that embeds does it when it is served with --pooler-config.task token_embed."
    )

    task: str | None = "token_embed"

    @classmethod
    def suits(cls, server: ServerInfo) -> bool:
        # An embedder may have been started for it, and has the same routes then.
        vectors = can_score(server) and score_type(server) != "cross-encoder"
        return vectors and (super().suits(server) or TokenEmbeddingRequest.suits(server))

    @classmethod
    def preference(cls, server: ServerInfo) -> int:
        """What is made for it goes before what may have been started for it."""
        return 0 if score_type(server) == "late-interaction" else 1


class TokenClassifyRequest(PoolingRequest):
    """Body of `POST /pooling` for probabilities, or weights, of each token.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/pooling/protocol.py.
    """

    TASK: ClassVar[str] = "token_classify"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("pooling",)

    CURE: ClassVar[str] = (
        " BGE-M3 weighs tokens, and a classifier tells their classes, when it is served with"
        " --pooler-config.task token_classify."
    )

    task: str | None = "token_classify"

    @classmethod
    def suits(cls, server: ServerInfo) -> bool:
        # BGE-M3's lists /v1/embeddings, which answers 501 then (seen on vLLM 0.32.0).
        others = can_score(server) or "/classify" in server.routes
        return not (server.routes and others) and super().suits(server)
