"""Every method of both clients works on the simulator of every recorded release."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from contract.assets import ASSETS, page

from vllm_modalities import AsyncClient, Client, EmbeddingRequest
from vllm_modalities.simulator import Simulator, releases, simulate
from vllm_modalities.simulator._simulate import TASKS

SERVERS = (*TASKS, "classify")
SOUND = ASSETS["museum.flac"]()
TEXTS = ["a cat", "trains to Berlin"]

CALLS: dict[str, Callable[[Any], Any]] = {
    "embed": lambda c: c.embed(TEXTS),
    "embed_iter": lambda c: c.embed_iter(TEXTS, batch_size=1),
    "rerank": lambda c: c.rerank("a cat", TEXTS, top_n=1),
    "score": lambda c: c.score("a cat", TEXTS),
    "classify": lambda c: c.classify(TEXTS, model="classifier"),
    "transcribe": lambda c: c.transcribe(SOUND, language="en"),
    "translate": lambda c: c.translate(SOUND, language="de"),
    "ocr": lambda c: c.ocr(page(), max_tokens=200),
    "send": lambda c: c.send(EmbeddingRequest(model="minilm", input=("a cat",))),
    "servers": lambda c: c.servers(),
}

CHECKS: dict[str, Callable[[Any], bool]] = {
    "embed": lambda found: found.vectors.shape == (2, 384) and np.isfinite(found.vectors).all(),
    "embed_iter": lambda found: [len(batch) for batch in found] == [1, 1],
    "rerank": lambda found: [one.index for one in found] == [0],
    "score": lambda found: found.scores.argmax() == 0,
    "classify": lambda found: found.probs.shape == (2, 3),
    "transcribe": lambda found: found.text.startswith("This is a simulated transcript"),
    "translate": lambda found: found.text.startswith("This is a simulated transcript"),
    "ocr": lambda found: found.pages[0].finish_reason == "stop" and len(found.pages[0].blocks) == 3,
    "send": lambda found: found.status == 200,
    "servers": lambda found: len(found) == len(SERVERS) and all(server.healthy for server in found),
}
"""Whether what came back is what the simulator says."""

BESIDE = {"close", "with_options"}
"""Methods that ask no server for anything."""

UNRECORDED = {"embed_sparse", "embed_tokens", "token_classify"}
"""Methods whose very request, for something a token, no server was recorded with."""


@pytest.fixture(scope="module", params=releases(*SERVERS))
def servers(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    with simulate(version=request.param, tasks=SERVERS) as running:
        yield running


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Any], Any]]:
    with asyncio.Runner() as runner:

        async def awaited(call: Any) -> Any:
            return [one async for one in call] if hasattr(call, "__aiter__") else await call

        yield lambda call: runner.run(awaited(call))


def test_every_method_has_a_call() -> None:
    methods = {name for name, _ in inspect.getmembers(Client, inspect.isfunction)}
    assert {
        name for name in methods if not name.startswith("_")
    } == CALLS.keys() | BESIDE | UNRECORDED
    assert CALLS.keys() == CHECKS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_method_of_the_client_works(servers: Simulator, name: str) -> None:
    with Client(servers.urls, max_retries=0) as client:
        assert CHECKS[name](CALLS[name](client))


@pytest.mark.parametrize("name", CALLS)
def test_the_same_method_of_the_async_client_works(
    servers: Simulator, run: Callable[[Any], Any], name: str
) -> None:
    client = AsyncClient(servers.urls, max_retries=0)
    assert CHECKS[name](run(CALLS[name](client)))
    run(client.close())
