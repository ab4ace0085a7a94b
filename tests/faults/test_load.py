"""Many calls at once, and servers that come and go under them: each text answered, and right."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
from _script import FakeVLLM, vectors_of
from faults._calling import calling, nothing_left
from faults._faults import half_a_body, reset, sending, status
from faults._rows import KINDS
from faults._server import Server, serving

from vllm_modalities import AsyncClient, Client


@pytest.fixture(autouse=True)
def tidy() -> Iterator[None]:
    with nothing_left():
        yield


def test_two_thousand_calls_at_once_on_one_async_client() -> None:
    texts = [f"text {i}" for i in range(2000)]

    async def main(url: str) -> list[np.ndarray]:
        async with AsyncClient(url) as client:
            results = await asyncio.gather(*map(client.embed, texts))
        return [result.vectors[0] for result in results]

    with serving(FakeVLLM()) as server:
        vectors = asyncio.run(main(server.url))
        assert (np.stack(vectors) == vectors_of(texts, 4)).all()
        assert server.vllm.most_in_flight <= 32
        assert server.connections <= 32 + 2
        assert server.drained()


def test_sixty_four_threads_on_one_client() -> None:
    def work(thread: int) -> bool:
        texts = [f"text {thread} {i}" for i in range(60)]
        result = client.embed(texts, batch_size=6)
        return bool((result.vectors == vectors_of(texts, 4)).all())

    with serving(FakeVLLM()) as server:
        with Client(server.url) as client, ThreadPoolExecutor(64) as pool:
            assert all(pool.map(work, range(64)))
        assert server.vllm.most_in_flight <= 32
        assert server.drained()


FAULTS = (status(503), status(429), reset, sending(half_a_body))


@contextmanager
def chaos(servers: list[Server], seed: int, every: int) -> Iterator[list[int]]:
    """After every so many requests one server fails, or comes back; one is always well."""
    dice, over, acts = random.Random(seed), threading.Event(), [0]
    away = set()

    def run() -> None:
        seen = 0
        while not over.wait(0.001):
            came = sum(len(server.vllm.sent) for server in servers)
            if came - seen < every:
                continue
            seen = came
            acts[0] += 1
            server = dice.choice(servers)
            if server in away:
                away.discard(server)
                server.well()
                server.listen()
            elif len(away) < len(servers) - 1:
                away.add(server)
                fault = dice.choice((*FAULTS, None))
                if fault is None:
                    server.go_away()
                else:
                    server.always(fault)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield acts
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_every_text_is_answered_while_replicas_come_and_go(kind, seed) -> None:
    texts = [f"text {i}" for i in range(6000)]
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(FakeVLLM())) for _ in range(3)]
        urls = [server.url for server in servers]
        with calling(kind, urls, max_retries=8) as caller:
            caller.do(caller.client.embed("warm up"))
            with chaos(servers, seed, every=10) as acts:
                result = caller.do(caller.client.embed(texts, batch_size=20))
        assert (result.vectors == vectors_of(texts, 4)).all()
        assert acts[0] > 5, "nothing happened"
