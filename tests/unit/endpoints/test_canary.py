"""A reranker that needs a template is asked, once, a question that anybody can answer."""

import anyio
import pytest
from _script import FakeVLLM, Play, Talker

from vllm_modalities import BadRequestError, ModelUsageWarning
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
    assert len(server.posts) == 4


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
