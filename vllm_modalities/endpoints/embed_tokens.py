"""A vector a token, for late interaction: `POST /pooling`, or `/v1/embeddings` for chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from .._context import Context
from .._flow import Flow
from .._inputs import at_least, one_of, without
from .._many import OnError, settle
from ..vectors.tokens import TokenEmbeddings
from ._content import inputs_of
from ._marking import marked
from ._overlong import named
from ._token_embeddings import TokenEmbeddingRequest
from ._tokens import OURS, Template, TokenRows
from .pooling import TokenEmbedRequest

if TYPE_CHECKING:
    from .._context import Target
    from ._content import Input

SIDES: Mapping[str, Literal["left", "right"] | None] = {
    "error": None,
    "end": "right",
    "start": "left",
}


def embed_tokens(
    context: Context,
    /,
    inputs: Input | Iterable[Input],
    *,
    model: str | None = None,
    input_type: str | None = None,
    normalize: bool | None = None,
    truncate: Literal["error", "end", "start"] = "error",
    batch_size: int | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[TokenEmbeddings]:
    """Embed texts or images as a vector a token, any number of them, for MaxSim.

    The vectors come as raw bytes, whose shapes the answer tells in a header; so a request has few
    inputs, that proxies let the header through.

    Args:
        inputs: One input, or n of them: texts, token ids (a list of them is one input), chat
            messages, images (a Path, the bytes of a file, a Pillow image, an ImageURL), or texts
            and images together as `{"content": [...]}`; all of one kind.
        model: The served model's name; None is the one that is served.
        input_type: `"query"` or `"document"`: the marker that the model was trained with is put
            into each text, as its profile says. vLLM puts in none.
        normalize: Whether each token's vector has unit length; None is the server's default,
            which is that it has.
        truncate: What happens to a text longer than the model's context: `"error"` fails it,
            `"end"` drops its end, `"start"` its start.
        batch_size: Inputs in one request at most; default 24. A conversation or an image is one.
        on_error: `"collect"` finishes the rest, then raises PartialFailureError; `"raise"` stops
            at the first failure; `"return"` gives items without tokens and `.failures`.
        extra_body: Further fields of the request. `late_chunking_params={"chunk_size": 256}` (vLLM
            0.33.0) gives the mean of each 256 tokens in a row, of which each has read the whole
            text; which characters those are, the server says in `.raw` (`keep_raw=True`).

    Returns:
        n arrays of shape (tokens_i, dim), float32, packed. Every token has its vector, special
        tokens and the template of an image too.

    Raises:
        InvalidRequestError: The model has no markers for that `input_type`, or its tokenizer does
            not know them. Nothing is embedded.
        UnsupportedTaskError: No server gives a vector a token.
        PartialFailureError: Some inputs failed; `.results` has the others.
        ResponseError: The answer's shapes do not fit its body, or an input's numbers are not
            finite, or all zeros.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/pooling/protocol.py; 0.33.0
    vllm/entrypoints/pooling/token_embed/protocol.py.
    """
    items = inputs_of("inputs", inputs)
    one_of("truncate", truncate, SIDES)
    one_of("on_error", on_error, get_args(OnError))
    at_least("batch_size", 1 if batch_size is None else batch_size, 1)
    without(extra_body, OURS)
    if not items:
        return TokenEmbeddings.from_arrays([])
    target = yield from context.find(TokenEmbedRequest, model)
    sequences, kept, findings = yield from marked(target, items, input_type)
    template = _body(target, extra_body)(
        model=target.model,
        use_activation=normalize,
        truncate_prompt_tokens=None if truncate == "error" else -1,
        truncation_side=SIDES[truncate],
        extra_body=extra_body,
    )
    rows = TokenRows(target, template, sequences)
    failures = yield from rows.fill(batch_size, on_error)
    failures = yield from named(target, sequences, failures)
    result = rows.packed(failures, findings, kept)
    return settle(result, failures, on_error=on_error)


def _body(target: Target, extra_body: Mapping[str, Any] | None) -> type[Template]:
    """`/pooling` gives raw bytes; `/v1/embeddings`, as JSON, what `/pooling` has not."""
    routes = target.info.routes
    chunks = (extra_body or {}).get("late_chunking_params") is not None
    if chunks or (routes and "/pooling" not in routes):
        return TokenEmbeddingRequest
    return TokenEmbedRequest
