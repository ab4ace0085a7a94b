"""LlamaIndex's embedding model, node postprocessor and readers, over a client; needs `llama-index`.

Settings.embed_model = VLLMEmbedding(client=client, async_client=async_client)
reader = SimpleDirectoryReader("scans", file_extractor={".pdf": VLLMOCRReader(client=client)})
index = VectorStoreIndex.from_documents(reader.load_data())
engine = index.as_query_engine(node_postprocessors=[VLLMRerank(client=client, top_n=3)])
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Unpack

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
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import ConfigDict, Field
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.readers.base import BaseReader
    from llama_index.core.schema import Document, MetadataMode, NodeWithScore, QueryBundle
except ModuleNotFoundError as error:
    raise missing("llama-index", error) from None

__all__ = ["VLLMAudioReader", "VLLMEmbedding", "VLLMOCRReader", "VLLMRerank"]

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

    model_config = ConfigDict(extra="forbid")  # or an option by a wrong name is ignored

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

    model_config = ConfigDict(extra="forbid")  # or an option by a wrong name is ignored

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


class _Reader(BaseReader):
    def __init__(
        self, reading: Reading, client: Client | None, async_client: AsyncClient | None
    ) -> None:
        self._reading = reading
        self.client, self.async_client = client or Client(), async_client

    def lazy_load_data(
        self,
        file: str | os.PathLike[str],
        extra_info: Mapping[str, Any] | None = None,
        fs: Any = None,
    ) -> Iterator[Document]:
        """The file's documents, as they are there.

        Args:
            file: Its path.
            extra_info: What is put into the metadata of each document.
            fs: The fsspec file system that it is on; None is this machine's.
        """
        return map(_document, self._reading.parts(self.client, [_file(file, extra_info, fs)]))

    async def aload_data(
        self,
        file: str | os.PathLike[str],
        extra_info: Mapping[str, Any] | None = None,
        fs: Any = None,
    ) -> list[Document]:
        """As `load_data`; in a thread, unless there is an `async_client`."""
        if self.async_client is None:
            return await super().aload_data(file, extra_info, fs)
        files = [_file(file, extra_info, fs)]
        return [_document(one) async for one in self._reading.parts_async(self.async_client, files)]


class VLLMOCRReader(_Reader):
    """The pages of an image or PDF, a document each: Markdown, with `source` and `page`.

    In the metadata, `warnings` says what is doubtful about the page, a line each. These are kept
    out of what is embedded, and the warnings out of what a language model reads.

    Args:
        client: Whom to ask; the default is `Client()`, with the address of $VLLM_BASE_URL.
        async_client: Whom `aload_data` asks; None has `client` asked in a thread.
        password: Of a PDF that is encrypted.
        options: As for `Client.ocr_iter`. The first page that fails is raised, unless
            `on_error="return"` makes it an empty document whose warnings say why.
    """

    def __init__(
        self,
        *,
        client: Client | None = None,
        async_client: AsyncClient | None = None,
        password: str | None = None,
        **options: Unpack[OCROptions],
    ) -> None:
        reading = PageReading({**options, "password": password})
        super().__init__(reading, client, async_client)


class VLLMAudioReader(_Reader):
    """A recording written down, as one document, or one a segment with its `start` and `end` (s).

    The metadata has `source`, `warnings` and what is known of `language`, `duration` (s) and
    `speaker`.

    Args:
        client, async_client: As for `VLLMOCRReader`.
        per: `"recording"` makes one document, `"segment"` one of each segment.
        options: As for `Client.transcribe`. The first piece that fails is raised, unless
            `on_error="return"` leaves it out, which the warnings say.
    """

    def __init__(
        self,
        *,
        client: Client | None = None,
        async_client: AsyncClient | None = None,
        per: Per = "recording",
        **options: Unpack[SpeechOptions],
    ) -> None:
        super().__init__(SpeechReading(options, per), client, async_client)


def _file(path: str | os.PathLike[str], known: Mapping[str, Any] | None, fs: Any) -> File:
    source = os.fspath(path)
    content = source if fs is None else fs.cat_file(source)
    return File(content, {"source": source, **(known or {})})


def _document(part: Part) -> Document:
    told = [name for name in part.facts if name == "source" or name not in part.file.facts]
    return Document(
        text=part.text,
        metadata=part.facts,
        excluded_embed_metadata_keys=told,
        excluded_llm_metadata_keys=["warnings"],
    )
