"""A text cut to so many tokens, as a server counts them: `POST /tokenize` and `/detokenize`."""

from __future__ import annotations

from .._context import Context
from .._flow import Flow
from .._results import AnswerModel
from .tokenize import DetokenizeRequest, TokenizeRequest

CUT_THROUGH = "\ufffd"  # what is left of a character


class _Tokens(AnswerModel):
    tokens: list[int]


class _Text(AnswerModel):
    prompt: str


def shortened(
    context: Context, model: str | None, text: str, most: int, *, end: bool = False
) -> Flow[str | None]:
    """The first `most` tokens of a text, or the last; None if it has no more.

    Special tokens are not counted.
    """
    target = yield from context.find(TokenizeRequest, model)
    request = TokenizeRequest(model=target.model, prompt=text, add_special_tokens=False)
    tokens = (yield from target.post(request)).parse(_Tokens).tokens
    if len(tokens) <= most:
        return None
    kept = tuple(tokens[-most:] if end else tokens[:most])
    target = yield from context.find(DetokenizeRequest, model)
    response = yield from target.post(DetokenizeRequest(model=target.model, tokens=kept))
    words = response.parse(_Text).prompt
    return words.lstrip(CUT_THROUGH) if end else words.rstrip(CUT_THROUGH)
