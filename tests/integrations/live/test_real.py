"""Each adapter and other clients on real servers give what the client itself gives."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ASSETS, QUERY, TEXTS
from haystack import Document as Item
from haystack import Pipeline
from haystack.components.retrievers import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.schema import NodeWithScore, TextNode
from semhash import SemHash

from vllm_modalities import AsyncClient, Client
from vllm_modalities._rig import Rig, running
from vllm_modalities.integrations import haystack, langchain, llama_index
from vllm_modalities.integrations.sentence_transformers import Encoder

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import cohere
import litellm
from openai import OpenAI

SERVERS = ("embed", "rerank", "whisper-base", "deepseek-ocr")
CLOSE = 1e-5  # texts of one batch share a matrix product, so the last digits may differ
MEANT = "When can I go by rail?"  # TEXTS[1], in other words
RECORDING = ASSETS / "speech-en-us.flac"
PAGE = ASSETS / "invoice.png"
SHORT = {"max_tokens": 60}


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running(SERVERS, report=print) as rig:
        yield rig


@pytest.fixture(scope="module")
def urls(rig: Rig) -> list[str]:
    return [rig[name].base_url for name in SERVERS]


@pytest.fixture(scope="module")
def client(urls: list[str]) -> Iterator[Client]:
    with Client(urls) as client:
        yield client


def awaited(urls: list[str], call: Callable[[AsyncClient], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with AsyncClient(urls) as client:
            return await call(client)

    return asyncio.run(main())


def test_vectors_are_the_client_s(client: Client, urls: list[str]) -> None:
    expected = client.embed(TEXTS).vectors
    items = [Item(content=text) for text in TEXTS]
    made = haystack.VLLMDocumentEmbedder(base_url=urls).run(items)["documents"]
    query = haystack.VLLMTextEmbedder(base_url=urls).run(TEXTS[0])["embedding"]
    found = {
        "langchain": langchain.VLLMEmbeddings(client=client).embed_documents(TEXTS),
        "llama_index": llama_index.VLLMEmbedding(client=client).get_text_embedding_batch(TEXTS),
        "haystack": [one.embedding for one in made],
        "encoder": Encoder(client).encode(TEXTS),
        "awaited": awaited(
            urls,
            lambda one: langchain.VLLMEmbeddings(client=client, async_client=one).aembed_documents(
                TEXTS
            ),
        ),
    }
    for name, vectors in found.items():
        np.testing.assert_allclose(vectors, expected, atol=CLOSE, err_msg=name)
    np.testing.assert_allclose(query, expected[0], atol=CLOSE)


def test_rankings_are_the_client_s(client: Client, urls: list[str]) -> None:
    expected = [
        (one.document, pytest.approx(one.score, abs=CLOSE)) for one in client.rerank(QUERY, TEXTS)
    ]
    documents = [Document(text) for text in TEXTS]
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in TEXTS]
    items = [Item(content=text) for text in TEXTS]
    by_langchain = langchain.VLLMRerank(client=client).compress_documents(documents, QUERY)
    by_llama = llama_index.VLLMRerank(client=client).postprocess_nodes(nodes, query_str=QUERY)
    by_haystack = haystack.VLLMRanker(base_url=urls).run(QUERY, items)["documents"]
    assert [(one.page_content, one.metadata["relevance_score"]) for one in by_langchain] == expected
    assert [(one.text, one.score) for one in by_llama] == expected
    assert [(one.content, one.score) for one in by_haystack] == expected


def test_pages_are_the_client_s(client: Client, urls: list[str]) -> None:
    expected = client.ocr(PAGE, **SHORT).pages[0].markdown
    loader = langchain.VLLMOCRLoader(PAGE, client=client, **SHORT)
    (by_langchain,) = loader.load()
    (by_llama,) = llama_index.VLLMOCRReader(client=client, **SHORT).load_data(PAGE)
    (by_haystack,) = haystack.VLLMOCRConverter(base_url=urls, **SHORT).run([PAGE])["documents"]
    assert [by_langchain.page_content, by_llama.text, by_haystack.content] == [expected] * 3
    assert "cut" in by_langchain.metadata["warnings"]


def test_transcripts_are_the_client_s(client: Client, urls: list[str]) -> None:
    expected = client.transcribe(RECORDING, language="en").text
    given: dict[str, Any] = {"language": "en"}
    (by_langchain,) = langchain.VLLMAudioLoader(RECORDING, client=client, **given).load()
    (by_llama,) = llama_index.VLLMAudioReader(client=client, **given).load_data(RECORDING)
    made = haystack.VLLMTranscriber(base_url=urls, **given).run([RECORDING])["documents"]
    assert [by_langchain.page_content, by_llama.text, made[0].content] == [expected] * 3


def test_a_store_of_langchain_finds_what_is_meant(client: Client, tmp_path: Path) -> None:
    store = InMemoryVectorStore(langchain.VLLMEmbeddings(client=client))
    store.add_texts(TEXTS)
    store.add_documents(langchain.VLLMAudioLoader(RECORDING, client=client).load())
    assert store.similarity_search(MEANT, k=1)[0].page_content == TEXTS[1]


def test_an_index_of_llama_index_finds_what_is_meant(client: Client) -> None:
    reader = SimpleDirectoryReader(
        input_files=[RECORDING],
        file_extractor={".flac": llama_index.VLLMAudioReader(client=client)},
        raise_on_error=True,
    )
    nodes = [*(TextNode(text=text) for text in TEXTS), *reader.load_data()]
    index = VectorStoreIndex(nodes, embed_model=llama_index.VLLMEmbedding(client=client))
    assert index.as_retriever(similarity_top_k=1).retrieve(MEANT)[0].text == TEXTS[1]


def test_a_pipeline_of_haystack_finds_what_is_meant(urls: list[str]) -> None:
    store = InMemoryDocumentStore()
    items = [Item(content=text) for text in TEXTS]
    store.write_documents(haystack.VLLMDocumentEmbedder(base_url=urls).run(items)["documents"])
    made = Pipeline()
    made.add_component("embedder", haystack.VLLMTextEmbedder(base_url=urls))
    made.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=1))
    made.connect("embedder.embedding", "retriever.query_embedding")
    found = made.run({"embedder": {"text": MEANT}})["retriever"]["documents"]
    assert [one.content for one in found] == [TEXTS[1]]


def test_semhash_finds_what_says_the_same(client: Client) -> None:
    records = [*TEXTS, "Trains leave for Berlin at noon."]
    found = SemHash.from_records(records, model=Encoder(client)).self_deduplicate(threshold=0.9)
    assert found.selected == TEXTS


def test_other_clients_get_the_same_vectors(client: Client, rig: Rig) -> None:
    expected, url = client.embed(TEXTS).vectors, rig["embed"].base_url
    theirs = OpenAI(base_url=f"{url}/v1", api_key="none")
    answer = theirs.embeddings.create(model="minilm", input=TEXTS)
    np.testing.assert_allclose([row.embedding for row in answer.data], expected, atol=CLOSE)
    answer = litellm.embedding(
        model="hosted_vllm/minilm", input=TEXTS, api_base=f"{url}/v1", api_key="none"
    )
    np.testing.assert_allclose([row["embedding"] for row in answer.data], expected, atol=CLOSE)
    with Client.from_openai(theirs) as moved:
        np.testing.assert_allclose(moved.embed(TEXTS), expected, atol=CLOSE)


def test_cohere_s_client_embeds_with_no_model_that_has_no_input_types(rig: Rig) -> None:
    theirs = cohere.ClientV2(base_url=rig["embed"].base_url, api_key="none")
    with pytest.raises(cohere.BadRequestError, match="input_type"):
        theirs.embed(model="minilm", texts=TEXTS, input_type="search_document")


def test_other_clients_get_the_same_scores(client: Client, rig: Rig) -> None:
    """Also litellm as it is, which sends `return_documents`, no field of vLLM's."""
    url = rig["rerank"].base_url
    expected = {
        one.index: pytest.approx(one.score, abs=CLOSE) for one in client.rerank(QUERY, TEXTS)
    }
    model = "cross-encoder"
    theirs = cohere.ClientV2(base_url=url, api_key="none")
    answer = theirs.rerank(model=model, query=QUERY, documents=TEXTS)
    assert {one.index: one.relevance_score for one in answer.results} == expected
    answer = litellm.rerank(
        model=f"hosted_vllm/{model}",
        query=QUERY,
        documents=TEXTS,
        api_base=f"{url}/v1",
        api_key="none",
    )
    assert {one["index"]: one["relevance_score"] for one in answer.results} == expected


def test_other_clients_get_the_same_text(client: Client, rig: Rig) -> None:
    expected = client.transcribe(RECORDING, language="en").text
    url = f"{rig['whisper-base'].base_url}/v1"
    theirs = OpenAI(base_url=url, api_key="none")
    heard = theirs.audio.transcriptions.create(
        model="whisper-base", file=RECORDING, language="en", temperature=0
    )
    assert heard.text.strip() == expected
    with RECORDING.open("rb") as file:
        answer = litellm.transcription(
            model="hosted_vllm/whisper-base",
            file=file,
            language="en",
            temperature=0,
            api_base=url,
            api_key="none",
        )
    assert answer.text.strip() == expected
