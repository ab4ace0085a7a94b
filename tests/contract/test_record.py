"""What the recorder keeps: every release's answer once, and equal answers together."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from contract.alike import alike, same_words
from contract.record import merged
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities.simulator._recordings import Answer, Asked

ASKED = Asked("POST", "/v1/embeddings", json={"encoding_format": "base64"})
JSON = {"content-type": "application/json"}
VECTOR = np.linspace(-1, 1, 64, dtype="f4")


def said(release: str, body: object, status: int = 200) -> Answer:
    return Answer((release,), status, JSON, body)


def packed(vector: np.ndarray) -> str:
    return base64.b64encode(vector.astype("f4").tobytes()).decode()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"id": "embd-0123456789abcdef"}, {"id": "embd-fedcba9876543210"}),
        ({"created": 1, "model": "m"}, {"created": 2, "model": "m"}),
        ([0.5, "a"], [0.5004, "a"]),
        ({"embedding": packed(VECTOR)}, {"embedding": packed(VECTOR + 1e-4)}),
    ],
)
def test_answers_that_differ_by_chance_are_alike(one, other) -> None:
    assert alike(ASKED, said("0.1.0", one), said("0.2.0", other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"id": "embd-0123456789abcdef"}, {"id": "embd-given"}),
        ({"usage": 3}, {"usage": 4}),
        ([0.5], [0.6]),
        ([0.5], [0.5, 0.5]),
        ({"a": 1}, {"a": 1, "b": None}),
        ({"duration": "3.5"}, {"duration": 3.5}),
        ({"embedding": packed(VECTOR)}, {"embedding": packed(VECTOR + 0.1)}),
        ({"message": "no"}, {"message": "yes"}),
    ],
)
def test_answers_that_a_client_could_tell_apart_are_not_alike(one, other) -> None:
    assert not alike(ASKED, said("0.1.0", one), said("0.2.0", other))


def test_status_and_headers_count() -> None:
    assert not alike(ASKED, said("0.1.0", {}), said("0.2.0", {}, 400))
    assert not alike(ASKED, said("0.1.0", {}), Answer(("0.2.0",), 200, {}, {}))


RELEASES = [f"0.{minor}.0" for minor in range(12)]


@given(st.lists(st.tuples(st.sampled_from(RELEASES), st.integers(0, 3)), min_size=1))
def test_each_release_has_the_answer_that_it_gave_last(told: list[tuple[str, int]]) -> None:
    kept: tuple[Answer, ...] = ()
    for release, body in told:
        kept = merged(ASKED, kept, said(release, body))
    found = [(release, answer.body) for answer in kept for release in answer.releases]
    assert len(found) == len(dict(found))
    assert dict(found) == dict(told)
    assert len({answer.body for answer in kept}) == len(kept)


def test_recording_a_release_again_changes_nothing() -> None:
    first = said("0.1.0", {"created": 1})
    assert merged(ASKED, (first,), said("0.1.0", {"created": 2})) == (first,)


def test_words_are_the_same_up_to_the_last_digit_of_decimals() -> None:
    assert same_words("scores 7.74 0.98", "scores 7.75 0.99")
    for one, other in (("norm 0.97", "norm 1.00"), ("3 tokens", "4 tokens"), ("0.30.0", "0.31.0")):
        assert not same_words(one, other)
