"""Texts cut to so many tokens here, where the server's own cut cannot be had or trusted."""

from __future__ import annotations

from collections.abc import Sequence

from .._context import Context
from .._flow import Flow, Together
from ..errors import Finding, VLLMModalitiesError
from ._documents import Rankable
from ._shortened import shortened
from .tokenize import TokenizeRequest

SHOWN = 8  # positions that a message names at most


def can_cut(context: Context, model: str | None) -> Flow[bool]:
    """Whether a server counts this model's tokens."""
    (found,) = yield from Together([context.find(TokenizeRequest, model)])
    return not isinstance(found, VLLMModalitiesError)


def cut(
    context: Context, model: str | None, items: Sequence[Rankable], tokens: int, *, field: str
) -> Flow[tuple[tuple[Rankable, ...], list[Finding]]]:
    """The items with each text's first `tokens` tokens, and which were longer.

    Special tokens are not counted, as with the server's own `max_tokens_per_doc`. Only texts of
    more than `tokens` bytes are counted, since a token has at least one.
    """
    long = _longer(items, tokens)
    if not long:
        return tuple(items), []
    heads = yield from Together([shortened(context, model, str(items[i]), tokens) for i in long])
    shorter = dict(zip(long, heads, strict=True))
    for head in heads:
        if isinstance(head, VLLMModalitiesError):
            raise head
    texts = {place: head for place, head in shorter.items() if isinstance(head, str)}
    if not texts:
        return tuple(items), []
    message = (
        f"{field}={tokens}: {len(texts)} of {len(items)} were longer and have been cut: items"
        f" {_brief(list(texts))}"
    )
    finding = Finding(code=f"cut-{field}", severity="warning", field=field, message=message)
    return tuple(texts.get(place, item) for place, item in enumerate(items)), [finding]


def may_be_cut(items: Sequence[Rankable], tokens: int, *, field: str) -> list[Finding]:
    """What can be said of a cut that the server makes, which does not tell what it took off."""
    long = _longer(items, tokens)
    if not long:
        return []
    message = (
        f"{field}={tokens}: the server reads no more of each and does not say which were longer;"
        f" {len(long)} of {len(items)} have more than {tokens} bytes and may be: items"
        f" {_brief(long)}"
    )
    return [Finding(code=f"cut-{field}", severity="warning", field=field, message=message)]


def _longer(items: Sequence[Rankable], tokens: int) -> list[int]:
    return [
        place
        for place, item in enumerate(items)
        if isinstance(item, str) and len(item.encode()) > tokens
    ]


def _brief(places: Sequence[int]) -> str:
    shown = ", ".join(map(str, places[:SHOWN]))
    return shown if len(places) <= SHOWN else f"{shown}, …"
