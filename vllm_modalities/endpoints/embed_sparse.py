"""Lexical weights of BGE-M3: token weights from `POST /pooling`, tokens from `/tokenize`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from .._context import Context, Target
from .._flow import Flow, Together
from .._inputs import at_least, one_of, texts_of, without
from .._many import OnError, settle
from .._results import AnswerModel
from ..errors import ResponseError, VLLMModalitiesError
from ..vectors.maxsim import starts
from ..vectors.sparse import SparseEmbeddings
from ._tokens import OURS, TokenRows
from .pooling import TokenClassifyRequest
from .tokenize import TokenizeRequest

Weights = tuple[NDArray[np.int32], NDArray[np.float32]]
NOTHING: Weights = (np.empty(0, np.int32), np.empty(0, np.float32))


class _Tokens(AnswerModel):
    tokens: list[Annotated[int, Field(ge=0, lt=2**31)]]


def embed_sparse(
    context: Context,
    /,
    inputs: str | Iterable[str],
    *,
    model: str | None = None,
    batch_size: int | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[SparseEmbeddings]:
    """Weigh the tokens of each text, for lexical search with BGE-M3.

    The server gives a weight a token, without those of the special tokens at both ends, and does
    not say which tokens; these come from its tokenizer. Of a token that stands in a text several
    times the greatest weight counts.

    Args:
        inputs: One text, or n of them.
        model: The served model's name; None is the one that is served. It is BGE-M3, served with
            `--hf-overrides '{"architectures": ["BgeM3EmbeddingModel"]}'` and `--pooler-config
            '{"task": "token_classify"}'`.
        batch_size: Texts in one request at most; default 24.
        on_error: As for `embed`; a text that failed has no tokens.
        extra_body: Further fields of the request.

    Returns:
        Token numbers and weights above 0 of n texts.

    Raises:
        UnsupportedTaskError: No server weighs tokens.
        PartialFailureError: Some texts failed; `.results` has the others.

    Source: vllm-project/vllm tests/models/language/pooling/test_bge_m3.py.
    """
    texts = texts_of("inputs", [inputs] if isinstance(inputs, str) else inputs)
    one_of("on_error", on_error, get_args(OnError))
    at_least("batch_size", 1 if batch_size is None else batch_size, 1)
    without(extra_body, OURS)
    if not texts:
        return SparseEmbeddings(*NOTHING, np.zeros(1, np.int64))
    target = yield from context.find(TokenClassifyRequest, model)
    rows = TokenRows(target, TokenClassifyRequest(model=target.model, extra_body=extra_body), texts)
    failures = dict((yield from rows.fill(batch_size, on_error)))
    weighed = yield from Together(
        [_weighed(target, text, rows.arrays[place]) for place, text in enumerate(texts)]
    )
    failures |= {n: one for n, one in enumerate(weighed) if isinstance(one, VLLMModalitiesError)}
    found = sorted(failures.items())
    return settle(_packed(rows, weighed, found), found, on_error=on_error)


def _weighed(target: Target, text: str, array: NDArray[np.float32] | None) -> Flow[Weights]:
    """A text's tokens, ascending, and the greatest weight of each."""
    if array is None:  # it failed already
        return NOTHING
    response = yield from target.post(TokenizeRequest(model=target.model, prompt=text))
    tokens = response.parse(_Tokens).tokens[1:-1]
    if len(tokens) != len(array):
        raise ResponseError(
            f"{len(array)} weights came for the {len(tokens)} tokens of a text, so they are not"
            " BGE-M3's lexical weights",
            server=response.server,
        )
    indices, places = np.unique(np.array(tokens, np.int32), return_inverse=True)
    weights = np.zeros(len(indices), np.float32)
    np.maximum.at(weights, places, array[:, 0])
    kept = weights > 0
    return indices[kept], weights[kept]


def _packed(
    rows: TokenRows,
    weighed: Sequence[Weights | VLLMModalitiesError],
    failures: Sequence[tuple[int, VLLMModalitiesError]],
) -> SparseEmbeddings:
    parts = [NOTHING if isinstance(one, VLLMModalitiesError) else one for one in weighed]
    whole = rows.packed(failures)
    return SparseEmbeddings(
        indices=np.concatenate([indices for indices, _ in parts]),
        weights=np.concatenate([weights for _, weights in parts]),
        offsets=starts(np.array([len(indices) for indices, _ in parts], np.int64)),
        model=whole.model,
        usage=whole.usage,
        warnings=whole.warnings,
        failures=tuple(failures),
    )
