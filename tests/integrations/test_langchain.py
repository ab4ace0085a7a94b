"""LangChain's own conformance tests, and a pipeline of its parts and ours."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from conftest import QUERY, TEXTS
from langchain_core.document_loaders import BaseLoader, Blob
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from vllm_modalities import AsyncClient, Client, InvalidRequestError, MediaError
from vllm_modalities.integrations.langchain import (
    VLLMAudioLoader,
    VLLMEmbeddings,
    VLLMOCRLoader,
    VLLMRerank,
)
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


def test_an_ocr_loader_gives_a_document_a_page(client: Client, scans: list[Path]) -> None:
    found = VLLMOCRLoader(scans, client=client).load()
    assert [one.page_content for one in found] == [
        page.markdown for scan in scans for page in client.ocr(scan).pages
    ]
    told = [(one.metadata["source"], one.metadata["page"]) for one in found]
    assert told == [(str(scans[0]), 1), (str(scans[0]), 2), (str(scans[1]), 1)]
    assert [one.metadata["warnings"] for one in found] == [""] * 3


def test_pages_are_chosen_as_for_the_client(client: Client, scans: list[Path]) -> None:
    (second,) = VLLMOCRLoader(scans[0], client=client, pages="2").load()
    assert second.metadata["page"] == 2


def test_an_audio_loader_gives_a_document_a_recording_or_a_segment(
    client: Client, recording: Path, silence: Path
) -> None:
    heard = client.transcribe(recording)
    spoken, silent = VLLMAudioLoader([recording, str(silence)], client=client).load()
    assert spoken.page_content == heard.text
    assert spoken.metadata == {
        "source": str(recording),
        "duration": heard.duration,
        "warnings": "",
    }
    assert silent.page_content == ""
    assert "loud enough" in silent.metadata["warnings"]
    parts = VLLMAudioLoader([recording, silence], client=client, per="segment").load()
    *segments, silent = parts
    assert [(one.page_content, one.metadata["start"], one.metadata["end"]) for one in segments] == [
        (one.text, one.start, one.end) for one in heard.segments
    ]
    assert "loud enough" in silent.metadata["warnings"]


def loaders(scans: list[Path], recording: Path, **given: Any) -> list[BaseLoader]:
    return [VLLMOCRLoader(scans, **given), VLLMAudioLoader(recording, **given)]


@pytest.mark.parametrize("own", [True, False])
def test_loaders_of_coroutines_give_the_same(client, servers, scans, recording, own) -> None:
    async def main() -> list[list[Document]]:
        async with AsyncClient(servers.urls) as async_client:
            given = {"client": client, "async_client": async_client if own else None}
            return [await one.aload() for one in loaders(scans, recording, **given)]

    same = [one.load() for one in loaders(scans, recording, client=client)]
    assert asyncio.run(main()) == same


def test_blobs_are_read_too_and_keep_what_is_known_of_them(client: Client, scans, recording):
    page = Blob.from_path(scans[1], metadata={"shelf": 3})
    (read,) = VLLMOCRLoader(page, client=client).load()
    assert (read.metadata["source"], read.metadata["shelf"]) == (str(scans[1]), 3)
    (heard,) = VLLMAudioLoader(Blob.from_data(recording.read_bytes()), client=client).load()
    assert heard.page_content == client.transcribe(recording).text
    assert "source" not in heard.metadata


def test_a_file_that_cannot_be_read_ends_a_load_or_is_told_of(client, scans, tmp_path) -> None:
    (tmp_path / "bad.png").write_bytes(b"nothing")
    files = [scans[1], tmp_path / "bad.png"]
    with pytest.raises(MediaError, match=r"bad\.png"):
        VLLMOCRLoader(files, client=client).load()
    good, bad = VLLMOCRLoader(files, client=client, on_error="return").load()
    assert good.metadata["warnings"] == ""
    assert bad.page_content == ""
    assert "not an image" in bad.metadata["warnings"]


def test_leaving_a_lazy_load_reads_no_further(servers: Simulator, scans: list[Path]) -> None:
    before = servers.count
    with Client(servers.urls, max_concurrency=1) as client:
        first = next(iter(VLLMOCRLoader(scans * 20, client=client).lazy_load()))
    assert first.metadata["page"] == 1
    assert servers.count - before < 30  # of 60 pages, and what is asked before them


def test_what_a_recording_is_cut_into_is_one_of_two() -> None:
    with pytest.raises(InvalidRequestError, match="per must be"):
        VLLMAudioLoader("talk.wav", client=Client("http://nowhere"), per="word")
