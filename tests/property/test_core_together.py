"""Flows within flows: in order, bounded, and never waiting for each other's places."""

import threading
from typing import Any

import anyio
import pytest
from _script import ASYNCIO, BLOCKING, TRIO, URL, FakeVLLM, Talker
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities._flow import Flow, Request, Together

TREES = st.recursive(st.integers(0, 99), lambda trees: st.lists(trees, max_size=4), max_leaves=25)
BOUND = 30  # seconds after which a test gives up on what hangs


def flow_of(tree: Any) -> Flow:
    """A leaf makes a request and gives its number; a node gives what its flows give."""
    if isinstance(tree, int):
        yield from Request("GET", "/version", server=URL)
        return tree
    return (yield from Together([flow_of(branch) for branch in tree]))


def run(kind: str, client: Any, tree: Any) -> Any:
    if kind == BLOCKING:
        got: list[Any] = []
        call = threading.Thread(
            target=lambda: got.append(client._call(lambda _: flow_of(tree))), daemon=True
        )
        call.start()
        call.join(BOUND)
        return got[0]

    async def main() -> Any:
        with anyio.fail_after(BOUND):
            return await client._call(lambda _: flow_of(tree))

    return anyio.run(main, backend=kind)


@given(tree=TREES, limit=st.integers(1, 4))
@pytest.mark.parametrize("kind", [BLOCKING, ASYNCIO, TRIO])
def test_any_tree_of_flows_comes_back_as_it_is_and_within_the_limit(kind, tree, limit) -> None:
    server = FakeVLLM()
    client = Talker(kind, server, max_concurrency=limit).client
    assert run(kind, client, tree) == tree
    assert server.most_in_flight <= limit


@pytest.mark.parametrize("kind", [BLOCKING, ASYNCIO, TRIO])
def test_a_wide_tree_fills_the_limit(kind) -> None:
    """Otherwise the test above would hold for a driver that does one thing at a time."""
    server = FakeVLLM()
    client = Talker(kind, server, max_concurrency=3).client
    for _ in range(50):
        run(kind, client, [[i] * 5 for i in range(8)])
    assert server.most_in_flight == 3
