"""What either client makes of a case: it refuses, it gets an error, or it has a result."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from contract.case import Case
from contract.seen import Seen, text, vectors_of

from vllm_modalities import (
    APIConnectionError,
    APIStatusError,
    Document,
    Embeddings,
    InvalidRequestError,
    RerankResult,
    ServerDefectWarning,
    TokenEmbeddings,
    Transcript,
    UnsupportedTaskError,
)
from vllm_modalities._flow import Response
from vllm_modalities.gates import GATES, Action, Gate
from vllm_modalities.server import ServerVersion

ROWS = {gate.code: gate for gate in GATES}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended.

    Attributes:
        refused: Why nothing was sent; None if it was.
        failed: The server's error, if it answered with one or not at all.
        result: What came back otherwise.
        defect: Whether a ServerDefectWarning was given.
    """

    refused: Exception | None = None
    failed: APIStatusError | APIConnectionError | None = None
    result: Any = None
    defect: bool = False


def through(case: Case, client: Any, run: Callable[[Awaitable[Any]], Any]) -> Outcome:
    """The outcome of the case's call; `run` runs what an `AsyncClient` gives."""
    assert case.call is not None
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result = case.call(client)
            result = run(result) if inspect.isawaitable(result) else result
        except (InvalidRequestError, UnsupportedTaskError) as error:
            return Outcome(refused=error)
        except (APIStatusError, APIConnectionError) as error:
            return Outcome(failed=error)
    return Outcome(
        result=result,
        defect=any(issubclass(one.category, ServerDefectWarning) for one in given),
    )


def rows(case: Case, release: str, *actions: Action) -> list[Gate]:
    """The rows that the case shows, that do one of `actions`, and that are in force."""
    shown = [ROWS[code] for code in case.gates]
    version = ServerVersion(release)
    return [row for row in shown if row.action in actions and row.affects(version)]


def check(case: Case, release: str, outcome: Outcome, seen: Seen) -> None:
    """The client refuses what the server would refuse or ignore, and reads what it says.

    Raises:
        AssertionError: It does not.
    """
    refusing = rows(case, release, Action.REFUSE)
    if outcome.refused is not None:
        assert seen.status >= 400 or case.ignored or refusing, outcome.refused
        return
    assert not refusing, f"sent, though {refusing[0].code} is in force"
    if outcome.failed is not None:
        assert getattr(outcome.failed, "status_code", 0) == seen.status
        return
    assert seen.status == 200, f"a result from an answer {case.observed(seen)}"
    assert outcome.defect or not rows(case, release, Action.DEFECT)
    agree(case, release, outcome.result, seen)


def agree(case: Case, release: str, result: Any, seen: Seen) -> None:
    """The result says what the answer says."""
    match result:
        case Response():
            own = Seen(case.asked, result.status, result.headers, result.content)
            assert case.observed(own) == case.observed(seen)
            told = {finding.code for finding in result.findings}
            assert told >= {row.code for row in rows(case, release, Action.NOTE, Action.DEFECT)}
        case Embeddings():
            np.testing.assert_allclose(result.vectors, np.stack(vectors_of(seen)), atol=3e-3)
        case TokenEmbeddings():
            for found, said in zip(result, vectors_of(seen), strict=True):
                np.testing.assert_allclose(found.ravel(), said.ravel(), atol=3e-3)
        case RerankResult():
            said = [(row["index"], row["relevance_score"]) for row in seen.json["results"]]
            assert [found.index for found in result] == [index for index, _ in said]
            scores = [found.score for found in result]
            np.testing.assert_allclose(scores, [score for _, score in said], atol=3e-3)
        case Transcript():
            assert text(seen).strip("“”…") in result.text
        case Document():
            (page,) = result.pages
            assert case.observed(seen) == f"ends by {page.finish_reason}"
        case _:
            raise AssertionError(f"a result of another kind: {type(result).__name__}")
