"""Faults on demand: which request meets one, how often, and what it says."""

import json

import pytest

from vllm_modalities.simulator._faults import Fault, Faults, failed


def met(faults: Faults, path: str = "/v1/embeddings", times: int = 1) -> list[str | None]:
    found = (faults.next(path) for _ in range(times))
    return [fault and fault.kind for fault in found]


def test_a_fault_is_met_as_often_as_asked_for_and_then_no_more() -> None:
    faults = Faults()
    faults.add(Fault("reset", times=2))
    assert met(faults, times=4) == ["reset", "reset", None, None]


def test_a_fault_without_a_number_lasts_until_it_is_taken_back() -> None:
    faults = Faults()
    faults.add(Fault("cut", times=None))
    assert met(faults, times=3) == ["cut"] * 3
    faults.clear()
    assert met(faults) == [None]


def test_faults_come_in_the_order_in_which_they_were_asked_for() -> None:
    faults = Faults()
    faults.add(Fault("reset"))
    faults.add(Fault("nan"))
    assert met(faults, times=3) == ["reset", "nan", None]


def test_a_fault_of_a_path_leaves_others_alone() -> None:
    faults = Faults()
    faults.add(Fault("reset", path="/v1/rerank"))
    assert met(faults) == [None]
    assert met(faults, "/v1/rerank") == ["reset"]


@pytest.mark.parametrize("path", ["/version", "/v1/models", "/openapi.json", "/health"])
def test_who_a_server_is_can_be_asked_unless_the_fault_names_that(path) -> None:
    faults = Faults()
    faults.add(Fault("reset", times=None))
    assert met(faults, path) == [None]
    faults.add(Fault("delay", path=path))
    assert met(faults, path) == ["delay"]


def test_a_probability_is_kept_and_the_same_seed_draws_the_same() -> None:
    drawn = []
    for seed in (1, 1, 2):
        faults = Faults(seed)
        faults.add(Fault("reset", times=None, probability=0.25))
        drawn.append(met(faults, times=2000))
    assert drawn[0] == drawn[1] != drawn[2]
    assert 400 < drawn[0].count("reset") < 600


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("reset", Fault("reset", times=None)),
        ("503 retry_after=2 times=3", Fault("status", times=3, retry_after=2.0)),
        ("429", Fault("status", times=None, status=429)),
        ("delay seconds=0.5 path=/v1/rerank", Fault("delay", "/v1/rerank", None, seconds=0.5)),
        ("nan probability=0.1", Fault("nan", times=None, probability=0.1)),
    ],
)
def test_faults_can_be_said_in_words(text, fault) -> None:
    assert Fault.parse(text) == fault


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("explode", "no fault 'explode': there are delay, status, reset"),
        ("reset size=3", "a fault has no option 'size'"),
        ("reset times=many", "invalid literal"),
        ("reset probability=7", r"probability=7\.0 is not between 0 and 1"),
    ],
)
def test_words_that_are_no_fault_are_refused(text, says) -> None:
    with pytest.raises(ValueError, match=says):
        Fault.parse(text)


@pytest.mark.parametrize(
    ("fault", "status", "kind", "after"),
    [
        (Fault("status", status=429, retry_after=1.5), 429, "TooManyRequests", "1.5"),
        (Fault("status"), 503, "Service Unavailable", None),
        (Fault("status", status=500), 500, "Error", None),
        (Fault("error", status=500), 200, "Error", None),
    ],
)
def test_an_error_has_its_envelope(fault, status, kind, after) -> None:
    reply = failed(fault)
    assert reply is not None
    assert isinstance(reply.body, bytes)
    error = json.loads(reply.body)["error"]
    assert (reply.status, error["type"], error["code"]) == (status, kind, fault.status)
    assert reply.headers.get("retry-after") == after


def test_a_fault_on_the_way_has_no_answer_of_its_own() -> None:
    assert failed(Fault("reset")) is None
