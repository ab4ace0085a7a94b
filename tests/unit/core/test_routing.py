"""Which server takes a request: by model, by task, by the mapping."""

import pytest
from _script import URL, FakeVLLM, Play, broken, status

from vllm_modalities import EmbeddingRequest
from vllm_modalities.endpoints.embed import embed
from vllm_modalities.endpoints.realtime_transcription import RealtimeRequest
from vllm_modalities.endpoints.rerank import RerankRequest, rerank
from vllm_modalities.endpoints.send import send
from vllm_modalities.endpoints.servers import servers
from vllm_modalities.errors import (
    APIConnectionError,
    InvalidRequestError,
    NotFoundError,
    UnknownModelError,
    UnsupportedTaskError,
    VLLMModalitiesError,
)
from vllm_modalities.gates import GATES, Action

A, B, C = "http://a", "http://b", "http://c"


def of_models(*names: str, task: str = "embed") -> dict[str, FakeVLLM]:
    return {url: FakeVLLM(task, model=name) for url, name in zip((A, B, C), names, strict=False)}


@pytest.mark.parametrize(("model", "url"), [("x", A), ("y", B)])
def test_a_model_goes_where_it_is_served(model: str, url: str) -> None:
    play = Play(of_models("x", "y"))
    assert play.call(embed, "a", model=model).model == model
    assert play.hosts() == [url]


def test_a_task_goes_where_it_is_done() -> None:
    play = Play({A: FakeVLLM("chat"), B: FakeVLLM(), C: FakeVLLM("cross-encoder", model="r")})
    play.call(embed, "a")
    play.call(rerank, "q", ["a"])
    assert play.hosts() == [B, C]


def test_several_models_are_ambiguous_until_one_is_named() -> None:
    network = of_models("x", "y")
    with pytest.raises(InvalidRequestError, match=r"x, y.*`model`") as caught:
        Play(network).call(embed, "a")
    assert caught.value.findings[0].field == "model"
    assert [server.posts for server in network.values()] == [[], []]
    assert Play(network, model="y").call(embed, "a").model == "y"


def test_a_model_that_nobody_serves_is_an_invalid_request_and_not_found() -> None:
    server = FakeVLLM()
    with pytest.raises(UnknownModelError, match=r"'wrong'.*'m'") as caught:
        Play(server).call(embed, "a", model="wrong")
    assert isinstance(caught.value, InvalidRequestError)
    assert isinstance(caught.value, NotFoundError)
    assert isinstance(caught.value, ValueError)
    assert (caught.value.status_code, caught.value.server) == (404, URL)
    assert server.posts == []


def test_a_model_served_for_another_task_is_unknown_for_this_one() -> None:
    play = Play({A: FakeVLLM(), B: FakeVLLM("chat", model="talker")})
    with pytest.raises(UnknownModelError, match="talker"):
        play.call(embed, "a", model="talker")


def test_a_lora_adapter_loaded_since_is_found() -> None:
    server = FakeVLLM()
    play = Play(server)
    play.call(embed, "a")
    server.models.append({"id": "lora", "root": "hub/lora", "parent": "m"})
    assert play.call(embed, "a", model="lora").model == "lora"
    assert server.posts[-1].body["model"] == "lora"


def test_an_adapter_is_never_the_model_that_is_meant_by_none() -> None:
    server = FakeVLLM(models=[{"id": "lora", "parent": "m"}])
    server.models.reverse()
    Play(server).call(embed, "a")
    assert server.posts[0].body["model"] == "m"


def test_a_server_that_lists_no_models_takes_any_name() -> None:
    server = FakeVLLM(models=None, model="hidden")
    assert Play(server).call(embed, "a", model="hidden").model == "hidden"


def test_a_task_that_nobody_does_says_who_does_what_and_how_to_map() -> None:
    server = FakeVLLM("chat")
    with pytest.raises(UnsupportedTaskError) as caught:
        Play(server).call(embed, "a")
    for word in ("'embed'", URL, "'m'", "Client({'embed':"):
        assert word in str(caught.value)
    assert server.posts == []


KINDS = ("cross-encoder", "late-interaction", "embed")


@pytest.mark.parametrize(
    ("kinds", "best", "score_type"),
    [
        (KINDS, 0, "cross-encoder"),
        (KINDS[::-1], 2, "cross-encoder"),
        (KINDS[1:], 0, "late-interaction"),
        (KINDS[:0:-1], 1, "late-interaction"),
        (KINDS[2:], 0, "bi-encoder"),
    ],
)
def test_rerank_prefers_a_cross_encoder_then_late_interaction(kinds, best, score_type) -> None:
    network = {url: FakeVLLM(kind, model=kind) for url, kind in zip((A, B, C), kinds, strict=False)}
    play = Play(network)
    assert play.call(rerank, "q", ["a"]).score_type == score_type
    assert play.hosts() == [list(network)[best]]


def test_the_kind_of_a_reranker_that_hides_its_routes_is_unknown() -> None:
    assert Play(FakeVLLM("cross-encoder", routes=None)).call(rerank, "q", ["a"]).score_type is None


def test_a_mapping_decides_where_routes_are_hidden_or_say_otherwise() -> None:
    network = {A: FakeVLLM(), B: FakeVLLM(model="other", routes=None)}
    play = Play(network, base_url={"rerank": A, "embed": [B]})
    play.call(embed, "a")
    with pytest.raises(UnsupportedTaskError):
        Play(network, base_url={"rerank": A}).call(embed, "a")
    assert play.hosts() == [B]


def test_score_in_a_mapping_stands_for_rerank_too() -> None:
    play = Play(FakeVLLM("cross-encoder"), base_url={"score": URL})
    assert len(play.call(rerank, "q", ["a"])) == 1


def test_one_url_mapped_for_two_tasks_is_one_server() -> None:
    play = Play(FakeVLLM(), base_url={"embed": URL, "rerank": URL})
    (info,) = play.call(servers)
    assert {"embed", "rerank"} <= info.tasks


def test_a_known_server_that_is_down_does_not_hide_what_it_serves() -> None:
    """The error is that it does not answer, not that nobody serves the model."""
    network = of_models("x", "y")
    play = Play(network, max_retries=0)
    play.call(embed, "a", model="x")
    network[A].always("*", broken("ConnectError"))
    with pytest.raises(APIConnectionError):
        play.call(embed, "a", model="x")


@pytest.mark.parametrize(
    "request_body",
    [
        EmbeddingRequest(input="a"),
        EmbeddingRequest(model="m", input=["a", "b"]),
        RerankRequest(query="q", documents=["a"]),
    ],
)
def test_send_gives_the_server_s_own_answer(request_body) -> None:
    server = FakeVLLM()
    response = Play(server).call(send, request_body)
    assert response.status == 200
    assert response.json()["model"] == "m"
    assert server.posts[0].body == {**request_body.fields_sent(), "model": "m"}


def test_send_refuses_what_the_release_does_not_take() -> None:
    server = FakeVLLM(version="0.19.1")
    with pytest.raises(InvalidRequestError, match="max_tokens_per_doc"):
        Play(server).call(send, RerankRequest(query="q", documents=["a"], max_tokens_per_doc=9))
    assert server.posts == []


HIDDEN = {"routes": None}


def test_servers_that_hide_their_routes_are_asked_for_the_one_that_is_wanted() -> None:
    """By a GET, which a POST route answers with 405: it costs no GPU work."""
    network = {
        A: FakeVLLM("chat", model="talker", **HIDDEN),
        B: FakeVLLM(model="embedder", **HIDDEN),
    }
    play = Play(network)
    for _ in range(2):
        assert play.call(embed, "a").model == "embedder"
    assert [sent.method for sent in network[A].asked("/v1/embeddings")] == ["GET"]
    assert play.hosts() == [B, B]


def test_a_hidden_route_that_nobody_has_is_an_unsupported_task() -> None:
    network = {url: FakeVLLM("chat", model=url[-1], **HIDDEN) for url in (A, B)}
    play = Play(network)
    for _ in range(2):
        with pytest.raises(UnsupportedTaskError):
            play.call(rerank, "q", ["a"])
    assert [len(server.asked("/v1/rerank")) for server in network.values()] == [1, 1]
    assert play.hosts() == []


def test_a_hidden_websocket_is_not_asked_for_with_a_get() -> None:
    network = {url: FakeVLLM("chat", model=url[-1], **HIDDEN) for url in (A, B)}
    play = Play(network)
    with pytest.raises(VLLMModalitiesError):
        play.call(lambda context: context.find(RealtimeRequest, None))
    assert [server.asked("/v1/realtime") for server in network.values()] == [[], []]


def test_a_hidden_route_that_cannot_be_asked_for_counts_as_there() -> None:
    network = {
        A: FakeVLLM("chat", model="talker", **HIDDEN),
        B: FakeVLLM(model="embedder", **HIDDEN),
    }
    network[B].once("/v1/embeddings", status(400))
    assert Play(network).call(embed, "a").model == "embedder"


def test_replicas_of_two_releases_whose_answers_differ_are_told() -> None:
    gates = [gate for gate in GATES if gate.action is Action.DIFFERS and gate.since]
    gate = next(gate for gate in gates if "RerankRequest" in gate.requests)
    network = {A: FakeVLLM(version="0.16.0"), B: FakeVLLM(version=gate.since)}
    warnings = Play(network).call(rerank, "q", ["a"]).warnings
    assert any(gate.since in warning and "replicas run" in warning for warning in warnings)
    assert Play(network, validation="off").call(rerank, "q", ["a"]).warnings == ()
