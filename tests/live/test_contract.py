"""Real servers still answer as they were recorded, and both clients make the same of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from typing import Any

import pytest
from contract.alike import same_words
from contract.case import KEY, RIG, Case
from contract.cases import CASES
from contract.record import ask
from contract.seen import Seen
from contract.through import check, through

from vllm_modalities import AsyncClient, Client
from vllm_modalities._rig import Rig
from vllm_modalities._rig.releases import RELEASE
from vllm_modalities.simulator._recordings import load

recordings = cache(load)


def recorded(case: Case, release: str) -> Seen:
    answer = recordings(case.server).cases[case.name].of(release)
    assert answer is not None
    return Seen.of(case.asked, answer)


SLOW = {"transcribe", "ocr"}
# Of what takes seconds: the methods, rows that no other case shows, and nothing that only waits.
WORTH = {
    "heard",
    "translated",
    "a page",
    "the second chunk's time",
    "two sentences by verbose_json",
}
WAITS = {"an image URL that cannot be reached"}


def quick(case: Case) -> bool:
    works = case.server in SLOW and recorded(case, RELEASE).status == 200
    return case.name not in WAITS and (case.name in WORTH or not works)


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


@pytest.fixture(scope="module")
def both(servers: Rig, run: Any) -> Iterator[Callable[[str], tuple[Client, AsyncClient]]]:
    """Both clients of a kind of server; they keep what they have learned of it."""

    @cache
    def made(kind: str) -> tuple[Client, AsyncClient]:
        url, key = servers[RIG[kind]].base_url, KEY if kind == "embed-matryoshka" else None
        pair = Client(url, api_key=key, max_retries=0), AsyncClient(url, api_key=key, max_retries=0)
        opened.append(pair)
        return pair

    opened: list[tuple[Client, AsyncClient]] = []
    yield made
    for client, twin in opened:
        client.close()
        run(twin.close())


@pytest.mark.parametrize("case", LIVE)
def test_a_server_answers_as_recorded_and_both_clients_read_it(
    case: Case, servers: Rig, both: Any, run: Any
) -> None:
    server = servers[RIG[case.server]]
    before = recorded(case, server.release)
    now = Seen.of(case.asked, ask(server.base_url, case.asked, server.release))
    assert same_words(case.observed(now), case.observed(before))
    assert now.headers.keys() == before.headers.keys()
    for client in both(case.server) if case.call else ():
        check(case, server.release, through(case, client, run), now)
