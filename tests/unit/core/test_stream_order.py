"""Streams whose results come as they are there, and whose items are taken apart first."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from _script import BLOCKING, KINDS, FakeVLLM, Talker

from vllm_modalities import VLLMModalitiesError
from vllm_modalities._flow import Flow, Stream, Work

BOUND = 30  # seconds after which a test gives up on what hangs


class FailedError(VLLMModalitiesError):
    pass


class Each:
    """Makes a flow of every item."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def __enter__(self) -> Each:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add(self, item: object) -> Flow:
        return self.made(item)

    def rest(self) -> None:
        return None

    def end(self) -> None:
        pass


def streamed(kind: str, items: Iterable[Any], made: Any, *, stop: int = 10**9, **how: Any) -> list:
    """All results, or the first `stop`; the error that ended them last."""

    def begin(_: object) -> Flow[Each]:
        return Each(made)
        yield

    def build(_: object) -> Stream:
        return Stream(items, begin, **how)

    client = Talker(kind, FakeVLLM(), max_concurrency=4).client
    found: list = []

    async def main() -> None:
        with anyio.fail_after(BOUND):
            async with aclosing(client._stream(build)) as results:
                async for result in results:
                    found.append(result)
                    if len(found) == stop:
                        break

    try:
        if kind != BLOCKING:
            anyio.run(main, backend=kind)
            return found
        results = client._stream(build)
        for result in results:
            found.append(result)
            if len(found) == stop:
                break
        results.close()
    except VLLMModalitiesError as error:
        found.append(error)
    return found


def gives(value: object) -> Flow:
    yield from Work(lambda: None)
    return value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 3, 200])
def test_every_result_comes_once_in_whatever_order(kind, count) -> None:
    found = streamed(kind, iter(range(count)), gives, ordered=False)
    assert sorted(found) == list(range(count))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_slow_holds_nothing_up(kind) -> None:
    last = threading.Event()

    def made(item: int) -> Flow:
        if item == 0:
            assert (yield from Work(lambda: last.wait(BOUND)))
        if item == 19:
            last.set()
        return (yield from gives(item))

    found = streamed(kind, range(20), made, ordered=False)
    assert sorted(found) == list(range(20))
    assert found[-1] != 1
    assert found.index(0) > 8


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_ends_it_when_it_comes(kind) -> None:
    def made(item: int) -> Flow:
        if item == 3:
            raise FailedError("no")
        return (yield from gives(item))

    *found, error = streamed(kind, range(100), made, ordered=False)
    assert isinstance(error, FailedError)
    assert len(found) < 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ordered", [True, False])
def test_it_can_be_left_while_flows_are_under_way(kind, ordered) -> None:
    ended = []

    def made(item: int) -> Flow:
        try:
            return (yield from gives(item))
        finally:
            ended.append(item)

    assert len(streamed(kind, iter(range(10**6)), made, stop=5, ordered=ordered)) == 5
    assert len(ended) < 40


@pytest.mark.parametrize("kind", KINDS)
def test_items_are_taken_apart_as_they_are_needed(kind) -> None:
    apart = []

    def parts(item: int) -> Flow[Iterable[tuple[int, int]]]:
        apart.append(item)
        count = yield from Work(lambda: item % 3)
        return ((item, n) for n in range(count))

    def items() -> Iterator[int]:
        yield from range(10**6)

    found = streamed(kind, items(), gives, stop=10, parts=parts)
    assert found == [(item, n) for item in range(11) for n in range(item % 3)]
    assert max(apart) < 30


@pytest.mark.parametrize("kind", KINDS)
def test_an_item_that_cannot_be_taken_apart_comes_after_those_before_it(kind) -> None:
    def parts(item: int) -> Flow[Iterable[int]]:
        if item == 2:
            raise FailedError("no")
        return (yield from gives((item, item)))

    *found, error = streamed(kind, range(9), gives, parts=parts)
    assert found == [0, 0, 1, 1]
    assert isinstance(error, FailedError)
