"""The errors themselves: the tree, what they say, and that they travel."""

import copy
import inspect
import pickle
import re

import numpy as np
import pytest

from vllm_modalities import Embeddings, errors
from vllm_modalities.errors import Finding, VLLMModalitiesError, VLLMModalitiesWarning

FINDING = Finding(code="c", severity="error", field="f", message="wrong; do right", source="PR 1")
WHERE = {"server": "http://a", "request_id": "r", "body": b"{}"}
INSTANCES: list[VLLMModalitiesError] = [
    errors.VLLMModalitiesError("words"),
    errors.InvalidRequestError([FINDING]),
    errors.UnsupportedTaskError("words"),
    errors.MediaError("words"),
    errors.APIConnectionError("words", server="http://a"),
    errors.APITimeoutError("words", server="http://a"),
    *(
        kind(418, "words", **WHERE, retry_after=3.0)
        for kind in (
            errors.APIStatusError,
            errors.BadRequestError,
            errors.AuthenticationError,
            errors.NotFoundError,
            errors.RateLimitError,
            errors.InternalServerError,
            errors.ServerOverloadedError,
        )
    ),
    errors.UnknownModelError([FINDING], server="http://a"),
    errors.ResponseError("words", **WHERE, cut=True),
    errors.PartialFailureError(
        ["result", None], [(1, errors.BadRequestError(400, "words", server="http://a"))]
    ),
]
KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, Exception) and kind.__module__ == errors.__name__
]


def by_pickle(error: Exception) -> Exception:
    return pickle.loads(pickle.dumps(error))


def test_every_error_is_tried_here() -> None:
    tried = {type(one) for one in INSTANCES}
    assert tried == {kind for kind in KINDS if issubclass(kind, VLLMModalitiesError)}


def test_the_module_s_docstring_is_the_tree() -> None:
    """Each class stands below the line that names its base."""
    lines = [line for line in inspect.getdoc(errors).splitlines() if line.lstrip().startswith("*")]
    depths = [len(line) - len(line.lstrip()) for line in lines]
    for kind in KINDS:
        (place,) = (
            i for i, line in enumerate(lines) if re.search(rf"(\* |, ){kind.__name__}\b", line)
        )
        above = [line for i, line in enumerate(lines[:place]) if depths[i] < depths[place]]
        bases = [base.__name__ for base in kind.__bases__]
        assert not above or any(base in above[-1] for base in bases)


@pytest.mark.parametrize("error", INSTANCES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("travel", [by_pickle, copy.copy, copy.deepcopy])
def test_an_error_survives_a_process_boundary(error, travel) -> None:
    """Or a pool of processes that meets one breaks, or hangs."""
    arrived = travel(error)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    # By repr: errors inside are no equals.
    assert {k: repr(v) for k, v in vars(arrived).items()} == {
        k: repr(v) for k, v in vars(error).items()
    }


def test_a_finding_says_what_is_wrong_and_its_source() -> None:
    assert str(FINDING) == "wrong; do right [PR 1]"
    assert str(Finding(code="c", severity="warning", field="", message="words")) == "words"


def test_several_findings_are_all_told() -> None:
    error = errors.InvalidRequestError([FINDING, FINDING])
    assert str(error).count("do right") == 2
    assert error.findings == (FINDING, FINDING)


@pytest.mark.parametrize("kind", KINDS)
def test_every_class_says_what_it_means(kind) -> None:
    assert kind.__doc__
    base = VLLMModalitiesError if issubclass(kind, VLLMModalitiesError) else VLLMModalitiesWarning
    assert issubclass(kind, base)


def test_a_partial_failure_counts_over_all_items() -> None:
    failures = [(2, errors.BadRequestError(400, "too long", server="http://a"))]
    results = Embeddings(np.zeros((5, 2), np.float32))
    error = errors.PartialFailureError(results, failures)
    assert str(error).startswith("1 of 5 items failed; the first, item 2: HTTP 400: too long")
    assert error.results is results
    assert error.failures == tuple(failures)
