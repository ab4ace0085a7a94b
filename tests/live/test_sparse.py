"""Lexical weights, and a row a token, of a real server with a small BGE-M3."""

from __future__ import annotations

from collections import defaultdict

import httpx
import numpy as np
import pytest
from _both import ask

from vllm_modalities import Client, UnsupportedTaskError
from vllm_modalities._rig import Rig

TEXTS = ["the cat sat on the mat", "a dog", "", "Bread rises. Bread rises!"]

pytestmark = pytest.mark.servers("token-classify")


@pytest.fixture
def url(servers: Rig) -> str:
    return servers["token-classify"].base_url


def post(url: str, path: str, **fields: object) -> dict:
    return httpx.post(url + path, json={"model": "bge-m3", **fields}).raise_for_status().json()


def test_weights_are_those_of_the_raw_answer_by_token(url: str) -> None:
    found = ask(url, "embed_sparse", TEXTS)
    for text, (indices, weights) in zip(TEXTS, found, strict=True):
        rows = post(url, "/pooling", input=text, task="token_classify")["data"][0]["data"]
        tokens = post(url, "/tokenize", prompt=text)["tokens"]
        expected: dict[int, float] = defaultdict(float)
        for token, weight in zip(tokens[1:-1], np.ravel(rows), strict=True):
            expected[token] = max(expected[token], float(weight))
        kept = {token: weight for token, weight in expected.items() if weight > 0}
        assert dict(zip(indices.tolist(), weights.tolist(), strict=True)) == pytest.approx(
            kept, abs=2e-3
        )
        assert indices.tolist() == sorted(kept)
    assert len(found.weights) > 5


def test_texts_are_alike_by_the_tokens_that_both_have(url: str) -> None:
    with Client(url) as client:
        found = client.embed_sparse([*TEXTS[:2], "the cat"])
    scores = found.similarity(found)
    assert scores[0, 2] > 0 == scores[1, 2]


def test_each_token_has_a_row_without_those_at_the_ends(url: str) -> None:
    found = ask(url, "token_classify", TEXTS)
    counts = [len(post(url, "/tokenize", prompt=text)["tokens"]) - 2 for text in TEXTS]
    assert found.lengths.tolist() == counts
    assert found.vectors.shape[1] == 1
    assert (found.vectors >= 0).all()


def test_what_it_was_not_started_for_is_refused(url: str) -> None:
    with Client(url) as client:
        assert "token_classify" in client.servers()[0].tasks
        with pytest.raises(UnsupportedTaskError):
            client.embed("a text")
