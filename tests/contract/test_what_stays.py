"""What a call leaves behind: nothing that only Python's search for circles would find.

Answers are large. One in a circle stays until enough small objects have been made after it, which
for a loop of calls is hundreds of MB.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from contract.test_simulator_clients import CALLS, SERVERS, TEXTS

from vllm_modalities import AsyncClient, Client
from vllm_modalities._transport.http1 import H11Reader, ToolsReader
from vllm_modalities.simulator import Simulator, simulate
from vllm_modalities.vectors import decode


@pytest.fixture(scope="module")
def servers() -> Iterator[Simulator]:
    with simulate(tasks=SERVERS) as running:
        yield running


@pytest.fixture(params=[H11Reader, ToolsReader], autouse=True)
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_modalities._transport.pool.reader_kind", lambda: request.param)


@contextmanager
def circles() -> Iterator[list[str]]:
    """Filled at the end with the kinds of the client's objects that only the search finds."""
    found: list[str] = []
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        kinds = [type(one) for one in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    ours = [f"{kind.__module__}.{kind.__qualname__}" for kind in kinds]
    found += [n for n in ours if n.startswith("vllm_modalities.") and ".simulator." not in n]


def test_a_circle_is_found() -> None:
    def circle() -> None:
        client = Client("http://localhost:1")
        client.circle = client  # type: ignore[attr-defined]

    with circles() as found:
        circle()
    assert "vllm_modalities.client.Client" in found


def whole(call: Any) -> None:
    if hasattr(call, "__next__"):
        list(call)


async def awaited(call: Any) -> None:
    if hasattr(call, "__aiter__"):
        async for _ in call:
            pass
    else:
        await call


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_the_client_leaves_no_circle(servers: Simulator, name: str) -> None:
    with Client(servers.urls) as client:
        whole(CALLS[name](client))  # what is loaded and learned stays
        with circles() as found:
            whole(CALLS[name](client))
    assert found == []


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_the_async_client_leaves_no_circle(servers: Simulator, name: str) -> None:
    found: list[str] = []

    async def main(call: Callable[[Any], Any]) -> None:
        async with AsyncClient(servers.urls) as client:
            await awaited(call(client))
            with circles() as left:
                await awaited(call(client))
            found.extend(left)

    asyncio.run(main(CALLS[name]))
    assert found == []


@pytest.mark.parametrize("transport", ["bytes", "base64"])
def test_the_vectors_of_one_answer_stay_in_the_memory_that_they_came_in(
    servers: Simulator, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    read: list[Any] = []

    def reading(*given: Any) -> Any:
        read.append(from_body(*given))
        return read[-1]

    from_body = decode.from_body
    monkeypatch.setattr(decode, "from_body", reading)
    with Client(servers.urls, transport=transport) as client:
        client.embed("the width is learned")
        whole, parts = client.embed(TEXTS), client.embed(TEXTS, batch_size=1)
    assert np.shares_memory(whole.vectors, read[1])
    assert not any(np.shares_memory(parts.vectors, one) for one in read)
    np.testing.assert_array_equal(whole.vectors, parts.vectors)
    whole.vectors[:] = 0  # they are the caller's


def test_an_answer_that_is_kept_stays_as_it_came(
    servers: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poisoned(*given: Any) -> Any:
        vectors = from_body(*given)
        vectors[0, 0] = np.nan
        return vectors

    from_body = decode.from_body
    with Client(servers.urls, transport="bytes", keep_raw=True) as client:
        client.embed("the width is learned")
        monkeypatch.setattr(decode, "from_body", poisoned)
        found = client.embed(TEXTS, on_error="return")
    came = np.frombuffer(found.raw[0], np.float32).reshape(found.vectors.shape)
    assert np.isnan(found.vectors[0]).all()
    assert np.isnan(came).sum() == 1
