"""A reranker that needs a template is asked, once, a question that anybody can answer."""

from dataclasses import replace

import anyio
import pytest
from _script import FakeVLLM, Play, Talker, status
from PIL import Image

from vllm_modalities import (
    BadRequestError,
    InternalServerError,
    ModelUsageWarning,
)
from vllm_modalities.endpoints._canary import DOCUMENTS, QUERY
from vllm_modalities.endpoints.rerank import rerank
from vllm_modalities.profiles import PROFILES

RERANK = "/v1/rerank"


def prefers(city: str):
    return lambda _, document: 1.0 if city in document else 0.5


def reranker(city: str, model: str = "Qwen3-Reranker-0.6B", **told) -> FakeVLLM:
    return FakeVLLM("cross-encoder", model=model, score=prefers(city), **told)


def canaries(server: FakeVLLM) -> int:
    return [post.body["query"] for post in server.asked(RERANK)].count(QUERY)


def test_a_model_that_ranks_as_if_without_its_template_is_warned_of(talk) -> None:
    server = reranker("London")
    with pytest.warns(ModelUsageWarning, match="--chat-template qwen3_reranker.jinja"):
        result = talk(server).rerank("q", ["a", "b"])
    (warning,) = result.warnings
    assert "ranks London above Paris" in warning
    assert warning.endswith("qwen3_reranker.jinja]")
    assert server.posts[0].body["documents"] == list(DOCUMENTS)


@pytest.mark.filterwarnings("ignore::vllm_modalities.ModelUsageWarning")
@pytest.mark.parametrize(("city", "warnings"), [("London", 1), ("Paris", 0)])
def test_a_server_is_asked_once_and_its_answer_holds_for_every_call(talk, city, warnings) -> None:
    server = reranker(city)
    client = talk(server)
    for _ in range(3):
        assert len(client.rerank("q", ["a", "b"]).warnings) == warnings
    assert canaries(server) == 1
    assert len(server.posts) == 4 + warnings  # the template is tried too


def test_calls_side_by_side_ask_once() -> None:
    server = reranker("Paris")
    client = Talker("asyncio", server).client

    async def both() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(client.rerank, "q", ["a"])

    anyio.run(both)
    assert canaries(server) == 1


def test_what_one_replica_answers_holds_for_all() -> None:
    network = {"http://a": reranker("Paris"), "http://b": reranker("Paris")}
    play = Play(network, profiles=PROFILES)
    for _ in range(4):
        play.call(rerank, "q", ["a"])
    assert sum(map(canaries, network.values())) == 1


@pytest.mark.parametrize("model", ["m", "bge-reranker-v2-m3", "jina-reranker-v3"])
def test_a_model_that_needs_no_template_is_not_asked(talk, model) -> None:
    server = reranker("London", model)
    assert talk(server).rerank("q", ["a"]).warnings == ()
    assert len(server.posts) == 1


def test_a_refusal_says_nothing_of_the_template(talk) -> None:
    """Then the caller's own request meets the same refusal, or none."""
    server = reranker("London", refuses=lambda text: "no" if "London" in text else None)
    client = talk(server)
    assert client.rerank("q", ["a"]).warnings == ()
    with pytest.raises(BadRequestError, match="no"):
        client.rerank("q", ["London"])
    assert canaries(server) == 2


def form_of(model: str):
    profile = next(one for one in PROFILES if one.matches(model))
    return profile.rerank.form


def needs_its_template(query: str, document: str) -> float:
    """A server without a template: it reads both back to back, and wants to be asked properly."""
    asked = f"{query}{document}"
    is_asked = asked.startswith("<|im_start|>system") and asked.endswith("</think>\n\n")
    return (1.0 if "Paris" in document else 0.0) if is_asked else float("London" in document)


@pytest.mark.parametrize("method", ["rerank", "score"])
def test_a_template_that_the_server_lacks_is_written_here(talk, method) -> None:
    server = FakeVLLM("cross-encoder", model="Qwen3-Reranker-0.6B", score=needs_its_template)
    client = talk(server)
    result = getattr(client, method)("which?", ["London", "Paris"], instruction="Find {query}s")
    (warning,) = result.warnings
    assert "It is written here instead" in warning
    sent = server.posts[-1].body
    query = sent["query"] if method == "rerank" else sent["queries"]
    assert "<Instruct>: Find {query}s\n<Query>: which?\n<Document>: " in query
    assert "instruction" not in sent
    assert [text.partition("<|im_end|>")[0] for text in sent["documents"]] == ["London", "Paris"]
    if method == "rerank":
        assert [found.document for found in result] == ["Paris", "London"]
    assert len(getattr(client, method)("which?", ["a"])) == 1
    assert len(server.posts) == 4


def test_without_an_instruction_the_template_has_its_own() -> None:
    form = form_of("Qwen3-Reranker-8B")
    assert "<Instruct>: Given a web search query, retrieve" in form.query_of("q", None)


@pytest.mark.parametrize(
    "model", ["mxbai-rerank-base-v2", "bge-reranker-v2-gemma", "llama-nemotron-rerank-1b-v2"]
)
def test_templates_of_other_models_hold_both_texts_once(model) -> None:
    form = form_of(model)
    whole = form.query_of("QUERY", "nothing") + form.document_of("DOCUMENT")
    assert (whole.count("QUERY"), whole.count("DOCUMENT")) == (1, 1)
    assert "{" not in whole
    assert "nothing" not in whole


def test_images_are_not_put_into_a_template_but_warned_of() -> None:
    server = FakeVLLM("cross-encoder", model="Qwen3-Reranker-0.6B", score=needs_its_template)
    profiles = [replace(p, rerank=replace(p.rerank, images=None)) for p in PROFILES if p.rerank]
    play = Play(server, profiles=profiles)
    with pytest.warns(ModelUsageWarning, match="--chat-template"):
        play.call(rerank, "q", [Image.new("RGB", (2, 2))])
    assert server.posts[-1].body["query"] == "q"


def test_documents_of_a_written_template_are_cut_before_it_is_written() -> None:
    routes = ("/classify", "/v1/rerank", "/tokenize", "/detokenize")
    server = FakeVLLM(
        "cross-encoder", model="Qwen3-Reranker-0.6B", score=needs_its_template, routes=routes
    )
    play = Play(server, profiles=PROFILES)
    play.call(rerank, "q", ["one two three"], max_tokens_per_doc=1)
    assert server.asked("/v1/rerank")[-1].body["documents"][0].startswith("one<|im_end|>")


def test_a_canary_that_dies_fails_the_call() -> None:
    server = reranker("London")
    server.always("/v1/rerank", status(500))
    with pytest.raises(InternalServerError):
        Play(server, profiles=PROFILES, max_retries=0).call(rerank, "q", ["a"])
