"""An index of LlamaIndex with our vectors and our ranking."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import QUERY, TEXTS
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from vllm_modalities import AsyncClient, Client
from vllm_modalities.integrations.llama_index import VLLMEmbedding, VLLMRerank

NODES = [TextNode(text=text, id_=str(at)) for at, text in enumerate(TEXTS)]
SCORED = [NodeWithScore(node=node) for node in NODES]


def test_vectors_are_the_client_s(client: Client) -> None:
    found = VLLMEmbedding(client=client)
    assert found.get_text_embedding_batch(TEXTS) == client.embed(TEXTS).to_list()
    assert found.get_text_embedding(TEXTS[0]) == client.embed(TEXTS[0]).to_list()[0]
    assert found.get_query_embedding(QUERY) == client.embed(QUERY).to_list()[0]


def test_coroutines_give_the_same(client: Client, servers: Any) -> None:
    async def main() -> tuple[Any, ...]:
        async with AsyncClient(servers.urls) as own:
            vectors = VLLMEmbedding(client=client, async_client=own)
            reranker = VLLMRerank(client=client, async_client=own, top_n=2)
            return (
                await vectors.aget_text_embedding_batch(TEXTS),
                [await vectors.aget_text_embedding(TEXTS[0])],
                await vectors.aget_query_embedding(QUERY),
                await reranker.apostprocess_nodes(SCORED, query_str=QUERY),
                await reranker.apostprocess_nodes([], query_str=QUERY),
            )

    vectors, first, query, ranked, nothing = asyncio.run(main())
    assert vectors == client.embed(TEXTS).to_list()
    assert first == vectors[:1]
    assert query == client.embed(QUERY).to_list()[0]
    same = VLLMRerank(client=client, top_n=2).postprocess_nodes(SCORED, query_str=QUERY)
    assert [(one.node_id, one.score) for one in ranked] == [
        (one.node_id, one.score) for one in same
    ]
    assert nothing == []


def test_an_index_finds_and_a_reranker_sorts(client: Client) -> None:
    index = VectorStoreIndex(NODES, embed_model=VLLMEmbedding(client=client))
    near = index.as_retriever(similarity_top_k=3).retrieve(QUERY)
    best, *others = VLLMRerank(client=client).postprocess_nodes(near, QueryBundle(QUERY))
    assert best.node_id == "1"
    scores = [one.score for one in (best, *others)]
    assert scores == sorted(scores, reverse=True)


def test_ranking_without_a_query_is_an_error(client: Client) -> None:
    reranker = VLLMRerank(client=client)
    assert reranker.postprocess_nodes([]) == []
    with pytest.raises(ValueError, match="needs the query"):
        reranker.postprocess_nodes(SCORED)


def test_what_is_shown_of_them_has_no_key(servers: Any) -> None:
    with Client(servers.urls, api_key="secret") as client:
        made = (VLLMEmbedding(client=client), VLLMRerank(client=client))
    assert [one.class_name() for one in made] == ["VLLMEmbedding", "VLLMRerank"]
    assert not any("secret" in f"{one!r} {one.to_dict()}" for one in made)
