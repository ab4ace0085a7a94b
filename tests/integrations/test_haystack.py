"""A pipeline of Haystack's with our embedders and our ranker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import QUERY, TEXTS
from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers import InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ByteStream
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.utils import Secret

from vllm_modalities import Client
from vllm_modalities.integrations.haystack import (
    VLLMDocumentEmbedder,
    VLLMOCRConverter,
    VLLMRanker,
    VLLMTextEmbedder,
    VLLMTranscriber,
)

DOCUMENTS = [Document(content=text, id=str(at)) for at, text in enumerate(TEXTS)]
OURS = [
    "vllm_modalities.integrations.haystack"
]  # since Haystack 3, classes must be trusted by name
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


def test_a_pipeline_finds_and_ranks(servers: Any) -> None:
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


@pytest.mark.parametrize("kind", [*KINDS, VLLMOCRConverter, VLLMTranscriber])
def test_a_component_is_written_without_its_key_and_read_again(kind, monkeypatch) -> None:
    monkeypatch.setenv("MINE", "secret")
    made = kind(base_url="http://gpu1", api_key=Secret.from_env_var("MINE"), model="m")
    written = made.to_dict()
    assert "secret" not in str(written)
    again = kind.from_dict(written)
    assert again.base_url == "http://gpu1"
    assert again._options() == made._options()
    assert again._options()["model"] == "m"
    assert again._key() == "secret"
    assert kind.from_dict(kind(api_key=None).to_dict())._key() is None


def test_a_document_s_pages_are_counted_by_haystack_s_splitter(client, servers, scans) -> None:
    found = VLLMOCRConverter(base_url=servers.urls).run(scans, meta={"shelf": 3})["documents"]
    pages = [[page.markdown for page in client.ocr(scan).pages] for scan in scans]
    assert [one.content for one in found] == ["\f".join(each) for each in pages]
    assert found[0].meta == {"file_path": str(scans[0]), "shelf": 3, "warnings": ""}
    splitter = DocumentSplitter(split_by="page", split_length=1)
    assert [one.meta["page_number"] for one in splitter.run(found)["documents"]] == [1, 2, 1]


def test_a_recording_is_one_document_or_one_a_segment(client, servers, recording) -> None:
    heard = client.transcribe(recording)
    (whole,) = VLLMTranscriber(base_url=servers.urls).run([recording])["documents"]
    assert (whole.content, whole.meta["duration"]) == (heard.text, heard.duration)
    made = VLLMTranscriber(base_url=servers.urls, per="segment").run([recording])["documents"]
    assert [(one.content, one.meta["end"]) for one in made] == [
        (one.text, one.end) for one in heard.segments
    ]


def test_bytes_are_read_with_what_is_known_of_them(client, servers, scans) -> None:
    stream = ByteStream(scans[1].read_bytes(), meta={"url": "http://elsewhere"})
    (found,) = VLLMOCRConverter(base_url=servers.urls).run([stream], [{"shelf": 3}])["documents"]
    assert found.content == client.ocr(scans[1]).pages[0].markdown
    assert found.meta == {"url": "http://elsewhere", "shelf": 3, "warnings": ""}


def test_a_page_that_failed_is_told_of_by_its_number(servers: Any, scans, tmp_path) -> None:
    (tmp_path / "bad.png").write_bytes(b"nothing")
    made = VLLMOCRConverter(base_url=servers.urls, on_error="return")
    good, bad = made.run([scans[0], tmp_path / "bad.png"])["documents"]
    assert good.meta["warnings"] == ""
    assert bad.meta["warnings"].startswith("page 0: the page could not be read")


def test_the_password_of_a_file_is_written_as_its_variable(monkeypatch) -> None:
    monkeypatch.setenv("MINE", "secret")
    made = VLLMOCRConverter(password=Secret.from_env_var("MINE"), pages="1-3")
    written = made.to_dict()
    assert "secret" not in str(written)
    assert VLLMOCRConverter.from_dict(written)._reading() == made._reading()
    assert made._reading().options == {"pages": "1-3", "password": "secret"}


def indexing(servers: Any) -> Pipeline:
    """Scans and recordings into a store, with their vectors."""
    made = Pipeline()
    made.add_component("pages", VLLMOCRConverter(base_url=servers.urls))
    made.add_component("speech", VLLMTranscriber(base_url=servers.urls))
    made.add_component("joined", DocumentJoiner())
    made.add_component("embedder", VLLMDocumentEmbedder(base_url=servers.urls))
    made.add_component("writer", DocumentWriter(InMemoryDocumentStore()))
    made.connect("pages", "joined")
    made.connect("speech", "joined")
    made.connect("joined", "embedder")
    made.connect("embedder.documents", "writer")
    return made


@pytest.mark.parametrize("awaited", [False, True])
def test_scans_and_recordings_go_through_a_pipeline(awaited, client, servers, scans, recording):
    made = Pipeline.loads(indexing(servers).dumps(), allowed_modules=OURS)
    asked = {"pages": {"sources": scans}, "speech": {"sources": [recording]}}
    written = asyncio.run(made.run_async(asked)) if awaited else made.run(asked)
    assert written["writer"]["documents_written"] == 3
    store = made.get_component("writer").document_store
    found = {one.content: one.embedding for one in store.filter_documents()}
    texts = ["\f".join(page.markdown for page in client.ocr(scan).pages) for scan in scans]
    texts.append(client.transcribe(recording).text)
    assert found == dict(zip(texts, client.embed(texts).to_list(), strict=True))
