"""Edges that calls meet now and then: waits, keys, missing paths, half a text."""

import base64
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from _script import BLOCKING, FakeVLLM, Play, Talker, status

import vllm_modalities
from vllm_modalities import (
    APITimeoutError,
    AuthenticationError,
    Client,
    EmbeddingRequest,
    InvalidRequestError,
)
from vllm_modalities._many import each
from vllm_modalities.endpoints.rerank import rerank
from vllm_modalities.errors import BadRequestError

BOUND = 30  # seconds after which a test gives up on what hangs


def test_a_deadline_ends_a_thread_s_wait_for_another_call_s_discovery() -> None:
    server, asked, answered = FakeVLLM(), threading.Event(), threading.Event()

    def slow(answer):
        asked.set()
        answered.wait(BOUND)
        return answer

    server.once("/version", slow)
    client = Talker(BLOCKING, server).client
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.embed, "first")
        assert asked.wait(BOUND)
        with pytest.raises(APITimeoutError, match=r"who they are; raise `deadline`"):
            client.with_options(deadline=0.05).embed("second")
        answered.set()
        assert len(first.result(BOUND)) == 1
    assert len(client.embed("third")) == 1


def test_a_path_that_a_server_lacks_is_asked_for_once() -> None:
    """Both hide their routes and have the older path alone; which model is meant stays unclear."""
    network = {
        f"http://{name}": FakeVLLM("cross-encoder", model=name, routes=None) for name in "ab"
    }
    for server in network.values():
        server.always("/v1/rerank", status(404))
    play = Play(network)
    for _ in range(3):
        with pytest.raises(InvalidRequestError, match="several models"):
            play.call(rerank, "q", ["a"])
    for server in network.values():
        assert len(server.asked("/v1/rerank")) == 1
        assert len(server.asked("/rerank")) == 3


NO_PAIR = base64.b64encode(b"\xff\xfe").decode()  # what it stands for is no text


@pytest.mark.parametrize("credentials", ["of-my-own:secret", "%%%secret", NO_PAIR])
def test_credentials_that_are_no_basic_pair_are_hidden_too(talk, credentials) -> None:
    server = FakeVLLM()
    server.always("*", status(401, f"you sent Basic {credentials}"))
    client = talk(server, headers={"Authorization": f"Basic {credentials}"})
    with pytest.raises(AuthenticationError) as caught:
        client.embed("a")
    assert credentials not in str(caught.value)
    assert credentials.encode() not in caught.value.body
    assert "***" in str(caught.value)


def test_a_name_that_the_package_has_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'vllm_modalities' has no attribute 'Embedings'"):
        vllm_modalities.Embedings  # noqa: B018
    assert {"Client", "Embeddings", "__all__"} <= set(dir(vllm_modalities))


def test_a_key_and_a_password_in_the_address_are_one_too_many() -> None:
    with pytest.raises(InvalidRequestError, match="drop one") as caught:
        Client("http://user:password@server", api_key="key")
    assert caught.value.findings[0].field == "api_key"
    assert "password" not in str(caught.value)


@pytest.mark.parametrize(
    "value", [["\ud800"], "\ud800", {"a": "\ud800"}], ids=["list", "text", "map"]
)
def test_half_a_surrogate_pair_in_a_request_of_one_s_own_is_refused_in_words(talk, value) -> None:
    server = FakeVLLM()
    request = EmbeddingRequest(input="a", extra_body={"of_my_own": value})
    with pytest.raises(InvalidRequestError, match="half a surrogate pair"):
        talk(server).send(request)
    assert server.posts == []


@pytest.mark.parametrize("wrong", [object(), "client", {}], ids=["object", "text", "mapping"])
def test_a_client_of_another_library_is_refused(wrong) -> None:
    with pytest.raises(InvalidRequestError, match="httpx or httpx2") as caught:
        Client("http://server", http_client=wrong)
    assert caught.value.findings[0].field == "http_client"


def test_no_item_is_at_fault_where_a_harmless_one_is_refused_in_the_same_words() -> None:
    """Then none is looked into by itself."""
    error = BadRequestError(400, "no such option", server="http://server")
    ran: list[object] = []

    def refused(batch: object = None):
        ran.append(batch)
        raise error
        yield

    failures = Play(FakeVLLM()).run(each([range(8)], refused, refused, on_error="return"))
    assert failures == [(place, error) for place in range(8)]
    assert ran == [range(8), range(4), range(4, 8), None]


MANY = {
    "embed": ("embed", ["a", "b"]),
    "embed_tokens": ("late-interaction", ["a", "b"]),
    "classify": ("cross-encoder", ["a", "b"]),
    "rerank": ("cross-encoder", "q", ["a", "b"]),
    "score": ("cross-encoder", "q", ["a", "b"]),
}


@pytest.mark.parametrize("method", MANY)
def test_a_batch_size_is_a_whole_number_of_python_s_or_of_numpy_s(talk, method) -> None:
    kind, *arguments = MANY[method]
    server = FakeVLLM(kind)
    call = getattr(talk(server), method)
    for wrong in (1.5, np.float64(2), float("nan"), 0, "2"):
        with pytest.raises(InvalidRequestError, match="batch_size must be"):
            call(*arguments, batch_size=wrong)
    assert server.posts == []
    assert len(call(*arguments, batch_size=np.int64(1))) == 2
    assert len(server.posts) == 2
