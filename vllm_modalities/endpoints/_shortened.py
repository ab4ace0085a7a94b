"""A text cut to so many tokens, as a server counts them: `POST /tokenize` and `/detokenize`."""

from __future__ import annotations

from .._context import Context
from .._flow import Flow
from .tokenize import DetokenizeRequest, TextBody, TokenizeRequest, TokensBody

CUT_THROUGH = "\ufffd"  # what is left of a character


def shortened(
    context: Context, model: str | None, text: str, most: int, *, end: bool = False
) -> Flow[str | None]:
    """The first `most` tokens of a text, or the last; None if it has no more.

    Special tokens are not counted.
    """
    target = yield from context.find(TokenizeRequest, model)
    request = TokenizeRequest(model=target.model, prompt=text, add_special_tokens=False)
    tokens = (yield from target.post(request)).parse(TokensBody).tokens
    if len(tokens) <= most:
        return None
    kept = tokens[-most:] if end else tokens[:most]
    target = yield from context.find(DetokenizeRequest, model)
    response = yield from target.post(DetokenizeRequest(model=target.model, tokens=kept))
    words = response.parse(TextBody).prompt
    return words.lstrip(CUT_THROUGH) if end else words.rstrip(CUT_THROUGH)
