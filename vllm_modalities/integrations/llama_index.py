"""LlamaIndex's embedding model and node postprocessor, over a client; needs `llama-index`.

Settings.embed_model = VLLMEmbedding(client=client, async_client=async_client)
engine = index.as_query_engine(node_postprocessors=[VLLMRerank(client=client, top_n=3)])
"""

from __future__ import annotations

from typing import Any

from ..client import AsyncClient, Client
from ..endpoints.rerank import RerankResult
from . import missing

try:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ModuleNotFoundError as error:
    raise missing("llama-index", error) from None

__all__ = ["VLLMEmbedding", "VLLMRerank"]

LARGEST = 2048  # texts that LlamaIndex hands over at once; the client makes its own batches


class VLLMEmbedding(BaseEmbedding):
    """Vectors of texts.

    Args:
        client: Whom to ask; the default is `Client()`, with the address of $VLLM_BASE_URL.
        async_client: Whom the methods of coroutines ask; the default is `AsyncClient()`.
        model: The served model's name; None is the one that is served.
        dimensions: Width of the vectors, for models that can shorten them.
        query_type, document_type: `input_type` of queries and of documents, as for
            `Client.embed`; None puts no prompt before them.
    """

    client: Client = Field(default_factory=Client, exclude=True)
    async_client: AsyncClient = Field(default_factory=AsyncClient, exclude=True)
    model: str | None = None
    dimensions: int | None = None
    query_type: str | None = None
    document_type: str | None = None

    def __init__(self, *, embed_batch_size: int = LARGEST, **fields: Any) -> None:
        super().__init__(embed_batch_size=embed_batch_size, **fields)

    @classmethod
    def class_name(cls) -> str:
        return "VLLMEmbedding"

    def _options(self, input_type: str | None) -> dict[str, Any]:
        return {"model": self.model, "dimensions": self.dimensions, "input_type": input_type}

    def _get_query_embedding(self, query: str) -> list[float]:
        return self.client.embed(query, **self._options(self.query_type)).to_list()[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return (await self.async_client.embed(query, **self._options(self.query_type))).to_list()[0]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self.client.embed(texts, **self._options(self.document_type)).to_list()

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return (await self._aget_text_embeddings([text]))[0]

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        found = await self.async_client.embed(texts, **self._options(self.document_type))
        return found.to_list()


class VLLMRerank(BaseNodePostprocessor):
    """The nodes that a reranker finds best, best first, with its scores.

    Args:
        client, async_client, model: As for `VLLMEmbedding`.
        top_n: How many to keep; None keeps all.
        instruction: What is relevant, for models that read it.
    """

    client: Client = Field(default_factory=Client, exclude=True)
    async_client: AsyncClient = Field(default_factory=AsyncClient, exclude=True)
    model: str | None = None
    top_n: int | None = None
    instruction: str | None = None

    @classmethod
    def class_name(cls) -> str:
        return "VLLMRerank"

    def _options(self) -> dict[str, Any]:
        return {"model": self.model, "top_n": self.top_n, "instruction": self.instruction}

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        found = self.client.rerank(_words(query_bundle), _texts(nodes), **self._options())
        return _ranked(nodes, found)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        query, texts = _words(query_bundle), _texts(nodes)
        return _ranked(nodes, await self.async_client.rerank(query, texts, **self._options()))


def _words(query: QueryBundle | None) -> str:
    if query is None:
        raise ValueError("VLLMRerank needs the query: pass query_bundle or query_str")
    return query.query_str


def _texts(nodes: list[NodeWithScore]) -> list[str]:
    return [node.node.get_content(metadata_mode=MetadataMode.EMBED) for node in nodes]


def _ranked(nodes: list[NodeWithScore], found: RerankResult) -> list[NodeWithScore]:
    return [NodeWithScore(node=nodes[one.index].node, score=one.score) for one in found]
