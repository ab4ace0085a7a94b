"""Asking servers who they are: what is asked, what is believed, what is asked again."""

import pytest
from _script import (
    BLOCKING,
    NOT_FOUND,
    ROUTES,
    URL,
    FakeVLLM,
    Play,
    Talker,
    body,
    broken,
    cut,
    status,
)

from vllm_modalities.endpoints.embed import embed
from vllm_modalities.endpoints.rerank import rerank
from vllm_modalities.endpoints.servers import servers
from vllm_modalities.errors import (
    APIConnectionError,
    AuthenticationError,
    InvalidRequestError,
    VLLMModalitiesError,
    VLLMModalitiesWarning,
)
from vllm_modalities.profiles import Profile
from vllm_modalities.server import ServerVersion

A, B = "http://a", "http://b"
WHO = ["/openapi.json", "/v1/models", "/version"]


def test_a_server_is_asked_three_things_once() -> None:
    play = Play(FakeVLLM())
    for _ in range(3):
        play.call(embed, "a")
    assert sorted(play.paths()) == sorted([*WHO, *["/v1/embeddings"] * 3])


def test_nothing_is_asked_before_the_first_call_and_nothing_for_no_text() -> None:
    play = Play(FakeVLLM())
    assert len(play.call(embed, [])) == 0
    assert play.requests == []


def test_a_pinned_version_is_believed_and_not_asked_for() -> None:
    play = Play(FakeVLLM(version="0.33.0"), version=ServerVersion("0.19.0"))
    with pytest.raises(InvalidRequestError, match=r"0\.19\.0"):
        play.call(rerank, "q", ["a"], max_tokens_per_doc=1)
    assert "/version" not in play.paths()


def test_servers_tells_version_models_tasks_and_routes() -> None:
    server = FakeVLLM(models=[{"id": "lora", "root": "r", "parent": "m", "max_model_len": 9}])
    (info,) = Play(server).call(servers)
    assert (info.url, info.version, info.healthy) == (URL, "0.32.0", True)
    assert [(m.id, m.parent) for m in info.models] == [("m", None), ("lora", "m")]
    assert info.models[1].max_model_len == 9
    assert info.routes == set(ROUTES["embed"])
    assert {"embed", "rerank"} <= info.tasks


@pytest.mark.parametrize("task", [{"embed": URL}, {"rerank": URL, "embed": URL}])
def test_a_server_that_hides_its_routes_has_the_tasks_of_the_mapping(task) -> None:
    (info,) = Play(FakeVLLM(routes=None), base_url=task).call(servers)
    assert (info.routes, info.tasks) == (frozenset(), set(task))


VERSION_FAULTS = {
    "missing": NOT_FOUND,
    "no version": body({"version": "banana"}),
    "no field": body({}),
    "html": body(b"<html>"),
    "error": body({"error": "no"}),
    "redirect": body(b"", 307),
    "cut": cut,
}


@pytest.mark.filterwarnings("ignore:.*does not tell its vLLM release")
@pytest.mark.parametrize("fault", VERSION_FAULTS.values(), ids=VERSION_FAULTS)
def test_an_unknown_version_refuses_nothing(fault) -> None:
    server = FakeVLLM()
    server.always("/version", fault)
    play = Play(server)
    assert len(play.call(rerank, "q", ["a"], max_tokens_per_doc=1)) == 1
    (info,) = play.call(servers)
    assert info.version is None


def test_an_unknown_version_is_warned_of_once_at_the_caller_s_line() -> None:
    client = Talker(BLOCKING, FakeVLLM(version=None)).client
    with pytest.warns(VLLMModalitiesWarning, match=f"{URL} does not tell") as caught:
        client.embed("a")
    (ours,) = [one for one in caught if issubclass(one.category, VLLMModalitiesWarning)]
    assert ours.filename == __file__
    client.embed("a")  # where a second warning would be an error
    client.servers()


@pytest.mark.parametrize("path", ["/openapi.json", "/v1/models"])
@pytest.mark.parametrize("fault", [NOT_FOUND, body(b"<html>"), body({"detail": []})])
def test_a_server_that_tells_little_is_used_all_the_same(path: str, fault) -> None:
    server = FakeVLLM()
    server.always(path, fault)
    play = Play(server)
    assert len(play.call(embed, "a")) == 1
    (info,) = play.call(servers)
    assert info.healthy


def test_a_server_that_lists_no_model_is_asked_without_a_name() -> None:
    server = FakeVLLM(models=None)
    Play(server).call(embed, "a")
    assert "model" not in server.posts[0].body


def test_a_wrong_key_is_raised_as_itself_and_asked_again_next_time() -> None:
    server = FakeVLLM()
    server.always("/v1/models", status(401, "Unauthorized"))
    play = Play(server)
    for flow, arguments in ((embed, ["a"]), (servers, [])):
        with pytest.raises(AuthenticationError, match="VLLM_API_KEY"):
            play.call(flow, *arguments)
    assert server.posts == []
    server.well("/v1/models")
    assert len(play.call(embed, "a")) == 1


def test_a_server_that_comes_up_is_found_without_a_restart() -> None:
    server = FakeVLLM()
    server.always("*", broken("ConnectError"))
    play = Play(server, max_retries=0)
    for _ in range(3):
        with pytest.raises(APIConnectionError):
            play.call(embed, "a")
    server.well("*")
    assert len(play.call(embed, "a")) == 1


def test_a_server_is_asked_again_in_the_end() -> None:
    server = FakeVLLM()
    play = Play(server)
    play.call(embed, "a")
    server.version = "0.33.0"
    play.now += 3600
    play.call(embed, "a")
    assert len(server.asked("/version")) == 2


def test_one_server_down_leaves_the_others_at_work() -> None:
    network = {A: FakeVLLM(), B: FakeVLLM()}
    network[A].always("*", broken("ConnectError"))
    play = Play(network)
    assert len(play.call(embed, "a")) == 1
    assert play.pauses == []
    assert [info.healthy for info in play.call(servers)] == [False, True]


def test_a_known_server_that_goes_down_is_not_healthy_and_keeps_what_it_told() -> None:
    network = {A: FakeVLLM(), B: FakeVLLM()}
    play = Play(network)
    play.call(embed, "a")
    network[A].always("*", broken("ConnectError"))
    first, second = play.call(servers)
    assert (first.healthy, second.healthy) == (False, True)
    assert first.models == second.models


def test_several_servers_with_a_wrong_key_raise_it_when_asked_who_is_there() -> None:
    network = {A: FakeVLLM(), B: FakeVLLM()}
    network[B].always("/v1/models", status(403))
    play = Play(network)
    with pytest.raises(AuthenticationError):
        play.call(servers)
    assert len(play.call(embed, "a")) == 1


@pytest.mark.filterwarnings("ignore:.*does not tell its vLLM release")
@pytest.mark.parametrize("path", WHO)
@pytest.mark.parametrize("code", [500, 503])
def test_a_server_that_fails_to_say_who_it_is_gives_an_error_or_an_answer(path, code) -> None:
    """Never anything but one of ours, and the next call, when it is well, succeeds."""
    server = FakeVLLM()
    server.always(path, status(code))
    play = Play(server, max_retries=0)
    try:
        assert len(play.call(embed, "a")) == 1
    except VLLMModalitiesError as error:
        assert str(code) in str(error)  # noqa: PT017
    server.well(path)
    assert len(play.call(embed, "a")) == 1


def test_what_a_model_has_shown_is_kept_when_the_same_server_is_asked_again() -> None:
    server = FakeVLLM(matryoshka=True)
    play = Play(server)
    play.call(embed, "a", dimensions=2)
    probes = len(server.posts)
    play.now += 3600
    play.call(embed, "a", dimensions=3)
    assert len(server.posts) == probes + 1


def test_what_a_model_has_shown_is_forgotten_when_another_release_stands_there() -> None:
    server = FakeVLLM(matryoshka=True)
    play = Play(server)
    play.call(embed, "a", dimensions=2)
    server.version, server.width = "0.33.0", 8
    play.now += 3600
    assert play.call(embed, "a", dimensions=8).dimensions == 8


def test_a_user_s_profile_is_found_by_the_model_s_name() -> None:
    profile = Profile(name="mine", pattern="^M$")
    play = Play(FakeVLLM(), profiles=(profile,))
    assert len(play.call(embed, "a")) == 1


@pytest.mark.parametrize("task", [None, "embed"])
def test_every_route_of_a_server_that_hides_them_is_asked_for_when_asked_who_is_there(
    task,
) -> None:
    """One GET a route, and only then: a first embed makes three requests as ever."""
    server = FakeVLLM(routes=None)
    play = Play(server if task is None else {URL: server}, base_url=task and {task: URL})
    assert len(play.call(embed, "a")) == 1
    assert len(server.sent) - len(server.posts) <= 3
    (info,) = play.call(servers)
    if task is None:
        assert {"embed", "rerank", "score"} <= info.tasks
        assert "transcribe" not in info.tasks
    else:
        assert info.tasks == {task}
