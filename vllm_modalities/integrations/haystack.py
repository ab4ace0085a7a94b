"""Haystack's embedders, ranker and converters, over a client; needs the extra `haystack`.

pipeline.add_component("reader", VLLMOCRConverter(base_url="http://gpu3:8000"))
pipeline.add_component("embedder", VLLMTextEmbedder(base_url="http://gpu1:8000"))
pipeline.add_component("ranker", VLLMRanker(base_url="http://gpu2:8000", top_k=3))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any, Unpack

from ..endpoints.rerank import RerankResult
from ..vectors.embeddings import Embeddings
from . import missing
from ._files import (
    OCROptions,
    PageReading,
    Part,
    Per,
    Reading,
    SpeechOptions,
    SpeechReading,
)

try:
    from haystack import Document, component
    from haystack.utils import Secret
except ModuleNotFoundError as error:
    raise missing("haystack", error) from None

from ._haystack import KEY, Component, Meta, Source, files_of

__all__ = [
    "VLLMDocumentEmbedder",
    "VLLMOCRConverter",
    "VLLMRanker",
    "VLLMTextEmbedder",
    "VLLMTranscriber",
]


class _Embedder(Component):
    FIELDS = ("model", "dimensions", "input_type")

    def __init__(
        self,
        *,
        base_url: str | list[str] | None = None,
        api_key: Secret | None = KEY,
        model: str | None = None,
        dimensions: int | None = None,
        input_type: str | None = None,
    ) -> None:
        self.base_url, self.api_key = base_url, api_key
        self.model, self.dimensions, self.input_type = model, dimensions, input_type


@component
class VLLMTextEmbedder(_Embedder):
    """The vector of a text, such as a query.

    Args:
        base_url, api_key: As for `Client`.
        model: The served model's name; None is the one that is served.
        dimensions: Width of the vectors, for models that can shorten them.
        input_type: As for `Client.embed`; None puts no prompt before the text.
    """

    @component.output_types(embedding=list[float], meta=dict[str, Any])
    def run(self, text: str) -> dict[str, Any]:
        return _of_text(self.client.embed(text, **self._options()))

    @component.output_types(embedding=list[float], meta=dict[str, Any])
    async def run_async(self, text: str) -> dict[str, Any]:
        return _of_text(await self.async_client.embed(text, **self._options()))


@component
class VLLMDocumentEmbedder(_Embedder):
    """Documents with the vectors of their contents.

    Args:
        base_url, api_key, model, dimensions, input_type: As for `VLLMTextEmbedder`.
    """

    @component.output_types(documents=list[Document], meta=dict[str, Any])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        return _of_documents(documents, self.client.embed(_contents(documents), **self._options()))

    @component.output_types(documents=list[Document], meta=dict[str, Any])
    async def run_async(self, documents: list[Document]) -> dict[str, Any]:
        found = await self.async_client.embed(_contents(documents), **self._options())
        return _of_documents(documents, found)


@component
class VLLMRanker(Component):
    """The documents that a reranker finds best, best first, with its scores.

    Args:
        base_url, api_key, model: As for `VLLMTextEmbedder`.
        top_k: How many to keep; None keeps all.
        instruction: What is relevant, for models that read it.
    """

    FIELDS = ("model", "top_k", "instruction")

    def __init__(
        self,
        *,
        base_url: str | list[str] | None = None,
        api_key: Secret | None = KEY,
        model: str | None = None,
        top_k: int | None = None,
        instruction: str | None = None,
    ) -> None:
        self.base_url, self.api_key = base_url, api_key
        self.model, self.top_k, self.instruction = model, top_k, instruction

    def _asked(self, top_k: int | None) -> dict[str, Any]:
        names = {"model": self.model, "instruction": self.instruction}
        return {**names, "top_n": self.top_k if top_k is None else top_k}

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        if not documents:
            return {"documents": []}
        found = self.client.rerank(query, _contents(documents), **self._asked(top_k))
        return {"documents": _ranked(documents, found)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        if not documents:
            return {"documents": []}
        found = await self.async_client.rerank(query, _contents(documents), **self._asked(top_k))
        return {"documents": _ranked(documents, found)}


class _Converter(Component):
    options: Mapping[str, Any]

    def _options(self) -> dict[str, Any]:
        return dict(self.options)

    def _parts(self, reading: Reading, sources: list[Source], meta: Meta) -> list[Part]:
        return list(reading.parts(self.client, files_of(sources, meta)))

    async def _parts_async(self, reading: Reading, sources: list[Source], meta: Meta) -> list[Part]:
        files = files_of(sources, meta)
        return [part async for part in reading.parts_async(self.async_client, files)]


@component
class VLLMOCRConverter(_Converter):
    """Images and PDFs as Markdown, a document each: form feeds stand between their pages.

    `meta["warnings"]` says what is doubtful, a line each, with the number of the page.

    Args:
        base_url, api_key: As for `VLLMTextEmbedder`.
        password: Of PDFs that are encrypted.
        options: As for `Client.ocr_iter`. The first page that fails is raised, unless
            `on_error="return"` makes it an empty page that the warnings tell of.
    """

    SECRETS = ("api_key", "password")

    def __init__(
        self,
        *,
        base_url: str | list[str] | None = None,
        api_key: Secret | None = KEY,
        password: Secret | None = None,
        **options: Unpack[OCROptions],
    ) -> None:
        self.base_url, self.api_key = base_url, api_key
        self.password, self.options = password, options
        PageReading(options)  # or a wrong name would be found when the pipeline is under way

    def _reading(self) -> Reading:
        password = self.password.resolve_value() if self.password else None
        return PageReading({**self.options, "password": password})

    @component.output_types(documents=list[Document])
    def run(self, sources: list[Source], meta: Meta = None) -> dict[str, list[Document]]:
        return {"documents": _whole(self._parts(self._reading(), sources, meta))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, sources: list[Source], meta: Meta = None
    ) -> dict[str, list[Document]]:
        return {"documents": _whole(await self._parts_async(self._reading(), sources, meta))}


@component
class VLLMTranscriber(_Converter):
    """Recordings written down, a document each, or one a segment with its `start` and `end` (s).

    `meta` has `warnings` and what is known of `language`, `duration` (s) and `speaker`.

    Args:
        base_url, api_key: As for `VLLMTextEmbedder`.
        per: `"recording"` makes a document of each recording, `"segment"` of each segment.
        options: As for `Client.transcribe`. The first piece that fails is raised, unless
            `on_error="return"` leaves it out, which the warnings say.
    """

    def __init__(
        self,
        *,
        base_url: str | list[str] | None = None,
        api_key: Secret | None = KEY,
        per: Per = "recording",
        **options: Unpack[SpeechOptions],
    ) -> None:
        self.base_url, self.api_key = base_url, api_key
        self.per, self.options = per, options
        self._reading()

    def _options(self) -> dict[str, Any]:
        return {"per": self.per, **self.options}

    def _reading(self) -> Reading:
        return SpeechReading(self.options, self.per)

    @component.output_types(documents=list[Document])
    def run(self, sources: list[Source], meta: Meta = None) -> dict[str, list[Document]]:
        return {"documents": _each(self._parts(self._reading(), sources, meta))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, sources: list[Source], meta: Meta = None
    ) -> dict[str, list[Document]]:
        return {"documents": _each(await self._parts_async(self._reading(), sources, meta))}


def _contents(documents: list[Document]) -> list[str]:
    return [document.content or "" for document in documents]


def _told(found: Embeddings) -> dict[str, Any]:
    return {"model": found.model, "warnings": list(found.warnings)}


def _of_text(found: Embeddings) -> dict[str, Any]:
    return {"embedding": found.to_list()[0], "meta": _told(found)}


def _of_documents(documents: list[Document], found: Embeddings) -> dict[str, Any]:
    pairs = zip(documents, found.to_list(), strict=True)
    made = [replace(document, embedding=vector) for document, vector in pairs]
    return {"documents": made, "meta": _told(found)}


def _ranked(documents: list[Document], found: RerankResult) -> list[Document]:
    return [replace(documents[one.index], score=one.score) for one in found]


def _each(parts: list[Part]) -> list[Document]:
    return [Document(content=part.text, meta=part.facts) for part in parts]


def _whole(parts: list[Part]) -> list[Document]:
    """One document a file, as Haystack's splitters count the pages."""
    made = []
    for file, group in groupby(parts, key=attrgetter("file")):
        read = list(group)
        doubts = (
            f"page {page.facts['page']}: {line}"
            for page in read
            for line in page.facts["warnings"].splitlines()
        )
        text = "\f".join(page.text for page in read)
        made.append(Document(content=text, meta={**file.facts, "warnings": "\n".join(doubts)}))
    return made
