"""LangChain's own conformance tests, and a pipeline of its parts and ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import QUERY, TEXTS
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from vllm_modalities import AsyncClient, Client
from vllm_modalities.integrations.langchain import VLLMEmbeddings, VLLMRerank
from vllm_modalities.simulator import Simulator


class Conforming:
    @pytest.fixture(autouse=True)
    def served(self, client: Client) -> None:
        self.client = client
        return

    @property
    def embeddings_class(self) -> type[VLLMEmbeddings]:
        return VLLMEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"client": self.client}


class TestUnit(Conforming, EmbeddingsUnitTests):
    @property
    def init_from_env_params(self) -> tuple[dict[str, str], dict[str, Any], dict[str, Any]]:
        return {"VLLM_BASE_URL": "http://gpu1:8000"}, {}, {"model": None}


class TestIntegration(Conforming, EmbeddingsIntegrationTests):
    pass


DOCUMENTS = [Document(text, metadata={"at": at}) for at, text in enumerate(TEXTS)]


def test_vectors_are_the_client_s(client) -> None:
    found = VLLMEmbeddings(client=client)
    assert found.embed_documents(TEXTS) == client.embed(TEXTS).to_list()
    assert found.embed_query(QUERY) == client.embed(QUERY).to_list()[0]
    assert found.embed_documents([]) == []


@pytest.mark.parametrize("own", [True, False])
def test_coroutines_give_the_same_with_an_async_client_and_without(client, servers, own) -> None:
    async def main() -> tuple[Any, Any, Any]:
        async with AsyncClient(servers.urls) as async_client:
            given = {"client": client, "async_client": async_client if own else None}
            vectors, reranker = VLLMEmbeddings(**given), VLLMRerank(**given, top_n=2)
            return (
                await vectors.aembed_documents(TEXTS),
                await vectors.aembed_query(QUERY),
                await reranker.acompress_documents(DOCUMENTS, QUERY),
            )

    vectors, query, ranked = asyncio.run(main())
    assert vectors == VLLMEmbeddings(client=client).embed_documents(TEXTS)
    assert query == VLLMEmbeddings(client=client).embed_query(QUERY)
    assert ranked == VLLMRerank(client=client, top_n=2).compress_documents(DOCUMENTS, QUERY)


def test_a_store_finds_and_a_reranker_sorts(client: Client) -> None:
    store = InMemoryVectorStore(VLLMEmbeddings(client=client))
    store.add_documents(DOCUMENTS)
    near = store.similarity_search(QUERY, k=3)
    best, *others = VLLMRerank(client=client).compress_documents(near, QUERY)
    assert (best.page_content, best.metadata["at"]) == (TEXTS[1], 1)
    scores = [one.metadata["relevance_score"] for one in (best, *others)]
    assert scores == sorted(scores, reverse=True)
    assert "relevance_score" not in near[0].metadata


def test_no_documents_are_no_request(servers: Simulator) -> None:
    before = len(servers.requests)
    with Client(servers.urls) as client:
        assert VLLMRerank(client=client).compress_documents([], QUERY) == []
    assert len(servers.requests) == before


def test_prompts_go_before_what_they_are_for() -> None:
    with Client("http://nowhere") as client:
        found = VLLMEmbeddings(client=client, query_type="query", document_type="document")
    assert (found.query_type, found.document_type) == ("query", "document")
