"""LangChain's `Embeddings` and document compressor, over a client; needs the extra `langchain`.

retriever = ContextualCompressionRetriever(
    base_compressor=VLLMRerank(client=client, top_n=3),
    base_retriever=InMemoryVectorStore(VLLMEmbeddings(client=client)).as_retriever(),
)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..client import AsyncClient, Client
from ..endpoints.rerank import RerankResult
from . import missing

try:
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from pydantic import ConfigDict, Field
except ModuleNotFoundError as error:
    raise missing("langchain", error) from None

__all__ = ["VLLMEmbeddings", "VLLMRerank"]


class VLLMEmbeddings(Embeddings):
    """Vectors of texts.

    Args:
        client: Whom to ask; None is `Client()`, with the address of $VLLM_BASE_URL.
        async_client: Whom the methods of coroutines ask; None has `client` asked in a thread.
        model: The served model's name; None is the one that is served.
        dimensions: Width of the vectors, for models that can shorten them.
        query_type, document_type: `input_type` of queries and of documents, as for
            `Client.embed`; None puts no prompt before them.
    """

    def __init__(
        self,
        *,
        client: Client | None = None,
        async_client: AsyncClient | None = None,
        model: str | None = None,
        dimensions: int | None = None,
        query_type: str | None = None,
        document_type: str | None = None,
    ) -> None:
        self.client = client or Client()
        self.async_client = async_client
        self.model, self.dimensions = model, dimensions
        self.query_type, self.document_type = query_type, document_type

    def _options(self, input_type: str | None) -> dict[str, Any]:
        return {"model": self.model, "dimensions": self.dimensions, "input_type": input_type}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.client.embed(texts, **self._options(self.document_type)).to_list()

    def embed_query(self, text: str) -> list[float]:
        return self.client.embed(text, **self._options(self.query_type)).to_list()[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.async_client is None:
            return await super().aembed_documents(texts)
        found = await self.async_client.embed(texts, **self._options(self.document_type))
        return found.to_list()

    async def aembed_query(self, text: str) -> list[float]:
        if self.async_client is None:
            return await super().aembed_query(text)
        found = await self.async_client.embed(text, **self._options(self.query_type))
        return found.to_list()[0]


class VLLMRerank(BaseDocumentCompressor):
    """The documents that a reranker finds best, best first, with `relevance_score` in `metadata`.

    Args:
        client, async_client, model: As for `VLLMEmbeddings`.
        top_n: How many to keep; None keeps all.
        instruction: What is relevant, for models that read it.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    client: Client = Field(default_factory=Client)
    async_client: AsyncClient | None = None
    model: str | None = None
    top_n: int | None = None
    instruction: str | None = None

    def _options(self) -> dict[str, Any]:
        return {"model": self.model, "top_n": self.top_n, "instruction": self.instruction}

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        if not documents:
            return []
        found = self.client.rerank(query, _texts(documents), **self._options())
        return _ranked(documents, found)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        if not documents or self.async_client is None:
            return await super().acompress_documents(documents, query, callbacks)
        found = await self.async_client.rerank(query, _texts(documents), **self._options())
        return _ranked(documents, found)


def _texts(documents: Sequence[Document]) -> list[str]:
    return [document.page_content for document in documents]


def _ranked(documents: Sequence[Document], found: RerankResult) -> list[Document]:
    """Copies, since the caller's may be in a store."""
    return [
        documents[one.index].model_copy(
            update={
                "metadata": {**documents[one.index].metadata, "relevance_score": one.score},
            }
        )
        for one in found
    ]
