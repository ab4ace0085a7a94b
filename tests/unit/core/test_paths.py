"""Routes that are missing, spelled otherwise, or listed and yet no task."""

import pytest
from _script import NOT_FOUND, ROUTES, FakeVLLM, Play, body, status

from vllm_modalities.endpoints.embed import embed
from vllm_modalities.endpoints.rerank import rerank
from vllm_modalities.errors import InternalServerError, NotFoundError, UnsupportedTaskError

ARGUMENTS = ("query", ["a", "b"])
UNLISTED = [NOT_FOUND, body({"detail": "Method Not Allowed"}, 405)]


def reranker(**told: object) -> FakeVLLM:
    return FakeVLLM("cross-encoder", **told)


def test_the_path_that_the_key_guards_is_preferred() -> None:
    server = reranker()
    Play(server).call(rerank, *ARGUMENTS)
    assert [sent.path for sent in server.posts] == ["/v1/rerank"]


@pytest.mark.parametrize("listed", [("/classify", "/rerank"), ("/classify", "/v1/rerank")])
def test_the_path_that_is_listed_is_taken_at_once(listed: tuple[str, ...]) -> None:
    server = reranker(routes=listed)
    Play(server).call(rerank, *ARGUMENTS)
    assert [sent.path for sent in server.posts] == [listed[-1]]


@pytest.mark.parametrize("missing", UNLISTED, ids=["404", "405"])
def test_a_missing_path_is_tried_once_in_its_other_spelling_and_remembered(missing) -> None:
    server = reranker(routes=None)
    server.always("/v1/rerank", missing)
    play = Play(server)
    for _ in range(3):
        assert len(play.call(rerank, *ARGUMENTS)) == 2
    assert [sent.path for sent in server.posts] == ["/v1/rerank", "/rerank", "/rerank", "/rerank"]


def test_a_listed_path_that_is_missing_falls_back_on_the_other_that_is_listed() -> None:
    server = reranker()
    server.always("/v1/rerank", NOT_FOUND)
    assert len(Play(server).call(rerank, *ARGUMENTS)) == 2


def test_no_path_left_is_an_unsupported_task() -> None:
    server = reranker(routes=None)
    for path in ("/v1/rerank", "/rerank"):
        server.always(path, NOT_FOUND)
    play = Play(server)
    for _ in range(2):
        with pytest.raises(UnsupportedTaskError, match="/v1/rerank or /rerank"):
            play.call(rerank, *ARGUMENTS)
    assert len(server.posts) == 2


@pytest.mark.parametrize(
    "words",
    [
        {"error": {"message": "The model `m` does not exist.", "type": "NotFoundError"}},
        {"error": {"message": "no", "detail": "of a model"}},
        {"message": "no such deployment"},
        b"<html>nginx</html>",
        b"",
    ],
)
def test_a_404_that_is_not_the_router_s_is_raised_as_it_is(words) -> None:
    server = reranker()
    server.once("/v1/rerank", body(words, 404))
    with pytest.raises(NotFoundError):
        Play(server).call(rerank, *ARGUMENTS)
    assert len(server.posts) == 1


NO_EMBEDDINGS = status(501, "The model does not support Embeddings API")


def test_501_is_an_unsupported_task_and_remembered() -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", NO_EMBEDDINGS)
    play = Play(server)
    with pytest.raises(UnsupportedTaskError, match="does not support Embeddings API"):
        play.call(embed, "a")
    with pytest.raises(UnsupportedTaskError, match="does not support Embeddings API") as again:
        play.call(embed, "a")
    assert "say so" not in str(again.value)
    assert len(server.posts) == 1


def test_a_501_about_one_request_is_that_request_s_alone() -> None:
    server = FakeVLLM()
    server.once("/v1/embeddings", status(501, "Only base64 data URLs are supported for now."))
    play = Play(server)
    with pytest.raises(InternalServerError, match="Only base64"):
        play.call(embed, "a")
    assert len(play.call(embed, "a")) == 1


def test_a_task_that_one_server_lacks_is_asked_of_another() -> None:
    servers = {"http://a": FakeVLLM(), "http://b": FakeVLLM()}
    servers["http://a"].always("/v1/embeddings", NO_EMBEDDINGS)
    play = Play(servers)
    for _ in range(2):
        assert len(play.call(embed, "a")) == 1
    assert play.hosts() == ["http://a", "http://b", "http://b"]


def test_a_server_that_returns_with_another_model_is_given_another_chance() -> None:
    """What a server lacks is a fact about the model it serves, not about its address."""
    server = FakeVLLM()
    server.always("/v1/embeddings", NO_EMBEDDINGS)
    play = Play(server)
    with pytest.raises(UnsupportedTaskError):
        play.call(embed, "a")
    server.well("/v1/embeddings")
    server.models[:] = [{"id": "other", "root": "hub/other"}]
    server.model = "other"
    play.now += 3600
    assert len(play.call(embed, "a")) == 1


def test_a_path_that_an_upgrade_brings_is_found() -> None:
    server = reranker(routes=None, version="0.1.0")
    for path in ("/v1/rerank", "/rerank"):
        server.always(path, NOT_FOUND)
    play = Play(server)
    with pytest.raises(UnsupportedTaskError):
        play.call(rerank, *ARGUMENTS)
    server.well("/v1/rerank")
    server.version, server.routes = "0.32.0", ROUTES["cross-encoder"]
    play.now += 3600
    assert len(play.call(rerank, *ARGUMENTS)) == 2
