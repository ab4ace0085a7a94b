"""A server that answers well, and any of whose answers a test may change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np

from vllm_modalities import Client

Answer = Callable[[Any], Any]
URL = "http://server"
ROUTES = {
    "embed": ("/v1/embeddings", "/v2/embed", "/pooling", "/v1/rerank", "/v1/score"),
    "rerank": ("/v1/rerank", "/v1/score", "/classify", "/pooling"),
    "late-interaction": ("/v1/rerank", "/v1/score", "/pooling"),
    "classify": ("/classify", "/pooling"),
    "transcribe": ("/v1/audio/transcriptions", "/v1/audio/translations"),
    "ocr": ("/v1/chat/completions",),
}
WIDTH, CONTEXT = 384, 64


def refusal(message: str, status: int = 400) -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": message, "code": status}})


def vector(text: str, size: int | None = None) -> list[float]:
    """Of unit length; texts that share words are close."""
    found = np.zeros(WIDTH, np.float64)
    for word in text.lower().replace(".", "").split():
        found += np.random.default_rng(sum(word.encode()) * len(word)).normal(size=WIDTH)
    cut = found[:size]
    return (cut / np.linalg.norm(cut)).tolist()


class Server:
    """One scripted server.

    Attributes:
        answers: By path, what is answered instead of the usual.
        sent: (path, body) of every request but those that ask who it is.
    """

    def __init__(self, kind: str, model: str = "m") -> None:
        self.model, self.routes = model, ROUTES[kind]
        self.context: int | None = CONTEXT
        self.version = "0.32.0"
        self.answers: dict[str, Answer] = {}
        self.sent: list[tuple[str, Any]] = []
        self.prompts = {"query": "query: "}

    def client(self, **options: Any) -> Client:
        http = httpx.Client(transport=httpx.MockTransport(self))
        return Client(URL, http_client=http, **options)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method == "GET":
            return self._who(path)
        is_json = request.headers["content-type"] == "application/json"
        body = json.loads(request.content) if is_json else request.content
        self.sent.append((path, body))
        usual = getattr(self, f"_{path.strip('/').replace('/', '_')}")
        found = self.answers.get(path, usual)(body)
        return found if isinstance(found, httpx.Response) else httpx.Response(200, json=found)

    def _who(self, path: str) -> httpx.Response:
        told = {
            "/version": {"version": self.version},
            "/v1/models": {"data": [{"id": self.model, "max_model_len": self.context}]},
            "/openapi.json": {"paths": {path: {} for path in (*self.routes, "/tokenize")}},
        }
        if path in told:
            return httpx.Response(200, json=told[path])
        there = path in (*self.routes, "/tokenize")
        return httpx.Response(405 if there else 404, json={"detail": "no"})

    def _v1_embeddings(self, body: Any) -> Any:
        if any(len(text.split()) > (self.context or 1e9) for text in body["input"]):
            return refusal("This model's maximum context length is 64 tokens.")
        if body.get("dimensions"):
            return refusal("does not support Matryoshka embeddings")
        return rows(body, vector)

    def _v2_embed(self, body: Any) -> Any:
        if body["input_type"] not in self.prompts:
            return refusal("Unsupported input_type")
        texts = [self.prompts[body["input_type"]] + text for text in body["texts"]]
        return {"embeddings": {"float": [vector(text) for text in texts]}}

    def _v1_rerank(self, body: Any) -> Any:
        return ranking(body, lambda text: 0.9 if "Paris" in text else 0.1)

    def _tokenize(self, body: Any) -> Any:
        return {"count": len(body["prompt"].split()), "tokens": []}

    def _pooling(self, body: Any) -> Any:
        return {"data": [{"index": 0, "data": [vector(word) for word in body["input"][0].split()]}]}

    def _classify(self, body: Any) -> Any:
        return {"data": [{"index": 0, "label": "a", "probs": [0.25, 0.75]}]}

    def _v1_audio_transcriptions(self, body: Any) -> Any:
        return {"text": "The quick brown fox jumps over the lazy dog."}

    def _v1_chat_completions(self, body: Any) -> Any:
        if (body.get("vllm_xargs") or {}).get("ngram_size", 1) < 1:
            return refusal("`ngram_size` has to be a strictly positive integer, got -1.")
        return completion("# Invoice 4471\n\nTotal 93.50 EUR\n\nThank you")


def rows(body: Any, embed: Callable[[str], list[float]]) -> Any:
    texts = body["input"]
    return {"data": [{"index": n, "embedding": embed(text)} for n, text in enumerate(texts)]}


def ranking(body: Any, score: Callable[[str], float], tokens: int = 99) -> Any:
    scored = [
        {"index": n, "relevance_score": score(text)} for n, text in enumerate(body["documents"])
    ]
    return {"results": scored, "usage": {"prompt_tokens": tokens}}


def completion(text: str | None, reason: str = "stop") -> Any:
    return {"choices": [{"message": {"content": text}, "finish_reason": reason}]}
