"""Streams of both clients: order, laziness, bounds, ends, errors, and nothing left behind."""

import asyncio
import gc
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from _script import ASYNCIO, BLOCKING, KINDS, TRIO, FakeVLLM, Talker

from vllm_modalities import VLLMModalitiesError
from vllm_modalities._flow import Flow, Stream, Work

BOUND = 30  # seconds after which a test gives up on what hangs


class Pairs:
    """Makes a flow of every two items; notes what becomes of it."""

    def __init__(self, made: Callable[[list], Flow] | None = None) -> None:
        self._made = made or gives
        self._items: list = []
        self.log: list[str] = []

    def __enter__(self) -> "Pairs":
        self.log.append("enter")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.log.append(f"exit {kind.__name__ if kind else 'well'}")

    def add(self, item: object) -> Flow | None:
        self._items.append(item)
        return self.rest() if len(self._items) == 2 else None

    def rest(self) -> Flow | None:
        items, self._items = self._items, []
        return self._made(items) if items else None

    def end(self) -> None:
        self.log.append("end")


def gives(value: object) -> Flow:
    yield from Work(lambda: None)
    return value


def begins(pairs: Pairs) -> Callable[[object], Flow]:
    def begin(first: object) -> Flow:
        pairs.log.append(f"begin {first}")
        return pairs
        yield

    return begin


class Streamer:
    """Consumes streams of a test's own by a client's driver: `step` after each result."""

    def __init__(self, kind: str, **options: Any) -> None:
        self.kind = kind
        self.client = Talker(kind, FakeVLLM(), **options).client

    def __call__(
        self, items: Any, pairs: Pairs, step: Callable[[list], object] = lambda _: None
    ) -> list:
        """All results, the error that ended them last; `step` stops by returning True."""
        found: list = []
        build = lambda _: Stream(items, begins(pairs))  # noqa: E731
        if self.kind == BLOCKING:
            results = self.client._stream(build)
            try:
                for result in results:
                    found.append(result)
                    if step(found):
                        break
            except VLLMModalitiesError as error:
                found.append(error)
            results.close()
            return found

        async def main() -> None:
            with anyio.fail_after(BOUND):
                async with aclosing(self.client._stream(build)) as results:
                    try:
                        async for result in results:
                            found.append(result)
                            if step(found):
                                break
                    except VLLMModalitiesError as error:
                        found.append(error)

        anyio.run(main, backend=self.kind)
        return found


@pytest.fixture(params=KINDS)
def stream(request) -> Callable[..., Streamer]:
    return partial(Streamer, request.param)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    ends = time.monotonic() + BOUND
    while ours := [t for t in set(threading.enumerate()) - before if "_work" in t.name]:
        assert time.monotonic() < ends, ours
        time.sleep(0.001)


class RefusedError(VLLMModalitiesError):
    pass


def in_twos(count: int) -> list[list[int]]:
    return [list(range(count))[i : i + 2] for i in range(0, count, 2)]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 300])
@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("lazy", [False, True])
def test_results_come_in_order(stream, count, most, lazy) -> None:
    items = (i for i in range(count)) if lazy else list(range(count))
    pairs = Pairs()
    assert stream(max_concurrency=most)(items, pairs) == in_twos(count)
    assert pairs.log == (["begin 0", "enter", "end", "exit well"] if count else [])


def test_an_async_iterable_will_do_for_the_async_client() -> None:
    async def items() -> AsyncIterator[int]:
        for i in range(7):
            await anyio.lowlevel.checkpoint()
            yield i

    for kind in (ASYNCIO, TRIO):
        assert Streamer(kind)(items(), Pairs()) == in_twos(7)
    (error,) = Streamer(BLOCKING)(items(), Pairs())
    assert "only AsyncClient" in str(error)


@pytest.mark.parametrize("most", [1, 3])
def test_items_are_taken_no_further_ahead_than_the_window(stream, most) -> None:
    taken, ahead = [], []

    def items() -> Iterator[int]:
        for i in range(200):
            taken.append(i)
            yield i

    def step(found: list) -> None:
        ahead.append(len(taken) - 2 * len(found))

    stream(max_concurrency=most)(items(), Pairs(), step)
    assert max(ahead) <= 2 * 2 * most


def test_an_endless_stream_can_be_left(stream) -> None:
    def items() -> Iterator[int]:
        i = 0
        while True:
            yield i
            i += 1

    pairs = Pairs()
    assert stream()(items(), pairs, lambda found: len(found) == 5) == in_twos(10)
    assert pairs.log == ["begin 0", "enter", "exit GeneratorExit"]


def test_items_are_taken_in_the_caller_s_own_thread(stream) -> None:
    threads = []

    def items() -> Iterator[int]:
        for i in range(50):
            threads.append(threading.get_ident())
            yield i

    stream()(items(), Pairs())
    assert set(threads) == {threading.get_ident()}


def test_nothing_is_taken_before_a_result_is_asked_for(stream) -> None:
    taken = []
    items = (taken.append(i) for i in range(9))
    stream().client._stream(lambda _: Stream(items, begins(Pairs())))
    assert taken == []


def test_flows_run_side_by_side(stream) -> None:
    both = threading.Barrier(2, timeout=BOUND)

    def meets(items: list) -> Flow:
        yield from Work(both.wait)
        return items

    assert stream(max_concurrency=2)(range(8), Pairs(meets)) == in_twos(8)


def test_a_slow_flow_does_not_hold_up_those_after_it(stream) -> None:
    """All of the window is done while the first flow waits for the last of it."""
    last = threading.Event()

    def made(items: list) -> Flow:
        if items[0] == 0:
            wait = partial(last.wait, BOUND)
        else:
            wait = last.set if items[0] == 6 else lambda: None
        yield from Work(wait)
        return items

    assert stream(max_concurrency=2)(range(40), Pairs(made)) == in_twos(40)
    assert last.is_set()


def fails_at(place: int, error: BaseException) -> Callable[[list], Flow]:
    def made(items: list) -> Flow:
        yield from Work(lambda: None)
        if place in items:
            raise error
        return items

    return made


@pytest.mark.parametrize("place", [0, 3, 20])
def test_an_error_is_raised_in_its_place(stream, place) -> None:
    error, pairs = RefusedError("no"), Pairs(fails_at(place, RefusedError("no")))
    found = stream(max_concurrency=2)(range(30), pairs)
    assert found[:-1] == in_twos(place // 2 * 2)
    assert str(found[-1]) == str(error)
    assert pairs.log == ["begin 0", "enter", "exit RefusedError"]


@pytest.mark.parametrize("bug", [ZeroDivisionError, SystemExit])
def test_a_bug_in_a_flow_is_raised(stream, bug) -> None:
    if bug is SystemExit and stream().kind != BLOCKING:
        bug = ArithmeticError  # an exit ends the whole event loop
    with pytest.raises(bug):
        stream()(range(30), Pairs(fails_at(9, bug())))


@pytest.mark.parametrize("place", [0, 1, 4, 20])
def test_an_error_of_the_caller_s_iterator_comes_after_the_results_before_it(stream, place) -> None:
    def items() -> Iterator[int]:
        yield from range(place)
        raise RefusedError("no more")

    found = stream(max_concurrency=2)(items(), Pairs())
    assert found[:-1] == in_twos(place)
    assert str(found[-1]) == "no more"


def test_an_error_of_an_async_iterator_does_too() -> None:
    async def items() -> AsyncIterator[int]:
        for i in range(5):
            yield i
        raise RefusedError("no more")

    found = Streamer(ASYNCIO)(items(), Pairs())
    assert found[:-1] == in_twos(5)
    assert str(found[-1]) == "no more"


def test_an_item_that_is_refused_does_too(stream) -> None:
    class Picky(Pairs):
        def add(self, item: object) -> Flow | None:
            if item == 5:
                raise RefusedError("not 5")
            return super().add(item)

    found = stream()(range(30), Picky())
    assert found[:-1] == in_twos(5)
    assert str(found[-1]) == "not 5"


def test_what_all_amounts_to_is_raised_after_the_last_result(stream) -> None:
    class Bad(Pairs):
        def end(self) -> None:
            raise RefusedError("in the end")

    pairs = Bad()
    found = stream()(range(4), pairs)
    assert found[:-1] == in_twos(4)
    assert str(found[-1]) == "in the end"
    assert pairs.log[-1] == "exit RefusedError"


def test_an_error_of_the_beginning_is_raised(stream) -> None:
    def begin(first: object) -> Flow:
        raise RefusedError(f"not {first}")
        yield

    one = stream()
    build = lambda _: Stream([7], begin)  # noqa: E731
    with pytest.raises(RefusedError, match="not 7"):
        if one.kind == BLOCKING:
            next(one.client._stream(build))
        else:
            anyio.run(lambda: anext(one.client._stream(build)), backend=one.kind)


def test_what_has_not_begun_never_does_when_the_stream_is_left() -> None:
    """The window is full, and two flows are under way, when the first result is there."""
    full, free, began = threading.Event(), threading.Event(), []

    def items() -> Iterator[int]:
        yield from range(7)
        full.set()
        yield from range(7, 99)

    def made(items: list) -> Flow:
        began.append(items)
        yield from Work(partial((free if items[0] else full).wait, BOUND))
        return items

    try:
        pairs = Pairs(made)
        assert Streamer(BLOCKING, max_concurrency=2)(items(), pairs, lambda _: True) == in_twos(2)
    finally:
        free.set()
    assert len(began) <= 3


def test_an_item_may_make_a_flow_by_itself(stream) -> None:
    class Ones(Pairs):
        def add(self, item: object) -> Flow | None:
            self._items.append(item)
            return self.rest()

    assert stream()(range(5), Ones()) == [[i] for i in range(5)]


@pytest.mark.parametrize("kind", [ASYNCIO, TRIO])
def test_what_is_under_way_is_cancelled_when_the_stream_is_left(kind) -> None:
    log = []

    def made(items: list) -> Flow:
        from vllm_modalities._flow import Sleep

        try:
            if items[0] > 0:
                log.append("waits")
                yield from Sleep(BOUND)
            return items
        finally:
            log.append("over")

    found = Streamer(kind, max_concurrency=2)(range(99), Pairs(made), lambda _: len(log) > 2)
    assert found == in_twos(2)
    assert log.count("over") == log.count("waits") + 1


@pytest.mark.parametrize("kind", [ASYNCIO, TRIO])
def test_a_caller_that_is_cancelled_leaves_nothing_behind(kind) -> None:
    from vllm_modalities._flow import Sleep

    log = []

    def made(items: list) -> Flow:
        try:
            log.append("waits")
            yield from Sleep(BOUND)
        finally:
            log.append("over")

    one = Streamer(kind)

    async def main() -> None:
        stream = one.client._stream(lambda _: Stream(range(9), begins(Pairs(made))))
        with anyio.move_on_after(0.05) as scope:
            await anext(stream)
        assert scope.cancelled_caught
        assert log.count("over") == log.count("waits") == 5

    anyio.run(main, backend=kind)


def test_a_stream_that_is_forgotten_is_closed() -> None:
    pairs = Pairs()
    client = Talker(BLOCKING, FakeVLLM()).client
    next(client._stream(lambda _: Stream(range(99), begins(pairs))))
    gc.collect()
    assert pairs.log[-1] == "exit GeneratorExit"


def test_a_forgotten_async_stream_is_closed_by_the_event_loop() -> None:
    pairs = Pairs()
    client = Talker(ASYNCIO, FakeVLLM()).client

    async def main() -> None:
        await anext(client._stream(lambda _: Stream(range(99), begins(pairs))))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        asyncio.run(main())
        gc.collect()
    # From Python 3.13 on, the end of the loop comes upon it first.
    assert pairs.log[-1] in ("exit GeneratorExit", "exit CancelledError")


def test_tasks_that_begin_at_once_are_kept_track_of(stream) -> None:
    """As under asyncio's eager task factory, from Python 3.12 on."""
    one = Streamer(ASYNCIO)

    async def main() -> list:
        loop = asyncio.get_running_loop()
        if hasattr(asyncio, "eager_task_factory"):
            loop.set_task_factory(asyncio.eager_task_factory)
        build = lambda _: Stream(range(9), begins(Pairs()))  # noqa: E731
        return [result async for result in one.client._stream(build)]

    assert asyncio.run(main()) == in_twos(9)
