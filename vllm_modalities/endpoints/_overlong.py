"""Inputs that a model cannot read whole: which, how long they are, and how much it reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .._context import Target
from .._flow import Flow, Together
from .._many import Failure
from .._results import AnswerModel
from ..errors import BadRequestError, VLLMModalitiesError
from ._content import Item
from .tokenize import TokenizeRequest

# vLLM 0.16.0 vllm/entrypoints/openai/engine/serving.py and pooling/embed/serving.py; from 0.18.0
# on vllm/renderers/params.py, which stops counting one above the limit ("at least") or before it
# counts at all ("characters").
_LIMIT = re.compile(r"maximum (?:context|embedding input) length is (\d+)")
_LENGTH = re.compile(r"contains ((?:at least )?\d+ (?:input tokens|characters))|(\d+ tokens) in")


class _Count(AnswerModel):
    count: int


def named(
    target: Target, items: Sequence[Item], failures: Sequence[Failure], *, first: int = 0
) -> Flow[list[Failure]]:
    """The same failures, those of over-long inputs with their position and both lengths.

    Args:
        target: The servers; they are asked for a text's length in tokens.
        items: All inputs.
        failures: (position among `items`, error).
        first: Position of the first item among all inputs of the caller's.
    """
    long = {
        place: error
        for place, error in failures
        if isinstance(error, BadRequestError) and _LIMIT.search(error.message)
    }
    if not long:
        return list(failures)
    counts = yield from Together([_tokens(target, items[place]) for place in long])
    told = {
        place: _error(first + place, error, count, target.model)
        for (place, error), count in zip(long.items(), counts, strict=True)
    }
    return [(place, told.get(place, error)) for place, error in failures]


def _tokens(target: Target, item: Item) -> Flow[int | None]:
    """The length of an input in tokens, if it can be known without the server's own words."""
    if isinstance(item, tuple):
        return len(item)
    if not isinstance(item, str):
        return None
    response = yield from target.post(TokenizeRequest(model=target.model, prompt=item))
    return response.parse(_Count).count


def _error(
    place: int, error: BadRequestError, count: int | VLLMModalitiesError | None, model: str | None
) -> BadRequestError:
    limit, said = _LIMIT.search(error.message), _LENGTH.search(error.message)
    assert limit is not None
    # Not a chat's, nor of a server that does not count; and a text of so many letters that it was
    # not read may be few tokens.
    if isinstance(count, int) and count > int(limit[1]):
        length = f"{count} tokens"
    else:
        length = (said[1] or said[2]) if said else "more"
    return _said(
        error,
        f"item {place} of inputs has {length}, and {model!r} reads {limit[1]} tokens."
        ' Split it, or cut it with truncate="end" or "start"',
    )


def with_cure(error: VLLMModalitiesError, cure: str) -> VLLMModalitiesError:
    """The error, with what helps where something was too long for the model."""
    if not isinstance(error, BadRequestError) or not _LIMIT.search(error.message):
        return error
    return _said(error, f"{error.message} {cure}")


def _said(error: BadRequestError, message: str) -> BadRequestError:
    """The same error in other words."""
    return BadRequestError(
        error.status_code,
        message,
        server=error.server,
        request_id=error.request_id,
        body=error.body,
    )
