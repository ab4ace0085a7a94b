"""When a request is sent again, and when it is not."""

import pytest
from _script import Answer, FakeVLLM, Play, broken, status

from vllm_modalities import _retry
from vllm_modalities._context import Context
from vllm_modalities._flow import Done, Request, Together, step
from vllm_modalities.endpoints.embed import embed
from vllm_modalities.errors import (
    APIConnectionError,
    APIStatusError,
    InternalServerError,
    RateLimitError,
)

EMBEDDINGS = "/v1/embeddings"
PASSING = {str(code): status(code) for code in (408, 425, 429, 502, 503, 504)}
PASSING |= {"reset": broken("ReadError"), "refused": broken("ConnectError")}
LASTING = {str(code): status(code) for code in (400, 401, 403, 413, 422, 500, 505)}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_a_failure_that_may_pass_is_tried_again(fault) -> None:
    server = FakeVLLM()
    server.once(EMBEDDINGS, fault, fault)
    play = Play(server)
    assert len(play.call(embed, "a")) == 1
    assert len(server.posts) == 3
    assert len(play.pauses) == 2


@pytest.mark.parametrize("fault", LASTING.values(), ids=LASTING)
def test_a_failure_that_lasts_is_not_tried_again(fault) -> None:
    server = FakeVLLM()
    server.once(EMBEDDINGS, fault)
    play = Play(server)
    with pytest.raises(APIStatusError):
        play.call(embed, "a")
    assert len(server.posts) == 1
    assert play.pauses == []


@pytest.mark.parametrize("retries", [0, 1, 2, 5])
def test_the_last_error_is_raised_after_max_retries(retries: int) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, status(503))
    server.once(EMBEDDINGS, *[status(502)] * retries, status(504))
    server.well(EMBEDDINGS)
    play = Play(server, max_retries=retries)
    with pytest.raises(InternalServerError) as caught:
        play.call(embed, "a")
    assert caught.value.status_code == 504
    assert len(server.posts) == 1 + retries


def test_pauses_grow_and_stay_bounded() -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, status(503))
    play = Play(server, max_retries=12)
    with pytest.raises(InternalServerError):
        play.call(embed, "a")
    assert play.pauses[0] < play.pauses[3] < play.pauses[-1] <= 10
    assert min(play.pauses) > 0


def first_pauses(count: int) -> list[float]:
    found = []
    for _ in range(count):
        server = FakeVLLM()
        server.once(EMBEDDINGS, status(503))
        play = Play(server)
        play.call(embed, "a")
        found += play.pauses
    return found


def test_clients_that_failed_together_do_not_come_back_together() -> None:
    pauses = first_pauses(40)
    assert min(pauses) >= _retry.FIRST_WAIT
    assert max(pauses) <= _retry.FIRST_WAIT + _retry.JITTER
    assert max(pauses) - min(pauses) > _retry.JITTER / 4


def test_a_retry_after_that_is_shorter_than_the_pause_does_not_shorten_it() -> None:
    server = FakeVLLM()
    server.once(EMBEDDINGS, status(503, Retry_After="0"))
    play = Play(server)
    play.call(embed, "a")
    assert play.pauses[0] >= _retry.FIRST_WAIT


def test_a_call_that_ran_out_of_time_says_nothing_of_its_server() -> None:
    server = FakeVLLM()
    play = Play(server, deadline=5)
    play.call(embed, "warm up")

    def late(_: object) -> Answer:
        play.now += 6
        return Answer(broken="ReadTimeout")

    server.once(EMBEDDINGS, late)
    with pytest.raises(APIConnectionError):
        play.call(embed, "a")
    assert play.fleet.replicas[0].error is None


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_waited_for(code: int) -> None:
    server = FakeVLLM()
    server.once(EMBEDDINGS, status(code, Retry_After="17"))
    play = Play(server)
    play.call(embed, "a")
    assert play.pauses == [17]


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"timeout": 10}, "10"),
        ({"timeout": 10}, "1e9"),
        ({"deadline": 5}, "6"),
        ({"timeout": 0.1}, None),
    ],
)
def test_a_wait_that_would_outlast_the_call_is_not_begun(options, asked: str | None) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, status(429, **({"Retry_After": asked} if asked else {})))
    play = Play(server, **options)
    with pytest.raises(RateLimitError):
        play.call(embed, "a")
    assert play.pauses == []
    assert len(server.posts) == 1


def test_tries_and_waits_share_one_timeout() -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, status(503, Retry_After="4"))
    play = Play(server, timeout=10, max_retries=9)
    with pytest.raises(InternalServerError):
        play.call(embed, "a")
    posts = [request for request in play.requests if request.method == "POST"]
    assert [request.timeout for request in posts] == [10, 6, 2]


def test_every_request_carries_the_call_s_deadline() -> None:
    play = Play(FakeVLLM(), deadline=8)
    play.call(embed, ["a", "b"], batch_size=1)
    assert {request.ends for request in play.requests} == {8}
    assert all(request.timeout <= 8 for request in play.requests)


def test_a_bug_met_on_the_way_is_never_retried() -> None:
    server = FakeVLLM()

    def bug(_: object) -> None:
        raise ZeroDivisionError

    server.always(EMBEDDINGS, bug)
    with pytest.raises(ZeroDivisionError):
        Play(server).call(embed, "a")
    assert len(server.posts) == 1


def test_a_closed_flow_sends_nothing_more() -> None:
    """Closing one that waits for its answer is what cancelling a call does."""
    play = Play(FakeVLLM())
    play.call(embed, "a")  # discovery is over
    flow = embed(Context(play.fleet), "a")
    together = step(flow)
    assert isinstance(together, Together)
    (batch,) = together.flows
    assert isinstance(step(batch), Request)
    batch.close()
    flow.close()
    assert isinstance(step(batch), Done)
    assert isinstance(step(flow), Done)
