"""What real servers answered is what the table of rows says, and what the client makes of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Iterator
from functools import cache
from typing import Any

import pytest
from contract.case import RIG, Case
from contract.cases import CASES, UNSEEN, of
from contract.pages import MATRIX, SEEN, evidence, matrix, printed
from contract.replay import key_of_asked, replayed
from contract.seen import Seen
from contract.through import ROWS, check, through

from vllm_modalities.server import ServerVersion
from vllm_modalities.simulator._recordings import Answer, Recordings, load

SERVERS = sorted(RIG)
RELEASES = [(server, release) for server in SERVERS for release in load(server).recorded]
CALLED = [case for case in CASES if case.call is not None]
SHOWING = [case for case in CASES if case.gates]


@cache
def recordings(server: str) -> Recordings:
    return load(server)


def answers(case: Case) -> Iterator[tuple[str, Answer]]:
    """What each release answered."""
    known = recordings(case.server)
    for release in known.recorded:
        answer = known.cases[case.name].of(release)
        assert answer is not None
        yield release, answer


def test_no_two_cases_have_one_name() -> None:
    names = [str(case) for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("server", SERVERS)
def test_the_recordings_are_of_the_cases_as_they_are_now(server: str) -> None:
    known = recordings(server).cases
    assert {name: case.asked for name, case in known.items()} == {
        case.name: case.asked for case in of(server)
    }


@pytest.mark.parametrize("server", SERVERS)
def test_every_case_was_put_to_every_recorded_release(server: str) -> None:
    known = recordings(server)
    for case in known.cases.values():
        told = [release for answer in case.answers for release in answer.releases]
        assert sorted(told, key=ServerVersion) == list(known.recorded)


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_of_a_release_says_that_it_is_one(server: str) -> None:
    known = recordings(server)
    for release in known.recorded:
        answer = known.cases["its release"].of(release)
        assert answer is not None
        assert answer.body["version"].startswith(release)


@pytest.mark.parametrize("case", SHOWING, ids=str)
def test_a_row_is_seen_on_its_releases_and_on_no_other(case: Case) -> None:
    for release, answer in answers(case):
        said = case.observed(Seen.of(case.asked, answer))
        for code, pattern in case.gates.items():
            if ROWS[code].affects(ServerVersion(release)):
                assert re.fullmatch(pattern, said), f"{code} is not seen on {release}"
        if not any(ROWS[code].affects(ServerVersion(release)) for code in case.gates):
            patterns = case.gates.values()
            assert not any(re.fullmatch(each, said) for each in patterns), f"on {release} too"


def test_every_row_is_seen_or_it_is_said_why_not() -> None:
    shown = {code for case in SHOWING for code in case.gates}
    assert shown | UNSEEN.keys() == ROWS.keys()
    assert not shown & UNSEEN.keys()


@pytest.fixture(scope="module")
def run() -> Iterator[Any]:
    with asyncio.Runner() as runner:

        async def awaited(call: Awaitable[Any]) -> Any:
            return await call

        yield lambda call: runner.run(awaited(call))


@pytest.mark.parametrize("case", CALLED, ids=str)
def test_both_clients_refuse_and_read_what_the_server_would(case: Case, run: Any) -> None:
    key = key_of_asked(case.asked)
    for release, answer in answers(case):
        server = replayed(case.server, release)
        for client in server.clients:
            server.seen.clear()
            outcome = through(case, client, run)
            check(case, release, outcome, Seen.of(case.asked, answer))
            assert (key in server.seen) is (outcome.refused is None)


def test_the_page_of_answers_is_the_one_that_is_printed() -> None:
    assert MATRIX.read_text("utf-8") == matrix()


def test_the_page_has_every_case_once() -> None:
    lines = [line.replace("\\", "") for line in MATRIX.read_text("utf-8").splitlines()]
    for case in CASES:
        row = f"| {case.name} | {case.server} |".replace("\\", "")
        assert sum(line.startswith(row) for line in lines) == 1, row


def test_the_table_knows_on_which_releases_its_rows_were_put_to_the_test() -> None:
    assert SEEN.read_text("utf-8") == printed(evidence())
