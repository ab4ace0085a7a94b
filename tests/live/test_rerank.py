"""`rerank` gives the caller's own documents in the order of the server's scores."""

from __future__ import annotations

import json
import urllib.request

import pytest
from _both import ask

from vllm_modalities import BadRequestError, Client, InvalidRequestError, RerankRequest
from vllm_modalities._rig import Rig

QUERY = "Why does bread rise?"
DOCUMENTS = [
    "Horses pulled these wagons along the rails.",
    "Yeast in the dough turns sugar into gas, and the bubbles lift the bread.",
    "Wheat is sown in autumn.",
]

pytestmark = pytest.mark.servers("rerank", "embed")


def test_documents_come_back_best_first_as_a_raw_call_has_them(servers: Rig) -> None:
    url = servers["rerank"].base_url
    body = {"model": "cross-encoder", "query": QUERY, "documents": DOCUMENTS}
    request = urllib.request.Request(
        f"{url}/rerank", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        expected = json.load(answer)["results"]
    ranking = ask(url, "rerank", QUERY, DOCUMENTS)
    assert ranking.score_type == "cross-encoder"
    assert [found.index for found in ranking] == [result["index"] for result in expected]
    assert [found.score for found in ranking] == pytest.approx(
        [result["relevance_score"] for result in expected], abs=1e-5
    )
    assert all(found.document is DOCUMENTS[found.index] for found in ranking)


def test_an_embedder_ranks_the_answer_first(servers: Rig) -> None:
    ranking = ask(servers["embed"].base_url, "rerank", QUERY, DOCUMENTS)
    assert ranking.score_type == "bi-encoder"
    assert ranking[0].document == DOCUMENTS[1]
    assert ranking[0].score > ranking[1].score + 0.1


def test_a_cross_encoder_goes_before_an_embedder(servers: Rig) -> None:
    urls = [servers["embed"].base_url, servers["rerank"].base_url]
    assert ask(urls, "rerank", QUERY, DOCUMENTS).model == "cross-encoder"


@pytest.mark.parametrize(("top_n", "count"), [(None, 3), (0, 3), (1, 1), (2, 2), (99, 3)])
def test_top_n_is_how_many_come_back(servers: Rig, top_n: int | None, count: int) -> None:
    ranking = ask(servers["rerank"].base_url, "rerank", QUERY, DOCUMENTS, top_n=top_n)
    whole = ask(servers["rerank"].base_url, "rerank", QUERY, DOCUMENTS)
    assert [found.index for found in ranking] == [found.index for found in whole[:count]]


def test_max_tokens_per_doc_changes_the_scores(servers: Rig) -> None:
    url = servers["rerank"].base_url
    whole = {found.index: found.score for found in ask(url, "rerank", QUERY, DOCUMENTS)}
    ranking = ask(url, "rerank", QUERY, DOCUMENTS, max_tokens_per_doc=3)
    assert all(found.score != whole[found.index] for found in ranking)


@pytest.mark.parametrize(
    "wrong",
    [{"top_n": -1}, {"max_tokens_per_doc": -1}, {"max_tokens_per_doc": 100_000}],
)
def test_the_server_refuses_what_we_refuse(servers: Rig, wrong: dict[str, int]) -> None:
    with Client(servers["rerank"].base_url) as client:
        with pytest.raises(InvalidRequestError):
            client.rerank(QUERY, DOCUMENTS, **wrong)
        with pytest.raises(BadRequestError):
            client.with_options(validation="off").rerank(QUERY, DOCUMENTS, **wrong)


def test_raw_logits_come_of_a_request_model(servers: Rig) -> None:
    request = RerankRequest(query=QUERY, documents=DOCUMENTS, use_activation=False)
    with Client(servers["rerank"].base_url) as client:
        logits = [row["relevance_score"] for row in client.send(request).json()["results"]]
    assert max(map(abs, logits)) > 1
