"""Rank, score, classify and late interaction against real servers, however the calls are split."""

from __future__ import annotations

import numpy as np
import pytest
from _both import ask

from vllm_modalities import (
    BadRequestError,
    Client,
    InvalidRequestError,
    PartialFailureError,
    UnsupportedTaskError,
    maxsim,
)
from vllm_modalities._rig import Rig

QUERY = "Why does bread rise?"
FACTS = [
    "Horses pulled these wagons along the rails.",
    "Yeast in the dough turns sugar into gas, and the bubbles lift the bread.",
    "Wheat is sown in autumn.",
    "The capital of France is Paris.",
    "A cat sleeps for most of the day.",
]
DOCUMENTS = [f"{fact} Note {n}." for n in range(8) for fact in FACTS]
KINDS = {"rerank": "cross-encoder", "embed": "bi-encoder", "embed-tokens": "late-interaction"}
# Scores of one pair in batches of different shapes, where the weights are float16.
NEAR = 3e-3

each_kind = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.servers(name)) for name in KINDS]
)
each_of_real_weights = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.servers(name)) for name in KINDS if name != "rerank"],
)


@each_kind
def test_rerank_is_score_in_order(servers: Rig, name: str) -> None:
    url = servers[name].base_url
    scores = ask(url, "score", QUERY, DOCUMENTS)
    ranking = ask(url, "rerank", QUERY, DOCUMENTS)
    assert ranking.score_type == scores.score_type == KINDS[name]
    assert sorted(found.index for found in ranking) == list(range(len(DOCUMENTS)))
    for found in ranking:
        assert found.score == pytest.approx(scores.scores[found.index], abs=NEAR)


@each_kind
def test_batches_of_one_seven_and_a_thousand_agree(servers: Rig, name: str) -> None:
    with Client(servers[name].base_url) as client:
        rankings = [client.rerank(QUERY, DOCUMENTS, batch_size=n) for n in (1, 7, 1000)]
        best = client.rerank(QUERY, DOCUMENTS, batch_size=7, top_n=5)
    scores = [{found.index: found.score for found in ranking} for ranking in rankings]
    for one in scores[1:]:
        assert one == pytest.approx(scores[0], abs=NEAR)
    # Documents whose scores are that near may change places.
    for ranking in (*rankings, best):
        for rank, found in enumerate(ranking):
            assert found.score == pytest.approx(rankings[0][rank].score, abs=NEAR)


@each_kind
def test_each_with_each_is_each_pair(servers: Rig, name: str) -> None:
    queries, documents = [QUERY, "Who pulls a wagon?", "What do cats do?"], FACTS
    with Client(servers[name].base_url) as client:
        matrix = client.score(queries, documents, pairs=False).scores
        assert matrix.shape == (3, 5)
        for n, query in enumerate(queries):
            for m, document in enumerate(documents):
                pair = client.score(query, document).scores
                assert pair[0] == pytest.approx(matrix[n, m], abs=NEAR)
        paired = client.score(queries, documents[:3]).scores
    np.testing.assert_allclose(paired, matrix.diagonal(), atol=NEAR)


@each_of_real_weights
def test_what_answers_the_question_comes_first(servers: Rig, name: str) -> None:
    ranking = ask(servers[name].base_url, "rerank", QUERY, DOCUMENTS, top_n=8)
    assert {found.document[:5] for found in ranking} == {"Yeast"}


@each_kind
def test_a_document_that_is_too_long_is_found_and_the_others_are_ranked(
    servers: Rig, name: str
) -> None:
    documents = [*FACTS, "long " * 2000, *FACTS]
    with Client(servers[name].base_url) as client:
        with pytest.raises(PartialFailureError) as caught:
            client.rerank(QUERY, documents)
        ((place, error),) = caught.value.failures
        assert (place, type(error)) == (5, BadRequestError)
        assert len(caught.value.results) == 10
        cut = client.rerank(QUERY, documents, max_tokens_per_doc=100)
    assert len(cut) == 11
    assert "may be: items 5" in cut.warnings[0]


@pytest.mark.servers("embed")
def test_texts_cut_here_score_as_those_that_the_server_cuts(servers: Rig) -> None:
    documents = [*FACTS, "Yeast makes bread rise, " * 30]
    url = servers["embed"].base_url
    with Client(url) as new, Client(url, server_version="0.19.0") as old:
        there = new.score(QUERY, documents, max_tokens_per_doc=6)
        here = old.score(QUERY, documents, max_tokens_per_doc=6)
    np.testing.assert_allclose(here.scores, there.scores, atol=NEAR)
    assert "6 of 6 were longer and have been cut" in here.warnings[0]


WRONG = {
    "no document": ("rerank", [], {}),
    "one text for many": ("rerank", "a", {}),
    "a dict with neither": ("rerank", [{"title": "a"}], {}),
    "a negative top_n": ("rerank", ["a"], {"top_n": -1}),
    "a negative cut": ("rerank", ["a"], {"max_tokens_per_doc": -1}),
    "a cut above the context": ("rerank", ["a"], {"max_tokens_per_doc": 100_000}),
    "no document to score": ("score", [], {}),
}


@pytest.mark.servers("rerank")
@pytest.mark.parametrize("wrong", WRONG)
def test_what_the_server_would_refuse_is_refused_here(servers: Rig, wrong: str) -> None:
    method, documents, options = WRONG[wrong]
    with Client(servers["rerank"].base_url) as client, pytest.raises(InvalidRequestError):
        getattr(client, method)(QUERY, documents, **options)


@pytest.mark.servers("rerank")
def test_content_parts_for_a_model_of_texts_are_the_server_s_refusal(servers: Rig) -> None:
    client = Client(servers["rerank"].base_url)
    with client, pytest.raises(BadRequestError, match="MultiModalParam is not supported"):
        client.rerank(QUERY, [{"content": ["a text"]}])


@pytest.mark.servers("rerank")
def test_raw_logits_are_what_the_sigmoid_is_of(servers: Rig) -> None:
    url = servers["rerank"].base_url
    logits = ask(url, "score", QUERY, FACTS, use_activation=False).scores
    scores = ask(url, "score", QUERY, FACTS).scores
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), scores, atol=NEAR)


@pytest.mark.servers("embed-tokens")
@pytest.mark.parametrize("transport", ["auto", "base64", "float"])
def test_maxsim_of_token_vectors_is_the_server_s_own_score(servers: Rig, transport: str) -> None:
    with Client(servers["embed-tokens"].base_url, transport=transport) as client:
        for _ in range(2):
            query, documents = client.embed_tokens(QUERY), client.embed_tokens(FACTS)
        expected = client.score(QUERY, FACTS).scores
    np.testing.assert_allclose(maxsim(query, documents)[0], expected, atol=0.05)
    np.testing.assert_allclose(np.linalg.norm(documents.vectors, axis=1), 1, atol=2e-3)
    places, _ = query.maxsim(documents, top_k=1)
    assert places.tolist() == [[1]]


@pytest.mark.servers("embed-tokens")
def test_both_clients_give_the_same_token_vectors(servers: Rig) -> None:
    found = ask(servers["embed-tokens"].base_url, "embed_tokens", FACTS)
    assert (len(found), found.dimensions, found.transport) == (5, 384, "bytes")


@pytest.mark.servers("embed-tokens")
def test_raw_token_vectors_are_not_of_unit_length(servers: Rig) -> None:
    found = ask(servers["embed-tokens"].base_url, "embed_tokens", FACTS, normalize=False)
    assert (np.abs(np.linalg.norm(found.vectors, axis=1) - 1) > 0.1).all()
    np.testing.assert_allclose(np.linalg.norm(found.mean().vectors, axis=1), 1, atol=1e-5)


@pytest.mark.servers("embed-tokens")
def test_embed_on_a_model_with_a_vector_a_token_names_the_method_that_it_has(servers: Rig) -> None:
    client = Client(servers["embed-tokens"].base_url)
    with client, pytest.raises(UnsupportedTaskError, match=r"has embed_tokens\(\)"):
        client.embed("a text")


@pytest.mark.servers("classify")
def test_texts_have_their_classes_in_batches_of_any_size(servers: Rig) -> None:
    url = servers["classify"].base_url
    found = ask(url, "classify", DOCUMENTS)
    assert found.probs.shape == (len(DOCUMENTS), 3)
    np.testing.assert_allclose(found.probs.sum(axis=1), 1, atol=1e-3)
    names = ("negative", "neutral", "positive")
    assert found.labels == tuple(names[n] for n in found.probs.argmax(axis=1))
    single = ask(url, "classify", DOCUMENTS, batch_size=3)
    np.testing.assert_allclose(single.probs, found.probs, atol=NEAR)
    logits = ask(url, "classify", FACTS, use_activation=False).probs
    assert np.abs(logits).max() > 1
