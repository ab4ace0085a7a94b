"""Real servers still answer as they were recorded, and both clients make the same of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from functools import cache
from typing import Any

import pytest
from contract.case import KEY, RIG, Case
from contract.cases import CASES
from contract.record import ask
from contract.seen import Seen
from contract.through import check, through

from vllm_modalities import AsyncClient, Client
from vllm_modalities._rig import Rig
from vllm_modalities.simulator._recordings import load

recordings = cache(load)


def recorded(case: Case, release: str) -> Seen:
    answer = recordings(case.server).cases[case.name].of(release)
    assert answer is not None
    return Seen.of(case.asked, answer)


def quick(case: Case) -> bool:
    """Not what takes seconds and shows no row: what Whisper hears and DeepSeek-OCR writes."""
    slow = case.server in {"transcribe", "ocr"} and recorded(case, "0.32.0").status == 200
    return not slow or bool(case.gates) or case.name in {"heard", "translated", "a page"}


LIVE = [
    pytest.param(case, id=str(case), marks=pytest.mark.servers(RIG[case.server]))
    for case in CASES
    if quick(case)
]


@pytest.fixture(scope="module")
def run() -> Iterator[Any]:
    with asyncio.Runner() as runner:

        async def awaited(call: Awaitable[Any]) -> Any:
            return await call

        yield lambda call: runner.run(awaited(call))


@cache
def both(url: str, key: str | None) -> tuple[Client, AsyncClient]:
    return Client(url, api_key=key, max_retries=0), AsyncClient(url, api_key=key, max_retries=0)


@pytest.mark.parametrize("case", LIVE)
def test_a_server_answers_as_recorded_and_both_clients_read_it(
    case: Case, servers: Rig, run: Any
) -> None:
    server = servers[RIG[case.server]]
    before = recorded(case, server.release)
    now = Seen.of(case.asked, ask(server.base_url, case.asked, server.release))
    assert case.observed(now) == case.observed(before)
    assert now.headers.keys() == before.headers.keys()
    key = KEY if case.server == "embed-matryoshka" else None
    for client in both(server.base_url, key) if case.call else ():
        check(case, server.release, through(case, client, run), now)
