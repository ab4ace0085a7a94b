"""LangChain's `Embeddings`, compressor and loaders, over a client; needs the extra `langchain`.

store = InMemoryVectorStore(VLLMEmbeddings(client=client))
store.add_documents(VLLMOCRLoader(folder.glob("*.pdf"), client=client).load())
retriever = ContextualCompressionRetriever(
    base_compressor=VLLMRerank(client=client, top_n=3), base_retriever=store.as_retriever()
)
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias, Unpack

from ..client import AsyncClient, Client
from ..endpoints.rerank import RerankResult
from . import missing
from ._files import (
    File,
    OCROptions,
    PageReading,
    Part,
    Per,
    Reading,
    SpeechOptions,
    SpeechReading,
)

try:
    from langchain_core.callbacks import Callbacks
    from langchain_core.document_loaders import BaseLoader, Blob
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from pydantic import ConfigDict, Field
except ModuleNotFoundError as error:
    raise missing("langchain", error) from None

__all__ = ["VLLMAudioLoader", "VLLMEmbeddings", "VLLMOCRLoader", "VLLMRerank"]

Source: TypeAlias = str | os.PathLike[str] | Blob


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


class _Loader(BaseLoader):
    def __init__(
        self,
        sources: Source | Iterable[Source],
        reading: Reading,
        client: Client | None,
        async_client: AsyncClient | None,
    ) -> None:
        several = [sources] if isinstance(sources, str | os.PathLike | Blob) else sources
        self._files, self._reading = [_file(one) for one in several], reading
        self.client, self.async_client = client or Client(), async_client

    def lazy_load(self) -> Iterator[Document]:
        return map(_document, self._reading.parts(self.client, self._files))

    async def alazy_load(self) -> AsyncIterator[Document]:
        if self.async_client is None:
            async for document in super().alazy_load():
                yield document
            return
        async with aclosing(self._reading.parts_async(self.async_client, self._files)) as parts:
            async for part in parts:
                yield _document(part)


class VLLMOCRLoader(_Loader):
    """The pages of images and PDFs, a document each: Markdown, with `source` and `page`.

    `lazy_load` gives them as they are read, in memory that does not grow with them. In `metadata`,
    `warnings` says what is doubtful about the page, a line each.

    Args:
        sources: A path or a `Blob`, or several.
        client, async_client: As for `VLLMEmbeddings`.
        password: Of a PDF that is encrypted.
        options: As for `Client.ocr_iter`. The first page that fails is raised, unless
            `on_error="return"` makes it an empty document whose warnings say why.
    """

    def __init__(
        self,
        sources: Source | Iterable[Source],
        *,
        client: Client | None = None,
        async_client: AsyncClient | None = None,
        password: str | None = None,
        **options: Unpack[OCROptions],
    ) -> None:
        reading = PageReading({**options, "password": password})
        super().__init__(sources, reading, client, async_client)


class VLLMAudioLoader(_Loader):
    """Recordings written down, a document each, or one a segment with its `start` and `end` (s).

    `metadata` has `source`, `warnings` and what is known of `language`, `duration` (s) and
    `speaker`.

    Args:
        sources, client, async_client: As for `VLLMOCRLoader`.
        per: `"recording"` makes a document of each recording, `"segment"` of each segment.
        options: As for `Client.transcribe`. The first piece that fails is raised, unless
            `on_error="return"` leaves it out, which the warnings say.
    """

    def __init__(
        self,
        sources: Source | Iterable[Source],
        *,
        client: Client | None = None,
        async_client: AsyncClient | None = None,
        per: Per = "recording",
        **options: Unpack[SpeechOptions],
    ) -> None:
        super().__init__(sources, SpeechReading(options, per), client, async_client)


def _file(source: Source) -> File:
    if not isinstance(source, Blob):
        return File(source, {"source": os.fspath(source)})
    content = source.path if source.data is None else source.as_bytes()
    known = {} if source.source is None else {"source": source.source}
    return File(content, {**known, **source.metadata})


def _document(part: Part) -> Document:
    return Document(part.text, metadata=part.facts)
