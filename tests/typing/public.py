"""What type checkers make of the public surface: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from vllm_modalities import (
    AsyncClient,
    BadRequestError,
    Classification,
    Client,
    CohereEmbeddings,
    CohereEmbedRequest,
    Document,
    EmbeddingRequest,
    Embeddings,
    Finding,
    ImageURL,
    Page,
    QuantizedEmbeddings,
    RankedDocument,
    RerankRequest,
    RerankResult,
    Response,
    ServerInfo,
    TokenEmbeddings,
    Transcript,
    bulk,
    maxsim,
)
from vllm_modalities.bulk import BulkReport

client = Client(["http://gpu1:8000", "http://gpu2:8000"], api_key=lambda: "key")
mapped = Client({"embed": "http://gpu1:8000", "ocr": ["http://gpu2:8000", "http://gpu3:8000"]})

assert_type(client.embed("a text"), Embeddings)
assert_type(
    client.embed(["a", "b"], dimensions=256, input_type="query").vectors, NDArray[np.float32]
)
assert_type(client.embed([1, 2], dtype="float16", progress=True), Embeddings)
assert_type(client.embed([{"role": "user", "content": "a"}], progress=print), Embeddings)
assert_type(client.embed([Path("a.png"), Path("b.png")]), Embeddings)
assert_type(client.embed({"content": ["a text", b"...", ImageURL("https://a/b")]}), Embeddings)
assert_type(client.embed(np.array(["a"]), out=np.empty((1, 3), np.float32)), Embeddings)
assert_type(client.embed_iter("a" for _ in range(3)), Generator[Embeddings, None, None])
assert_type(client.embed("a text").quantize("int8"), QuantizedEmbeddings)
assert_type(client.embed("a text").quantize("binary").unpack(), NDArray[np.float32])
assert_type(client.embed("a text").nearest([0.5], k=3)[0], NDArray[np.int64])
cohere = CohereEmbedRequest(texts=("a",), embedding_types=("float", "ubinary"))
assert_type(cohere.read(client.send(cohere)), CohereEmbeddings)
assert_type(client.rerank("a query", ["a"], top_n=1), RerankResult)
assert_type(client.rerank("a query", ["a"])[0], RankedDocument)
assert_type(client.rerank("a query", ["a"])[0].document, Any)
assert_type(client.rerank("a query", [{"body": "a"}], key="body", on_error="return"), RerankResult)
assert_type(client.score("a query", ["a"], pairs=False).scores, NDArray[np.float32])
assert_type(client.classify(["a"]), Classification)
assert_type(client.embed_tokens(["a"], input_type="query"), TokenEmbeddings)
assert_type(client.embed_sparse("a").similarity(client.embed_sparse("b")), NDArray[np.float32])
assert_type(maxsim(np.ones((2, 3)), [np.ones((4, 3))]), NDArray[np.float32])
assert_type(
    client.embed_tokens("a").maxsim(client.embed_tokens("b"), top_k=3),
    tuple[NDArray[np.int64], NDArray[np.float32]],
)
assert_type(client.transcribe("talk.wav", language="en"), Transcript)
assert_type(client.translate(b"...", to_language="en"), Transcript)
assert_type(client.ocr("page.png", task="text"), Document)
assert_type(client.ocr("report.pdf", pages="1-3,7", password="x", journal="j"), Document)
assert_type(client.ocr_iter(["a.pdf", b"..."], ordered=False), Generator[Page, None, None])
assert_type(client.send(EmbeddingRequest(input=("a",), dimensions=8)), Response)
assert_type(client.servers(), tuple[ServerInfo, ...])
assert_type(client.with_options(timeout=5.0), Client)
assert_type(RerankRequest(query="a", documents=("b",)).validate_for(ServerInfo()), list[Finding])

assert_type(bulk.embed(client, "in.csv", out="out", column="text"), BulkReport)
assert_type(bulk.ocr(client, ["a.pdf"], out="out"), BulkReport)
bulk.embed(client, "in.csv", out="out")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
client.embed("a text", dimension=256)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
client.embed(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
client.embed("a text", dtype="float64")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
client.rerank("a query", ["a"], 1)  # type: ignore[arg-type, call-arg]  # pyright: ignore[reportCallIssue]
EmbeddingRequest(inputs="a")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def texts() -> AsyncIterator[str]:
    yield "a"


async def the_same_awaited() -> None:
    async with AsyncClient() as other:
        assert_type(other.embed_iter(texts()), AsyncGenerator[Embeddings, None])
        assert_type(await other.embed("a text"), Embeddings)
        assert_type(await other.rerank("a query", ["a"], top_n=1), RerankResult)
        assert_type(await other.transcribe("talk.wav"), Transcript)
        assert_type(await other.ocr("page.png"), Document)
        assert_type(other.ocr_iter(texts()), AsyncGenerator[Page, None])
        assert_type(await other.servers(), tuple[ServerInfo, ...])
        assert_type(other.with_options(model="m"), AsyncClient)
        assert_type(await bulk.embed(other, "in.csv", out="out", column="text"), BulkReport)
        await other.embed("a text", dimension=256)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def errors_carry_their_evidence(error: BadRequestError) -> None:
    assert_type(error.status_code, int)
    assert_type(error.request_id, str | None)
    assert_type(error.body, bytes)
    assert_type(error.server, str)
