"""The two drivers: order, bounds, stops, crashes, cancellation, deadlines."""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from _script import ASYNCIO, BLOCKING, KINDS, TRIO, Answer, FakeVLLM, Talker, status, vectors_of

from vllm_modalities import APITimeoutError, BadRequestError, VLLMModalitiesError
from vllm_modalities._flow import Alone, Flow, Sleep, Together, Work

BOUND = 30  # seconds after which a test gives up on what hangs


class Runner:
    """Runs flows of a test's own by a client's driver."""

    def __init__(self, kind: str, server: FakeVLLM | None = None, **options) -> None:
        self.talker = Talker(kind, server or FakeVLLM(), **options)

    def __call__(self, flow: Flow) -> object:
        call = self.talker.client._call
        if self.talker.kind == BLOCKING:
            return within_bound(lambda: call(lambda _: flow))

        async def main() -> object:
            with anyio.fail_after(BOUND):
                return await call(lambda _: flow)

        return anyio.run(main, backend=self.talker.kind)


def within_bound(call: Callable[[], object]) -> object:
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(call).result(BOUND)
    finally:
        pool.shutdown(wait=False)


@pytest.fixture(params=KINDS)
def runner(request) -> Callable[..., Runner]:
    return lambda *args, **options: Runner(request.param, *args, **options)


def gives(value: object) -> Flow:
    return value
    yield


def fails(error: Exception) -> Flow:
    raise error
    yield


def works(call: Callable[[], object]) -> Flow:
    return (yield from Work(call))


def all_of(flows, **options) -> Flow:
    return (yield from Together(flows, **options))


class RefusedError(VLLMModalitiesError):
    pass


@pytest.mark.parametrize("count", [0, 1, 5, 100])
@pytest.mark.parametrize("lazy", [False, True])
def test_together_keeps_the_order(runner, count, lazy) -> None:
    flows = (works(lambda i=i: i) for i in range(count))
    assert runner(max_concurrency=4)(all_of(flows if lazy else list(flows))) == list(range(count))


def test_an_error_of_ours_is_an_outcome_in_its_place(runner) -> None:
    error = RefusedError("no")
    assert runner()(all_of([gives(1), fails(error), gives(3)])) == [1, error, 3]


def test_after_a_stop_no_flow_begins_and_each_left_out_gets_the_error(runner) -> None:
    begun, error = [], RefusedError("stop")

    def flow(i: int) -> Flow:
        begun.append(i)
        if i == 2:
            raise error
        return i
        yield

    outcomes = runner(max_concurrency=1)(all_of(map(flow, range(9)), stop=lambda _: True))
    assert outcomes == [0, 1, *[error] * 7]
    assert begun == [0, 1, 2]


@pytest.mark.parametrize("width", [1, 3, 8])
def test_an_iterator_of_flows_is_never_read_further_ahead_than_the_window(runner, width) -> None:
    read, ended, most = [], [], []

    def flows() -> Iterator[Flow]:
        for i in range(50):
            read.append(i)
            most.append(len(read) - len(ended))
            yield works(lambda: ended.append(1))

    runner(max_concurrency=width)(all_of(flows()))
    assert max(most) <= width


def test_a_bug_in_one_flow_is_raised_and_begins_nothing_more(runner) -> None:
    begun = []

    def flow(i: int) -> Flow:
        begun.append(i)
        yield from Work(lambda: None)
        if i == 1:
            raise ZeroDivisionError
        return i

    with pytest.raises(ZeroDivisionError):
        runner(max_concurrency=2)(all_of(map(flow, range(99))))
    assert len(begun) < 99


def test_a_bug_in_the_caller_s_iterator_is_raised(runner) -> None:
    def flows() -> Iterator[Flow]:
        yield gives(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        runner()(all_of(flows()))


def test_a_bug_in_work_is_raised_where_the_flow_asked_for_it(runner) -> None:
    def flow() -> Flow:
        with pytest.raises(ZeroDivisionError):
            yield from Work(lambda: 1 // 0)
        return "caught"

    assert runner()(flow()) == "caught"


@pytest.mark.parametrize("bug", [KeyboardInterrupt, SystemExit])
def test_no_flow_is_lost_when_an_exit_strikes_beside_it(runner, bug) -> None:
    """Both flows are under way at once, so one of them is in no caller's own thread."""
    both = threading.Barrier(2, timeout=BOUND)

    def flow(exits: bool) -> Flow:
        yield from Work(both.wait)
        if exits:
            raise bug
        return "done"

    for exits in ((True, False), (False, True)):
        with pytest.raises((bug, BaseExceptionGroup)):
            runner(max_concurrency=2)(all_of([flow(one) for one in exits]))


def test_what_is_no_step_is_a_clear_type_error(runner) -> None:
    def flow() -> Flow:
        yield "not a step"

    with pytest.raises(TypeError, match="'not a step'"):
        runner()(flow())


def test_sleep_sleeps(runner, pauses) -> None:
    def flow() -> Flow:
        yield from Sleep(7)

    runner()(flow())
    assert pauses == [7]


def test_flows_that_are_alone_never_overlap(runner) -> None:
    inside, most = [], []

    def alone() -> Flow:
        inside.append(1)
        most.append(len(inside))
        yield from Work(lambda: None)
        inside.pop()

    def flow() -> Flow:
        yield from Alone(alone())

    runner()(all_of([flow() for _ in range(20)]))
    assert max(most) == 1
    assert len(most) == 20


@pytest.mark.parametrize("kind", [ASYNCIO, TRIO])
def test_work_runs_off_the_event_loop_s_thread(kind) -> None:
    assert Runner(kind)(works(threading.get_ident)) != threading.get_ident()


def test_work_runs_in_the_caller_s_own_thread_where_nothing_else_goes_on() -> None:
    client = Talker(BLOCKING, FakeVLLM()).client
    assert client._call(lambda _: works(threading.get_ident)) == threading.get_ident()


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_never_more_requests_in_flight_than_max_concurrency(talk, limit) -> None:
    server = FakeVLLM(refuses=lambda text: "no" if text.endswith("7") else None)
    texts = [f"text {i}" for i in range(60)]
    client = talk(server, max_concurrency=limit)
    result = client.embed(texts, batch_size=10, on_error="return")
    assert len(result.failures) == 6
    assert 1 < server.most_in_flight + (limit == 1) <= limit + (limit == 1)


def test_threads_that_share_a_client_share_its_limit() -> None:
    server = FakeVLLM()
    client = Talker(BLOCKING, server, max_concurrency=3)
    texts = [f"text {i}" for i in range(20)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: client.embed(texts, batch_size=2), range(8)))
    assert all((result.vectors == vectors_of(texts, 4)).all() for result in results)
    assert server.most_in_flight <= 3


@pytest.mark.parametrize("name", ["embed", "rerank"])
@pytest.mark.parametrize("deadline", [0, -1, 1e-9])
def test_a_deadline_that_has_passed_ends_the_call(talk, deadline, name) -> None:
    arguments = {"embed": ["a"], "rerank": ["q", ["a"]]}[name]
    with pytest.raises(APITimeoutError, match="`deadline`"):
        getattr(talk(FakeVLLM(), deadline=deadline), name)(*arguments)


@pytest.mark.parametrize("name", ["timeout", "deadline"])
@pytest.mark.parametrize("seconds", [1e9, 1e15, math.inf])
def test_no_time_is_too_long(talk, name, seconds) -> None:
    client = talk(FakeVLLM(), max_concurrency=1, **{name: seconds})
    assert len(client.embed(["a", "b", "c"], batch_size=1)) == 3


def test_a_deadline_is_shared_by_all_requests_of_a_call(talk, pauses) -> None:
    """The server moves the clock: what is left of the call is no time for a third request."""
    late, real = [0.0], time.monotonic
    server = FakeVLLM()
    client = talk(server, deadline=1000, max_concurrency=1)
    client.embed("known")
    server.sent.clear()
    server.always("/v1/embeddings", lambda answer: late.append(late[-1] + 600) or answer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: real() + late[-1])
        try:
            result = client.embed(["a", "b", "c"], batch_size=1, on_error="return")
            errors = [error for _, error in result.failures]
        except APITimeoutError as error:
            errors = [error]
    assert errors
    assert all(isinstance(error, APITimeoutError) for error in errors)
    assert len(server.posts) <= 2


@pytest.mark.parametrize("kind", [ASYNCIO, TRIO])
def test_a_deadline_ends_a_call_to_a_server_that_never_answers(kind) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", lambda _: Answer(silent=True))
    with pytest.raises(APITimeoutError):
        Talker(kind, server, deadline=0.2).embed("a")


@pytest.mark.parametrize("kind", [ASYNCIO, TRIO])
def test_a_deadline_ends_the_wait_for_a_place(kind) -> None:
    server = FakeVLLM()
    server.once("/v1/embeddings", lambda _: Answer(silent=True))
    client = Talker(kind, server, max_concurrency=1).client

    async def main() -> None:
        await client.servers()
        async with anyio.create_task_group() as group:
            group.start_soon(client.embed, "takes the only place")
            await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(BOUND), pytest.raises(APITimeoutError, match="`deadline`"):
                await client.with_options(deadline=0.05).embed("waits")
            group.cancel_scope.cancel()

    anyio.run(main, backend=kind)


def test_a_deadline_ends_a_thread_s_wait_for_a_place() -> None:
    server, taken, go_on = FakeVLLM(), threading.Event(), threading.Event()
    client = Talker(BLOCKING, server, max_concurrency=1).client
    client.servers()

    def hold(answer: Answer) -> Answer:
        taken.set()
        assert go_on.wait(BOUND)
        return answer

    server.once("/v1/embeddings", hold)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.embed, "takes the only place")
        assert taken.wait(BOUND)
        try:
            with pytest.raises(APITimeoutError, match="`deadline`"):
                client.with_options(deadline=0.05).embed("waits")
        finally:
            go_on.set()
        assert len(first.result(BOUND)) == 1


@pytest.mark.parametrize("kind", [ASYNCIO, TRIO])
def test_a_deadline_ends_the_wait_for_another_call_s_discovery(kind) -> None:
    server = FakeVLLM()
    server.once("/version", lambda _: Answer(silent=True))
    client = Talker(kind, server).client

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.servers)
            await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(3), pytest.raises(APITimeoutError):
                await client.with_options(deadline=0.05).embed("waits")
            group.cancel_scope.cancel()

    anyio.run(main, backend=kind)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(BOUND):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in the package
            await asyncio.sleep(0)


def test_cancelling_a_call_leaves_no_task_and_gives_its_places_back() -> None:
    server = FakeVLLM()
    client = Talker(ASYNCIO, server, max_concurrency=2).client
    server.once("a", lambda _: Answer(silent=True))
    server.once("b", lambda _: Answer(silent=True))

    async def main() -> None:
        call = asyncio.create_task(client.embed(["a", "b", "c"], batch_size=1))
        await until(lambda: len(server.posts) == 2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert asyncio.all_tasks() == {asyncio.current_task()}
        async with asyncio.timeout(BOUND):
            assert len(await client.embed(["d", "e", "f"], batch_size=1)) == 3

    asyncio.run(main())


def test_cancelling_a_call_in_discovery_lets_the_next_one_discover() -> None:
    server = FakeVLLM()
    client = Talker(ASYNCIO, server).client
    server.once("/version", lambda _: Answer(silent=True))

    async def main() -> None:
        call = asyncio.create_task(client.embed("a"))
        await until(lambda: server.sent)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(BOUND):
            assert len(await client.embed("a")) == 1

    asyncio.run(main())


def test_ctrl_c_does_not_wait_for_helpers() -> None:
    """The helper is held fast until the caller's own KeyboardInterrupt has come through."""
    held, go_on = threading.Event(), threading.Event()
    caller = threading.get_ident()

    def work() -> None:
        if threading.get_ident() == caller:
            assert held.wait(BOUND)
            raise KeyboardInterrupt
        held.set()
        assert go_on.wait(BOUND)

    client = Talker(BLOCKING, FakeVLLM(), max_concurrency=2).client
    begun, before = [], set(threading.enumerate())

    def flow(i: int) -> Flow:
        begun.append(i)
        yield from Work(work)

    with pytest.raises(KeyboardInterrupt):
        client._call(lambda _: all_of(map(flow, range(9))))
    assert not go_on.is_set()
    go_on.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(BOUND)
    assert len(begun) == 2
    assert len(client.embed("still usable")) == 1


def test_helpers_end_with_the_call() -> None:
    client = Talker(BLOCKING, FakeVLLM(), max_concurrency=8).client
    before = set(threading.enumerate())
    for _ in range(3):
        client.embed([str(i) for i in range(40)], batch_size=1)
    assert set(threading.enumerate()) <= before


def test_an_async_client_may_be_made_before_its_event_loop_and_outlive_it() -> None:
    client = Talker(ASYNCIO, FakeVLLM(), max_concurrency=1).client
    for _ in range(2):
        assert len(asyncio.run(client.embed(["a", "b"], batch_size=1))) == 2


def test_a_flow_is_closed_whatever_came_of_it(runner) -> None:
    closed = []

    def flow(error: Exception | None) -> Flow:
        try:
            yield from Work(lambda: None)
            if error:
                raise error
        finally:
            closed.append(error)

    errors = [None, RefusedError("no"), ZeroDivisionError()]
    for error in errors:
        try:
            runner()(flow(error))
        except (RefusedError, ZeroDivisionError):
            continue
    assert closed == errors


def test_a_refusal_is_raised_from_the_drivers_unchanged(talk) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", status(400, "words"))
    with pytest.raises(BadRequestError) as caught:
        talk(server).embed("a")
    assert caught.value.message == "words"
