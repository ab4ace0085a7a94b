"""`deadline` bounds a whole call at every endpoint, whatever the server does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _script import FakeVLLM
from faults._calling import calling, nothing_left, outcome
from faults._faults import silence, slow_body, slow_head
from faults._rows import KINDS, ROWS
from faults._server import serving

from vllm_modalities import APITimeoutError


@pytest.fixture(autouse=True)
def tidy() -> Iterator[None]:
    with nothing_left():
        yield


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_call_to_a_silent_server_ends_at_its_deadline(row, kind) -> None:
    with serving(row.vllm()) as server, calling(kind, server.url, **row.client) as caller:
        healthy = caller(row)
        server.always(silence)
        assert outcome(caller, row, healthy, deadline=0.3) == "APITimeoutError"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("play", [silence, slow_head, slow_body])
def test_a_call_of_many_requests_has_one_deadline(kind, play) -> None:
    """One after another, they would be silent for as long as the server is patient each."""
    with serving(FakeVLLM()) as server:
        with calling(kind, server.url, max_concurrency=1) as caller:
            caller.do(caller.client.embed("warm up"))
            server.always(play)
            client = caller.client.with_options(deadline=0.3)
            with pytest.raises(APITimeoutError):
                caller.do(client.embed(["a"] * 20, batch_size=1))
        assert len(server.vllm.posts) <= 2
