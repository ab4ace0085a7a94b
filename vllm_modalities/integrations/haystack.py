"""Haystack's embedders and ranker, over a client; needs the extra `haystack`.

pipeline.add_component("embedder", VLLMTextEmbedder(base_url="http://gpu1:8000"))
pipeline.add_component("ranker", VLLMRanker(base_url="http://gpu2:8000", top_k=3))
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from ..client import AsyncClient, Client
from ..endpoints.rerank import RerankResult
from ..vectors.embeddings import Embeddings
from . import missing

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.utils import Secret
except ModuleNotFoundError as error:
    raise missing("haystack", error) from None

__all__ = ["VLLMDocumentEmbedder", "VLLMRanker", "VLLMTextEmbedder"]

KEY = Secret.from_env_var("VLLM_API_KEY", strict=False)


class _Component:
    """What the components share: their servers, and how they are written into a pipeline's file."""

    FIELDS: ClassVar[tuple[str, ...]]

    base_url: str | list[str] | None
    api_key: Secret | None

    @cached_property
    def client(self) -> Client:
        return Client(self.base_url, api_key=self._key())

    @cached_property
    def async_client(self) -> AsyncClient:
        return AsyncClient(self.base_url, api_key=self._key())

    def _key(self) -> str | None:
        return self.api_key.resolve_value() if self.api_key else None

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.FIELDS}

    def to_dict(self) -> dict[str, Any]:
        """For a pipeline's file: the name of the key's variable, never the key."""
        key = self.api_key.to_dict() if self.api_key else None
        return default_to_dict(self, base_url=self.base_url, api_key=key, **self._options())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        key = data["init_parameters"].get("api_key")
        if isinstance(key, dict):
            data["init_parameters"]["api_key"] = Secret.from_dict(key)
        return default_from_dict(cls, data)


class _Embedder(_Component):
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
class VLLMRanker(_Component):
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
