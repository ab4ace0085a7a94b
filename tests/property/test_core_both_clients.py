"""The same scripted answers give the same requests, results and errors in both clients."""

import base64
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from _script import (
    BLOCKING,
    KINDS,
    FakeVLLM,
    Talker,
    as_is,
    body,
    broken,
    cut,
    edited,
    instant,
    status,
)
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import Embeddings, PartialFailureError, RerankResult, VLLMModalitiesError

pytestmark = pytest.mark.filterwarnings("ignore::vllm_modalities.VLLMModalitiesWarning")

NAN = base64.b64encode(np.full(4, np.nan, "<f4").tobytes()).decode()


def first_row(**fields: object):
    changed = edited(lambda said: said["data"][0].update(fields))
    return lambda answer: changed(answer) if b'"embedding"' in answer.content else answer


FAULTS = {
    "ok": as_is,
    "400": status(400, "too long"),
    "400 otherwise": status(400, "no such option"),
    "401": status(401, "Unauthorized"),
    "404": status(404, "no such model"),
    "404 router": body({"detail": "Not Found"}, 404),
    "413": status(413, "too large"),
    "429": status(429, "slow down", Retry_After="1"),
    "429 for long": status(429, "slow down", Retry_After="9999"),
    "500": status(500, "broken"),
    "501": status(501, "not implemented"),
    "503": status(503, "overloaded"),
    "reset": broken("ReadError"),
    "refused": broken("ConnectError"),
    "late": broken("ReadTimeout"),
    "cut": cut,
    "NaN": first_row(embedding=NAN),
    "index": first_row(index=7),
    "width": first_row(embedding=NAN[:8]),
    "html": body(b"<html>"),
    "error": body({"error": {"message": "out of memory"}}),
    "raw": body(b"12345678" * 2, content_type="application/octet-stream"),
    "redirect": body(b"", 307, location="http://elsewhere"),
}
TEXTS = [f"text {i}" for i in range(7)]
SCRIPTS = st.dictionaries(
    st.sampled_from([*TEXTS, "/v1/models", "/version", "/openapi.json"]),
    st.lists(st.sampled_from(sorted(FAULTS)), min_size=1, max_size=4),
    max_size=4,
)
CALLS = st.fixed_dictionaries(
    {
        "batch_size": st.sampled_from([None, 1, 2, 3]),
        "on_error": st.sampled_from(["collect", "return", "raise"]),
    }
)
OPTIONS = st.fixed_dictionaries(
    {
        "max_retries": st.integers(0, 2),
        "transport": st.sampled_from(["auto", "bytes", "base64", "float"]),
    }
)


def told(error: VLLMModalitiesError) -> object:
    if isinstance(error, PartialFailureError):
        return type(error), str(error), came(error.results), failures(error.failures)
    return type(error), str(error)


def failures(pairs: Sequence[tuple[int, VLLMModalitiesError]]) -> list[object]:
    return [(place, told(error)) for place, error in pairs]


def came(result) -> object:
    if isinstance(result, RerankResult):
        return result.ranked, result.usage, result.warnings, failures(result.failures)
    return result.vectors.tobytes(), result.usage, result.warnings, failures(result.failures)


SUBJECTS = {"embed": (TEXTS,), "rerank": ("a query", TEXTS), "servers": ()}


def played(kind: str, script: Mapping[str, Sequence[str]], call: str, arguments, **options):
    """What came of two calls, and every request that was made for them."""
    server = FakeVLLM()
    for key, names in script.items():
        server.once(key, *[FAULTS[name] for name in names])
    method, outcomes = getattr(Talker(kind, server, **options), call), []
    for _ in range(2):
        try:
            outcome = method(*SUBJECTS[call], **arguments)
        except VLLMModalitiesError as error:
            outcome = told(error)
        outcomes.append(came(outcome) if isinstance(outcome, Embeddings) else outcome)
    return outcomes, [(sent.method, sent.path, sent.body) for sent in server.sent]


@given(script=SCRIPTS, arguments=CALLS, options=OPTIONS)
def test_embed_is_the_same_in_both(script, arguments, options) -> None:
    with instant():
        blocking, *others = [
            played(kind, script, "embed", arguments, max_concurrency=1, **options) for kind in KINDS
        ]
    assert all(other == blocking for other in others)


@given(
    names=st.lists(st.sampled_from(sorted({*FAULTS} - {"NaN", "index", "width"})), max_size=8),
    retries=st.integers(0, 2),
    call=st.sampled_from(["rerank", "servers"]),
)
def test_rerank_and_servers_are_the_same_in_both(names, retries, call) -> None:
    with instant():
        blocking, *others = [
            played(kind, {"*": names}, call, {}, max_retries=retries, max_concurrency=1)
            for kind in KINDS
        ]
    assert all(other == blocking for other in others)


@given(
    script=st.dictionaries(
        st.sampled_from(TEXTS),
        st.lists(st.sampled_from(["ok", "400", "413", "429", "500", "NaN"]), max_size=3),
    ),
    limit=st.integers(2, 4),
)
def test_side_by_side_is_the_same_as_one_by_one(script, limit) -> None:
    """Where no cause is shared, the order in which batches end changes nothing."""

    def play(kind: str, max_concurrency: int):
        arguments = {"batch_size": 2, "on_error": "return"}
        options = {"max_concurrency": max_concurrency, "transport": "base64", "max_retries": 0}
        outcomes, sent = played(kind, script, "embed", arguments, **options)
        return outcomes, sorted(map(str, sent))

    alone = play(BLOCKING, 1)
    assert all(play(kind, limit) == alone for kind in KINDS)
