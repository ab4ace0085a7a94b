"""A call that is given up frees all it holds, and the server sees its connection close."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from _script import Answer, FakeVLLM
from faults._calling import called, nothing_left
from faults._rows import ROWS, Row
from faults._server import BOUND, Server, Wire, serving

from vllm_modalities import APIConnectionError, AsyncClient, Client

EACH = pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])


class Held:
    """A fault that answers nothing, and notes when a request has come and when its client left."""

    def __init__(self) -> None:
        self.came = threading.Semaphore(0)
        self.left = threading.Semaphore(0)

    def __call__(self, wire: Wire, _: Answer) -> None:
        self.came.release()
        if wire.gone(BOUND):
            self.left.release()

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.came.acquire(timeout=BOUND)

    def assert_left(self, count: int) -> None:
        for _ in range(count):
            assert self.left.acquire(timeout=BOUND), "the server still waits"


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture(autouse=True)
def tidy() -> Iterator[None]:
    with nothing_left():
        yield


def holding(row: Row, held: Held) -> Server:
    server = Server(row.vllm())
    server.always(held)
    return server


@EACH
def test_cancelling_a_task_closes_its_connection(row, held) -> None:
    async def main(url: object) -> None:
        async with AsyncClient(url, **row.client) as client:
            call = asyncio.create_task(called(client, row))
            await asyncio.to_thread(held.wait_for, 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await asyncio.to_thread(held.assert_left, 1)
            assert len(asyncio.all_tasks()) == 1

    with serving(row.vllm()) as server:
        server.always(held)
        asyncio.run(main(server.url))
        assert server.drained()


@EACH
def test_closing_an_async_client_ends_its_calls(row, held) -> None:
    async def main(url: object) -> None:
        client = AsyncClient(url, max_retries=0, **row.client)
        call = asyncio.create_task(called(client, row))
        await asyncio.to_thread(held.wait_for, 1)
        await client.close()
        with pytest.raises(APIConnectionError):
            await call
        assert len(asyncio.all_tasks()) == 1

    with serving(row.vllm()) as server:
        server.always(held)
        asyncio.run(main(server.url))
        held.assert_left(1)
        assert server.drained()


@EACH
def test_closing_a_client_ends_the_calls_of_other_threads(row, held) -> None:
    with serving(row.vllm()) as server, ThreadPoolExecutor(1) as pool:
        server.always(held)
        client = Client(server.url, max_retries=0, **row.client)
        call = pool.submit(called, client, row)
        held.wait_for(1)
        client.close()
        with pytest.raises(APIConnectionError):
            call.result(BOUND)
        held.assert_left(1)
        assert server.drained()


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as at a terminal: a shell starts what runs in its background with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("texts", [1, 8])
def test_ctrl_c_ends_the_call_and_closing_the_client_its_helpers(held, texts) -> None:
    def interrupt() -> None:
        held.wait_for(texts)
        signal.pthread_kill(main, signal.SIGINT)

    main = threading.get_ident()
    with serving(FakeVLLM()) as server:
        server.always(held)
        helper = threading.Thread(target=interrupt)
        with Client(server.url) as client:
            helper.start()
            with pytest.raises(KeyboardInterrupt):
                client.embed([f"text {i}" for i in range(texts)], batch_size=1)
        held.assert_left(texts)
        helper.join(BOUND)
        for thread in threading.enumerate():
            if thread.daemon and thread.name not in ("wire", "listener"):
                thread.join(BOUND)
        assert server.drained()


def use(client: Client) -> object:
    return client.embed("a text")


@pytest.mark.parametrize("used", [False, True])
def test_a_client_that_is_closed_says_so(used) -> None:
    with serving(FakeVLLM()) as server:
        client = Client(server.url)
        if used:
            use(client)
        client.close()
        with pytest.raises(APIConnectionError, match="closed"):
            use(client)
