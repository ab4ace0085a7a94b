"""A vector a token on `POST /v1/embeddings`, where vLLM has it from 0.33.0 on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ..errors import Finding
from ..server import ServerInfo
from ._pooling import ChatFields
from ._ranking import score_type

ChunkSize = Annotated[int, Field(gt=0, lt=2**63, strict=True)]


class TokenEmbeddingRequest(ChatFields):
    """Body of `POST /v1/embeddings` on a server that gives a vector a token.

    `/pooling` gives the same vectors, as raw bytes too; late chunking is here alone: the mean of
    each `chunk_size` tokens in a row, of which each has read the whole text.

    Source: vLLM 0.33.0 vllm/entrypoints/pooling/token_embed/protocol.py.
    """

    TASK: ClassVar[str] = "embed_tokens"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("pooling",)
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/embeddings",)
    task: ClassVar[str] = "token_embed"

    encoding_format: str | None = None
    dimensions: int | None = None
    late_chunking_params: (
        Annotated[Mapping[Literal["chunk_size"], ChunkSize], Field(min_length=1)] | None
    ) = None

    @classmethod
    def suits(cls, server: ServerInfo) -> bool:
        """An embedder has the same path, for a vector a text."""
        return super().suits(server) and score_type(server) == "late-interaction"

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """Whether the path is this one, as far as the server's routes tell."""
        yield from super().limits(server)
        if score_type(server) == "bi-encoder":
            yield Finding(
                code="token-embeddings-embedder",
                severity="error",
                field="input",
                message="this server gives a vector a text on /v1/embeddings. Serve its model with"
                " --pooler-config.task token_embed, on vLLM 0.33.0 or later",
                source="vLLM 0.33.0 vllm/entrypoints/pooling/factories.py",
            )

    @property
    def has_chunks_of_parts(self) -> bool:
        """Whether late chunking, which is of whole texts, is asked for with anything else."""
        ids, padded = self.lowest_id is not None, self.padding == "max_length"
        other = ids or padded or self.truncate_prompt_tokens is not None
        return other and self.late_chunking_params is not None
