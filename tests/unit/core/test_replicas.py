"""Several servers that do the same: who is asked, who is set aside, who comes back."""

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from _script import Answer, FakeVLLM, Play, broken, status

from vllm_modalities._context import Context
from vllm_modalities._fleet import FIRST_ASIDE, LONGEST_ASIDE, Replica
from vllm_modalities._flow import Together, step
from vllm_modalities._routing import known
from vllm_modalities.endpoints.embed import embed
from vllm_modalities.errors import APIConnectionError, BadRequestError, InternalServerError

A, B, C = "http://a", "http://b", "http://c"
EMBEDDINGS = "/v1/embeddings"


def replicas(*urls: str) -> dict[str, FakeVLLM]:
    return {url: FakeVLLM() for url in urls}


def down(server: FakeVLLM) -> None:
    server.always("*", broken("ConnectError"))


def test_another_server_is_asked_before_any_pause() -> None:
    servers = replicas(A, B, C)
    for url in (A, B):
        servers[url].always(EMBEDDINGS, status(503))
    play = Play(servers)
    assert len(play.call(embed, "a")) == 1
    assert sorted(play.hosts()) == [A, B, C]
    assert play.pauses == []


def test_a_server_that_another_call_finds_again_meanwhile_is_no_error() -> None:
    class Meanwhile:
        due, error = 1.0, None
        looks = iter(["known", None])

        @property
        def info(self) -> str | None:
            return next(self.looks, "known again")

    context: Any = SimpleNamespace(fleet=SimpleNamespace(clock=float, replicas=[Meanwhile()]))
    assert list(known(context)) == []


def test_a_refused_request_is_not_carried_to_another_server() -> None:
    servers = replicas(A, B)
    for server in servers.values():
        server.always(EMBEDDINGS, status(400))
    play = Play(servers)
    with pytest.raises(BadRequestError):
        play.call(embed, "a")
    assert len(play.hosts()) == 1


def test_the_server_with_least_outstanding_is_asked() -> None:
    """Flows are begun and left waiting for their answers: each goes where fewest wait."""
    play = Play(replicas(A, B, C))
    play.call(embed, "warm up")
    waiting = []
    for _ in range(6):
        flow = embed(Context(play.fleet), "a")
        together = step(flow)
        assert isinstance(together, Together)
        (inner,) = together.flows
        waiting.append((inner, step(inner)))
    counts = Counter(request.server for _, request in waiting)
    assert counts == {A: 2, B: 2, C: 2}
    for inner, _ in waiting[:2]:
        inner.close()  # what is cancelled counts no longer
    freed = {request.server for _, request in waiting[:2]}
    flow = embed(Context(play.fleet), "a")
    (inner,) = step(flow).flows
    assert step(inner).server in freed


def seconds_until_asked(play: Play, server: FakeVLLM) -> float:
    begun = play.now
    server.sent.clear()
    while not server.sent:
        play.now += 0.25
        play.call(embed, "a")
    return play.now - begun


def test_a_failing_server_is_set_aside_longer_each_time_and_comes_back() -> None:
    servers = replicas(A, B)
    play = Play(servers)
    play.call(embed, "warm up")
    down(servers[A])
    play.call(embed, "a")  # A fails, B answers
    absences = [seconds_until_asked(play, servers[A]) for _ in range(8)]
    assert absences[0] >= 1
    assert all(later >= 1.5 * earlier for earlier, later in pairwise(absences[:4]))
    assert max(absences) <= 60
    servers[A].well("*")
    seconds_until_asked(play, servers[A])
    for _ in range(2):
        play.call(embed, "a")
    assert servers[A].posts


def test_a_server_may_be_down_for_weeks() -> None:
    replica, now = Replica(A), 0.0
    for _ in range(50_000):
        replica.failed(APIConnectionError("gone", server=A), now)
        assert now < replica.aside_until <= now + LONGEST_ASIDE
        now = replica.aside_until
    replica.worked()
    replica.failed(APIConnectionError("gone", server=A), now)
    assert replica.aside_until == now + FIRST_ASIDE


def test_when_all_are_set_aside_they_are_tried_all_the_same() -> None:
    servers = replicas(A, B)
    play = Play(servers, max_retries=0)
    play.call(embed, "warm up")
    for server in servers.values():
        server.once(EMBEDDINGS, status(503))
    with pytest.raises(InternalServerError):
        play.call(embed, "a")
    assert len(play.call(embed, "a")) == 1


def test_the_error_of_a_fleet_that_is_down_names_a_server() -> None:
    servers = replicas(A, B)
    for server in servers.values():
        down(server)
    play = Play(servers, max_retries=1)
    with pytest.raises(APIConnectionError) as caught:
        play.call(embed, "a")
    assert caught.value.server in servers


def test_no_further_server_is_asked_once_the_time_is_up() -> None:
    """The first one's failure took all the time there was."""
    servers = replicas(A, B)
    play = Play(servers, timeout=10)
    play.call(embed, "warm up")
    play.requests.clear()

    def late(_: object) -> Answer:
        play.now += 11
        return Answer(broken="ReadTimeout")

    for server in servers.values():
        server.always(EMBEDDINGS, late)
    with pytest.raises(APIConnectionError):
        play.call(embed, "a")
    assert len(play.hosts()) == 1
