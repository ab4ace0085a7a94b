"""An index of LlamaIndex with our vectors and our ranking."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from conftest import QUERY, TEXTS
from fsspec.implementations.memory import MemoryFileSystem
from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from vllm_modalities import AsyncClient, Client
from vllm_modalities.integrations.llama_index import (
    VLLMAudioReader,
    VLLMEmbedding,
    VLLMOCRReader,
    VLLMRerank,
)

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


@pytest.mark.parametrize("made", [VLLMEmbedding, VLLMRerank])
def test_an_option_by_a_wrong_name_is_an_error(client: Client, made: Any) -> None:
    with pytest.raises(ValueError, match="top_k"):
        made(client=client, top_k=3)


def test_what_is_shown_of_them_has_no_key(servers: Any) -> None:
    with Client(servers.urls, api_key="secret") as client:
        made = (VLLMEmbedding(client=client), VLLMRerank(client=client))
    assert [one.class_name() for one in made] == ["VLLMEmbedding", "VLLMRerank"]
    assert not any("secret" in f"{one!r} {one.to_dict()}" for one in made)


def test_an_ocr_reader_gives_a_document_a_page(client: Client, scans: list[Path]) -> None:
    reader = VLLMOCRReader(client=client)
    found = reader.load_data(scans[0], extra_info={"shelf": 3})
    assert [one.text for one in found] == [page.markdown for page in client.ocr(scans[0]).pages]
    assert [one.metadata for one in found] == [
        {"source": str(scans[0]), "shelf": 3, "page": number, "warnings": ""} for number in (1, 2)
    ]
    assert next(iter(reader.lazy_load_data(scans[0]))).text == found[0].text


def test_what_is_told_of_a_page_is_not_embedded_with_it(client: Client, scans) -> None:
    (found,) = VLLMOCRReader(client=client).load_data(scans[1], extra_info={"shelf": 3})
    assert found.get_content(MetadataMode.EMBED) == f"shelf: 3\n\n{found.text}"
    assert "page: 1" in found.get_content(MetadataMode.LLM)
    assert "warnings" not in found.get_content(MetadataMode.LLM)


def test_an_audio_reader_gives_a_document_a_recording_or_a_segment(client, recording) -> None:
    heard = client.transcribe(recording)
    (whole,) = VLLMAudioReader(client=client).load_data(recording)
    assert (whole.text, whole.metadata["duration"]) == (heard.text, heard.duration)
    parts = VLLMAudioReader(client=client, per="segment").load_data(recording)
    assert [(one.text, one.metadata["start"]) for one in parts] == [
        (one.text, one.start) for one in heard.segments
    ]


def test_a_directory_is_read_by_the_ending_of_each_file(client, servers, scans, recording) -> None:
    files = [*scans, recording]

    async def main() -> list[Any]:
        async with AsyncClient(servers.urls) as own:
            given = {"client": client, "async_client": own}
            pages, sounds = VLLMOCRReader(**given), VLLMAudioReader(**given)
            kinds = {".tiff": pages, ".png": pages, ".flac": sounds}
            reader = SimpleDirectoryReader(input_files=files, file_extractor=kinds)
            assert [one.text for one in reader.load_data()] == expected
            return await reader.aload_data()

    expected = [page.markdown for scan in scans for page in client.ocr(scan).pages]
    expected.append(client.transcribe(recording).text)
    assert [one.text for one in asyncio.run(main())] == expected


def test_without_an_async_client_a_thread_reads(client: Client, scans: list[Path]) -> None:
    reader = VLLMOCRReader(client=client)
    (found,) = asyncio.run(reader.aload_data(scans[1]))
    assert found.text == client.ocr(scans[1]).pages[0].markdown


def test_files_of_another_file_system_are_read_there(client: Client, scans: list[Path]) -> None:
    elsewhere = MemoryFileSystem()
    elsewhere.pipe_file("/scans/one.png", scans[1].read_bytes())
    reader = SimpleDirectoryReader(
        "/scans", fs=elsewhere, file_extractor={".png": VLLMOCRReader(client=client)}
    )
    (found,) = reader.load_data()
    assert found.text == client.ocr(scans[1]).pages[0].markdown
    assert found.metadata["source"] == "/scans/one.png"
