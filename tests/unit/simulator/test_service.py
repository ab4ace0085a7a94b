"""How long simulated answers take: places follow a plan, not the timers."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities.simulator._service import Pace, Service


def test_without_places_every_request_takes_its_own_time() -> None:
    service = Service(Pace(seconds_per_request=2.0, seconds_per_token=0.5))
    assert [service.over(now, tokens=4) for now in (0.0, 0.0, 1.0)] == [4.0, 4.0, 5.0]


def test_requests_wait_for_one_of_the_places() -> None:
    service = Service(Pace(slots=2, seconds_per_request=1.0))
    assert [service.over(0.0, 0) for _ in range(5)] == [1.0, 1.0, 2.0, 2.0, 3.0]
    assert service.over(10.0, 0) == 11.0


@given(
    slots=st.integers(1, 4),
    gaps=st.lists(st.floats(0, 3, allow_subnormal=False), min_size=1, max_size=30),
)
def test_no_more_are_worked_on_at_once_than_there_are_places(slots, gaps) -> None:
    service, now, spans = Service(Pace(slots=slots, seconds_per_request=1.0)), 0.0, []
    for gap in gaps:
        now += gap
        end = service.over(now, 0)
        spans.append((end - 1.0, end))
        assert end >= now + 1.0 - 1e-9
    for begin, _ in spans:
        assert sum(first <= begin + 1e-9 < last - 1e-9 for first, last in spans) <= slots


def test_what_is_served_in_a_time_is_what_the_places_allow() -> None:
    service = Service(Pace(slots=3, seconds_per_request=0.5))
    ends = [service.over(0.0, 0) for _ in range(600)]
    assert sum(end <= 50.0 for end in ends) == 300


@pytest.mark.parametrize(
    ("pace", "slept"),
    [(Pace(), []), (Pace(seconds_per_token=0.5), [2.0]), (Pace(seconds_per_request=3.0), [3.0])],
)
def test_an_answer_is_held_for_its_time_and_no_time_is_no_pause(monkeypatch, pace, slept) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("vllm_modalities.simulator._service.asyncio.sleep", sleep)
    monkeypatch.setattr("vllm_modalities.simulator._service.time.monotonic", lambda: 7.0)
    service = Service(pace)
    asyncio.run(service.hold(4))
    assert pauses == slept
