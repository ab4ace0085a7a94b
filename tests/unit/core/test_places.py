"""Whose turn it is: the client's places, and a window for each server that has too much to do."""

import math
import threading

import pytest
from _script import FakeVLLM, status
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import (
    APIStatusError,
    APITimeoutError,
    BadRequestError,
    RateLimitError,
    ServerOverloadedError,
    VLLMModalitiesError,
)
from vllm_modalities._places import Places, Window

EMBEDDINGS = "/v1/embeddings"
OVERLOADS = {
    "429": RateLimitError(429, "no", server="s"),
    "503": ServerOverloadedError(503, "no", server="s"),
    "504": APIStatusError(504, "no", server="s"),
    "late": APITimeoutError("no", server="s"),
}
OTHERS = {
    "400": BadRequestError(400, "no", server="s"),
    "502": APIStatusError(502, "no", server="s"),
    "other": VLLMModalitiesError("no"),
}


def judged(window: Window, error: Exception | None = None) -> None:
    """One request, whose error comes out as it went in."""
    if error is None:
        with window.judging():
            return
    with pytest.raises(type(error)) as caught, window.judging():
        raise error
    assert caught.value is error


def busy(in_flight: int) -> Window:
    window = Window()
    window.in_flight = in_flight
    return window


def test_a_window_has_no_limit_while_nothing_is_wrong() -> None:
    window = busy(2000)
    for _ in range(100):
        judged(window)
    assert window.limit == math.inf
    assert not window.is_full


@pytest.mark.parametrize("error", OVERLOADS.values(), ids=OVERLOADS)
def test_an_overload_halves_what_is_in_flight(error) -> None:
    window = busy(32)
    judged(window, error)
    assert window.limit == 16
    assert window.is_full
    judged(window, error)
    assert window.limit == 8


@pytest.mark.parametrize("error", OTHERS.values(), ids=OTHERS)
def test_an_error_of_another_kind_leaves_the_window_as_it_is(error) -> None:
    window = busy(32)
    judged(window, error)
    assert window.limit == math.inf


def test_requests_that_fail_together_are_one_overload() -> None:
    window, error = busy(32), OVERLOADS["503"]
    begun = [window.judging() for _ in range(32)]
    for one in begun:
        one.__enter__()
    for one in begun:
        assert not one.__exit__(type(error), error, None)
    assert window.limit == 16


def test_one_request_is_always_let_through() -> None:
    window = busy(1)
    for _ in range(50):
        judged(window, OVERLOADS["503"])
    assert window.limit == 1
    window.in_flight = 0
    assert not window.is_full


def test_a_windowful_of_answers_makes_room_for_one_more() -> None:
    window = busy(32)
    judged(window, OVERLOADS["503"])
    for limit in range(16, 32):
        for _ in range(limit + 1):
            judged(window)
        assert window.limit >= limit + 1
    assert window.limit < 34


class Ready:
    """An event that only remembers."""

    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        self.is_set = True


WINDOWS = 3


@given(
    most=st.integers(1, 5),
    limits=st.lists(st.integers(1, 4), min_size=WINDOWS, max_size=WINDOWS),
    acts=st.lists(st.tuples(st.integers(0, WINDOWS), st.integers(0, 9)), max_size=60),
)
def test_places_are_given_in_order_to_as_many_as_may_be_in_flight(most, limits, acts) -> None:
    """Requests join the line (for a window, or for none) and leave it, from anywhere in it."""
    places = Places(most, Ready)
    windows = [Window() for _ in range(WINDOWS)]
    for window, limit in zip(windows, limits, strict=True):
        window.limit = limit
    line = []
    for kind, leaver in acts:
        if leaver < 4 and line:
            _, manager = line.pop(leaver % len(line))
            manager.__exit__(None, None, None)
        else:
            manager = places.turn(windows[kind] if kind < WINDOWS else None)
            line.append((manager.__enter__(), manager))
        turns = [turn for turn, _ in line]
        assert sum(turn.has_place for turn in turns) <= most
        for window in windows:
            mine = [turn for turn in turns if turn.window is window]
            assert window.in_flight == sum(turn.has_place for turn in mine) <= window.limit
            told = [turn.has_place if turn.ready is None else turn.ready.is_set for turn in mine]
            assert told == [turn.has_place for turn in mine]
            assert told == sorted(told, reverse=True), "a later one went first"
        free = most - sum(turn.has_place for turn in turns)
        assert free == 0 or all(turn.has_place or turn.window.is_full for turn in turns)
    for _, manager in line:
        manager.__exit__(None, None, None)
    assert [window.in_flight for window in windows] == [0] * WINDOWS


def test_a_place_is_given_back_whatever_came_of_the_request() -> None:
    places = Places(1, threading.Event)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), places.turn(None) as turn:
            assert turn.has_place
            assert turn.ready is None, "there was nothing to wait for"
            raise ZeroDivisionError


TEXTS = [f"text {i}" for i in range(600)]


class Slots(FakeVLLM):
    """Answers 503 to what comes while so many requests are under way, and notes how many are."""

    slots = 5

    def answer(self, sent):
        if sent.path == EMBEDDINGS:
            self.seen.append(self.in_flight)
            if self.in_flight > self.slots:
                self.sent.append(sent)
                return status(503)(None)
        return super().answer(sent)


@pytest.fixture
def slots() -> Slots:
    server = Slots()
    server.seen = []
    return server


def test_a_server_that_has_too_much_gets_less_at_once_and_every_text_is_answered(
    talk, slots, pauses
) -> None:
    client = talk(slots, max_concurrency=32, max_retries=50)
    assert len(client.embed(TEXTS, batch_size=1)) == len(TEXTS)
    assert max(slots.seen) <= 32
    later = slots.seen[len(slots.seen) // 2 :]
    assert sorted(later)[len(later) // 2] <= 2 * slots.slots
    slots.slots = 99
    assert len(client.embed(TEXTS, batch_size=1)) == len(TEXTS)
    window = client.client._fleet.replicas[0].window
    assert window.limit > 20


def test_a_busy_server_that_takes_all_it_is_given_is_given_all(talk) -> None:
    server = FakeVLLM()
    client = talk(server, max_concurrency=16)
    client.embed(TEXTS, batch_size=1)
    assert client.client._fleet.replicas[0].window.limit == math.inf


def test_one_server_s_overload_takes_nothing_from_another(talk, pauses) -> None:
    full, free = FakeVLLM(), FakeVLLM()
    full.always(EMBEDDINGS, status(503))
    client = talk({"http://full": full, "http://free": free})
    assert len(client.embed(TEXTS, batch_size=1)) == len(TEXTS)
    limits = [replica.window.limit for replica in client.client._fleet.replicas]
    assert limits[0] < math.inf
    assert limits[1] == math.inf
