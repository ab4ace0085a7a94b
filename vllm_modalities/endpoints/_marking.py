"""The markers that late-interaction models were trained with, put in here: vLLM puts in none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._context import Target
from .._flow import Flow, Together
from .._inputs import invalid
from .._results import AnswerModel
from ..errors import Finding, ModelUsageWarning, VLLMModalitiesError
from ..profiles import Mark
from ._content import Chat, Item
from ._prompts import prompt_for, same_name
from .tokenize import DetokenizeRequest, TokenizeRequest

Kept: TypeAlias = Callable[[int, NDArray[np.float32]], NDArray[np.float32]]
"""Of an input's vectors, by its position, those that the model was trained to compare."""


class _Tokens(AnswerModel):
    tokens: list[int]
    token_strs: list[str] | None = None


class _Text(AnswerModel):
    prompt: str


def all_of(_: int, array: NDArray[np.float32]) -> NDArray[np.float32]:
    return array


def marked(
    target: Target, items: Sequence[Item], input_type: str | None
) -> Flow[tuple[Sequence[Item], Kept, list[Finding]]]:
    """The inputs with the marker of their type, which of their vectors count, and doubts.

    Raises:
        InvalidRequestError: The model has no such marker, or its tokenizer does not know it.
    """
    embed = target.profile.embed
    marks = embed.marks if embed else {}
    if input_type is None:
        return items, all_of, _unmarked(target, items) if marks else []
    if any(isinstance(item, Chat) for item in items):
        raise invalid("input_type", "input_type is for texts and token ids, not for messages")
    if not marks:
        prompt = prompt_for(target.profile, input_type)
        if prompt is None or not all(isinstance(item, str) for item in items):
            raise invalid(
                "input_type",
                f"input_type={input_type!r}: no markers of {target.model!r} are known; leave it"
                " out, or pass them in a profile: Client(profiles=[Profile(...)])",
            )
        return [f"{prompt}{item}" for item in items], all_of, []
    name = same_name(input_type, marks)
    if name is None:
        known = ", ".join(map(repr, marks))
        raise invalid("input_type", f"input_type={input_type!r}: {target.profile.name} has {known}")
    mark = marks[name]
    number = yield from _number(target, mark.marker, mark.number)
    fill = None if mark.fill is None else (yield from _number(target, mark.fill, None))
    found = yield from Together([_ids(target, item, mark) for item in items])
    sequences: list[Item] = []
    drops: list[NDArray[np.bool_]] = []
    for outcome in found:
        if isinstance(outcome, VLLMModalitiesError):
            raise outcome
        ids, dropped = outcome
        sequences.append(_sequence(ids, number, fill, mark.length))
        drops.append(np.insert(dropped, 1, False))
    return sequences, lambda n, array: _without(array, drops[n]), []


def _unmarked(target: Target, items: Sequence[Item]) -> list[Finding]:
    if not any(isinstance(item, str) for item in items):
        return []
    finding = Finding(
        code="missing-marker",
        severity="warning",
        field="input_type",
        message=f"{target.profile.name} was trained with a marker in its texts, which vLLM does"
        ' not put in; pass input_type="query" or "document", or scores are worse',
        source=target.profile.embed.sources.get("marks", "") if target.profile.embed else "",
        warns=ModelUsageWarning,
    )
    target.context.report([finding])
    return [finding]


def _number(target: Target, token: str, expected: int | None) -> Flow[int]:
    """The token's number, as the server's own tokenizer has it."""
    if expected is not None:
        request = DetokenizeRequest(model=target.model, tokens=(expected,))
        response = yield from target.post(request)
        if response.parse(_Text).prompt.strip() == token:
            return expected
    else:
        response = yield from target.post(
            TokenizeRequest(model=target.model, prompt=token, add_special_tokens=False)
        )
        found = response.parse(_Tokens).tokens
        if len(found) == 1:
            return found[0]
    raise invalid(
        "input_type",
        f"the tokenizer of {target.model!r} does not know {token!r} as one token, which"
        f" {target.profile.name} is marked with; leave input_type out",
    )


def _ids(target: Target, item: Any, mark: Mark) -> Flow[tuple[list[int], NDArray[np.bool_]]]:
    """An input's tokens, and which of them are only punctuation that the model drops."""
    if not isinstance(item, str):
        return list(item), np.zeros(len(item), bool)
    request = TokenizeRequest(
        model=target.model, prompt=item, return_token_strs=True if mark.drops else None
    )
    response = yield from target.post(request)
    found = response.parse(_Tokens)
    words = found.token_strs or [""] * len(found.tokens)
    return found.tokens, np.array([bool(word) and word in mark.drops for word in words], bool)


def _sequence(ids: list[int], number: int, fill: int | None, length: int | None) -> tuple[int, ...]:
    """The tokens with the marker after the first, cut and filled to the model's length."""
    whole = [*ids[:1], number, *ids[1:]]
    if length is not None and len(whole) > length:
        whole = [*whole[: length - 1], whole[-1]]
    if length is not None and fill is not None:
        whole += [fill] * (length - len(whole))
    return tuple(whole)


def _without(array: NDArray[np.float32], dropped: NDArray[np.bool_]) -> NDArray[np.float32]:
    return array[~dropped] if len(array) == len(dropped) and dropped.any() else array
