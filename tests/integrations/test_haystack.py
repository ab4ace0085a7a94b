"""A pipeline of Haystack's with our embedders and our ranker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import QUERY, TEXTS
from haystack import Document, Pipeline
from haystack.components.retrievers import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.utils import Secret

from vllm_modalities import Client
from vllm_modalities.integrations.haystack import (
    VLLMDocumentEmbedder,
    VLLMRanker,
    VLLMTextEmbedder,
)

DOCUMENTS = [Document(content=text, id=str(at)) for at, text in enumerate(TEXTS)]
KINDS = (VLLMTextEmbedder, VLLMDocumentEmbedder, VLLMRanker)


def test_vectors_are_the_client_s(client: Client, servers: Any) -> None:
    text = VLLMTextEmbedder(base_url=servers.urls).run(QUERY)
    assert text["embedding"] == client.embed(QUERY).to_list()[0]
    assert text["meta"] == {"model": "minilm", "warnings": []}
    found = VLLMDocumentEmbedder(base_url=servers.urls).run(DOCUMENTS)["documents"]
    assert [one.embedding for one in found] == client.embed(TEXTS).to_list()
    assert [one.content for one in found] == TEXTS


def test_coroutines_give_the_same(servers: Any) -> None:
    async def main() -> tuple[Any, ...]:
        made = [kind(base_url=servers.urls) for kind in KINDS]
        text, documents, ranker = made
        found = (
            await text.run_async(QUERY),
            await documents.run_async(DOCUMENTS),
            await ranker.run_async(QUERY, DOCUMENTS, top_k=1),
            await ranker.run_async(QUERY, []),
        )
        for one in made:
            await one.async_client.close()
        return found

    text, documents, ranker = (kind(base_url=servers.urls) for kind in KINDS)
    same = (text.run(QUERY), documents.run(DOCUMENTS), ranker.run(QUERY, DOCUMENTS, top_k=1))
    same += (ranker.run(QUERY, []),)
    assert asyncio.run(main()) == same


def test_a_pipeline_read_from_its_file_finds_and_ranks(servers: Any) -> None:
    store = InMemoryDocumentStore()
    embedded = VLLMDocumentEmbedder(base_url=servers.urls).run(DOCUMENTS)["documents"]
    store.write_documents(embedded)
    made = Pipeline()
    made.add_component("embedder", VLLMTextEmbedder(base_url=servers.urls))
    made.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=3))
    made.add_component("ranker", VLLMRanker(base_url=servers.urls, top_k=2))
    made.connect("embedder.embedding", "retriever.query_embedding")
    made.connect("retriever.documents", "ranker.documents")
    found = made.run({"embedder": {"text": QUERY}, "ranker": {"query": QUERY}})
    ranked = found["ranker"]["documents"]
    assert [len(ranked), ranked[0].id] == [2, "1"]
    assert ranked[0].score >= ranked[1].score


@pytest.mark.parametrize("kind", KINDS)
def test_a_component_is_written_without_its_key_and_read_again(kind, monkeypatch) -> None:
    monkeypatch.setenv("MINE", "secret")
    made = kind(base_url="http://gpu1", api_key=Secret.from_env_var("MINE"), model="m")
    written = made.to_dict()
    assert "secret" not in str(written)
    again = kind.from_dict(written)
    assert (again.base_url, again.model) == ("http://gpu1", "m")
    assert again._key() == "secret"
    assert kind.from_dict(kind(api_key=None).to_dict())._key() is None
