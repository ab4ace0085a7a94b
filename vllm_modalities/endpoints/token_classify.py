"""Probabilities, or weights, of each token: `POST /pooling`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, get_args

from .._context import Context
from .._flow import Flow
from .._inputs import at_least, one_of, without
from .._many import OnError, settle
from ..vectors.tokens import TokenEmbeddings
from ._content import inputs_of
from ._tokens import OURS, TokenRows
from .pooling import TokenClassifyRequest

if TYPE_CHECKING:
    from ._content import Input


def token_classify(
    context: Context,
    /,
    inputs: Input | Iterable[Input],
    *,
    model: str | None = None,
    use_activation: bool | None = None,
    batch_size: int | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[TokenEmbeddings]:
    """Tell the classes of each token of each input, any number of them.

    Args:
        inputs: One input, or n of them, as for `embed_tokens`.
        model: The served model's name; None is the one that is served.
        use_activation: False gives logits; None is the server's default.
        batch_size: Inputs in one request at most; default 24.
        on_error: As for `embed_tokens`.
        extra_body: Further fields of the request.

    Returns:
        n arrays of shape (tokens_i, classes), float32, packed.

    Raises:
        UnsupportedTaskError: No server classifies tokens.
        PartialFailureError: Some inputs failed; `.results` has the others.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/pooling/protocol.py, task `token_classify`.
    """
    items = inputs_of("inputs", inputs)
    one_of("on_error", on_error, get_args(OnError))
    at_least("batch_size", 1 if batch_size is None else batch_size, 1)
    without(extra_body, OURS)
    if not items:
        return TokenEmbeddings.from_arrays([])
    target = yield from context.find(TokenClassifyRequest, model)
    template = TokenClassifyRequest(
        model=target.model, use_activation=use_activation, extra_body=extra_body
    )
    rows = TokenRows(target, template, items)
    failures = yield from rows.fill(batch_size, on_error)
    return settle(rows.packed(failures), failures, on_error=on_error)
