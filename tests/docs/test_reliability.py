"""The page of the rules says the numbers that the code has."""

import re

from docs._pages import ROOT

from vllm_modalities import _fleet, _many, _retry
from vllm_modalities.client import Client

PAGE = " ".join((ROOT / "docs" / "reliability.md").read_text("utf-8").split())


def numbers(pattern: str) -> list[float]:
    found = re.search(pattern, PAGE)
    assert found is not None, pattern
    return [float(number) for number in found.groups()]


def test_the_statuses_that_are_tried_again() -> None:
    found = re.search(r"\| ([\d, ]+) \| yes \|", PAGE)
    assert found is not None
    assert {int(code) for code in found[1].split(",")} == _retry.RETRIED_STATUSES
    found = re.search(r"answers (\d+), (\d+) or (\d+), or does not answer in time", PAGE)
    assert found is not None
    assert {int(code) for code in found.groups()} == _retry.OVERLOAD_STATUSES


def test_the_pauses() -> None:
    assert numbers(r"grow from ([\d.]+) s to ([\d.]+) s.* up to ([\d.]+) s, so that") == [
        _retry.FIRST_WAIT,
        _retry.LONGEST_WAIT,
        _retry.JITTER,
    ]
    assert numbers(r"set aside .*: for (\d+) s, .* up to (\d+) s\.") == [
        _fleet.FIRST_ASIDE,
        _fleet.LONGEST_ASIDE,
    ]


def test_what_a_server_that_is_down_gets() -> None:
    client = Client("http://localhost:1")
    retries, most = client._options.max_retries, 32
    assert client._driver._max_concurrency == most
    assert numbers(r"after the first \((\d+)\)") == [retries]
    assert numbers(r"as soon as (\d+) batches in a row") == [_many.IN_A_ROW]
    assert numbers(r"`max_concurrency` \+ (\d+)\)") == [_many.IN_A_ROW - 1]
    assert numbers(r"(\d+) with the defaults") == [(most + _many.IN_A_ROW - 1) * (1 + retries)]
