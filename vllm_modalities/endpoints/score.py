"""How well queries and documents fit each other: `POST /v1/score`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from pydantic import FiniteFloat

from .._context import Context
from .._flow import Flow, Response
from .._inputs import invalid
from .._many import Failure, OnError, settle
from .._results import AnswerModel, Usage, UsageBody, words
from ..errors import Finding
from ..server import ServerInfo
from ._content import Chat, is_picture
from ._documents import rankables
from ._notebook import scored
from ._preparing import prepared
from ._ranking import Item, RankingFields, ScoreType, score_type
from ._ratings import Asked, Rating, Ratings, Route, Sides
from .rerank import RerankRequest


class ScoreRequest(RankingFields):
    """Body of `POST /v1/score`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/scoring/protocol.py,
    `ScoreQueriesDocumentsRequest`.
    """

    TASK: ClassVar[str] = "score"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("rerank",)
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/score", "/score")

    queries: Item | tuple[Item, ...]
    documents: Item | tuple[Item, ...]

    def items(self) -> Iterable[Item]:
        for side in (self.queries, self.documents):
            yield from side if isinstance(side, tuple) else (side,)

    @classmethod
    def preference(cls, server: ServerInfo) -> int:
        """A cross-encoder, then late interaction, then an embedder."""
        return RerankRequest.preference(server)

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """The pairings that the server makes: 1 to 1, 1 to n, n to n."""
        yield from super().limits(server)
        counts = [
            len(side) if isinstance(side, tuple) else 1 for side in (self.queries, self.documents)
        ]
        if 0 in counts or (counts[0] not in (1, counts[1])):
            yield Finding(
                code="score-pairs",
                severity="error",
                field="queries",
                message=f"{counts[0]} queries and {counts[1]} documents cannot be paired; send one"
                " query and any number of documents, or as many of each",
                source="vLLM 0.16.0 vllm/entrypoints/pooling/score; seen on 0.32.0",
            )


class _Row(AnswerModel):
    index: int
    score: FiniteFloat


class _Rows(AnswerModel):
    data: list[_Row]
    usage: UsageBody = UsageBody()


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """How well queries and documents fit each other, in their order.

    Attributes:
        scores: float32, in the model's own scale; NaN where a pair failed. Shape (n,) for n pairs
            or one query with n documents; (queries, documents) with `pairs=False`.
        model: The served model's name.
        usage: Tokens read.
        score_type: `"cross-encoder"` (0..1 or logits), `"bi-encoder"` (cosine, -1..1),
            `"late-interaction"` (a sum over the query's tokens), or None if it can't be known.
        warnings: What was doubtful, and what was cut.
        failures: (position in `scores.ravel()`, error) of the pairs that failed; only with
            `on_error="return"`.
        raw: The server's own answers, with `keep_raw=True`.
    """

    scores: NDArray[np.float32]
    model: str | None = None
    usage: Usage | None = None
    score_type: ScoreType | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    raw: tuple[bytes, ...] | None = None

    def __len__(self) -> int:
        return len(self.scores)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.scores, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.scores.shape))
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Scores({shape}, model={self.model!r}{failed})"

    def _repr_html_(self) -> str:
        return scored(self)


def score(
    context: Context,
    /,
    queries: Any,
    documents: Any,
    *,
    model: str | None = None,
    pairs: bool = True,
    instruction: str | None = None,
    max_tokens_per_doc: int | None = None,
    max_tokens_per_query: int | None = None,
    use_activation: bool | None = None,
    key: str | Callable[[Any], Any] | None = None,
    batch_size: int | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Scores]:
    """How well queries fit documents, any number of them: pair by pair, or each with each.

    Args:
        queries: One query, or n of them: texts, images (a Path, the bytes of a file, a Pillow
            image, an ImageURL), or lists of both as `{"content": […]}`, for models that see.
        documents: One document, or m of them; also `{"text": …}`, and whatever `key` reads.
        model: The served model's name; None is the one that is served.
        pairs: True pairs one query with every document, or the n-th query with the n-th document.
            False gives the full matrix, which no vLLM route does: one request a query and batch.
        instruction: What makes a document relevant, for models whose template reads it, such as
            Qwen3-Reranker. From vLLM 0.22.0 on.
        max_tokens_per_doc, max_tokens_per_query: Tokens of each that are read; see `rerank`.
        use_activation: False gives a cross-encoder's raw logits, True what its config makes of
            them; None is the server's default, which is that too.
        key: How documents of your own are read: the name of a dict's field, or a function.
        batch_size: Documents in one request at most; default 128, fewer where they are long.
        on_error: `"collect"` scores the rest, then raises PartialFailureError; `"raise"` stops at
            the first failure; `"return"` gives NaN and `.failures`.
        extra_body: Further fields of the request.

    Returns:
        Scores of shape (m,); (n, m) with `pairs=False`.

    Raises:
        InvalidRequestError: No query or no document, n queries with another number of documents,
            or what `rerank` refuses. Nothing is sent.
        PartialFailureError: Some pairs failed; `.results` has the others.
        ResponseError: The answer has not one finite score a pair.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/scoring/protocol.py,
    `ScoreQueriesDocumentsRequest`.
    """
    asked = Asked(
        max_tokens_per_query=max_tokens_per_query,
        max_tokens_per_doc=max_tokens_per_doc,
        instruction=instruction,
        batch_size=batch_size,
        on_error=on_error,
        extra_body=extra_body,
    )
    sides = _sides(queries, documents, key, pairs=pairs)
    target = yield from context.find(ScoreRequest, model)
    template = ScoreRequest(
        model=target.model,
        queries="a",
        documents="a",
        use_activation=use_activation,
        **asked.fields,
    )
    template, sides, findings = yield from prepared(target, template, sides)
    ratings = Ratings(target, Route(template, ("queries", "documents"), read_scores), sides)
    failures = yield from ratings.fill(asked)
    shape = sides.shape if sides.pairs or not pairs else (len(sides.documents),)
    result = Scores(
        scores=ratings.scores.reshape(shape).astype(np.float32),
        model=target.model,
        usage=sum(ratings.usages, Usage()),
        score_type=score_type(target.info, [np.nan_to_num(ratings.scores).max()]),
        warnings=words([*findings, *ratings.findings]),
        failures=tuple(failures),
        raw=tuple(ratings.raws) if context.options.keep_raw else None,
    )
    return settle(result, failures, on_error=on_error, count=ratings.scores.size)


def _sides(
    queries: Any, documents: Any, key: str | Callable[[Any], Any] | None, *, pairs: bool
) -> Sides:
    """Both sides as they were given, a single one as a list of one."""
    _, asked = rankables("queries", [queries] if _is_one(queries) else queries)
    _, answers = rankables("documents", [documents] if _is_one(documents) else documents, key)
    for name, side in (("queries", asked), ("documents", answers)):
        if not side:
            raise invalid(name, f"{name} must hold at least one")
    if pairs and len(asked) not in (1, len(answers)):
        raise invalid(
            "queries",
            f"{len(asked)} queries and {len(answers)} documents cannot be paired: pass as many of"
            " each, one query, or pairs=False for the full matrix",
            code="score-pairs",
        )
    return Sides(asked, answers, pairs=pairs and len(asked) > 1)


def _is_one(given: object) -> bool:
    return isinstance(given, str | Mapping | Chat) or is_picture(given)


def read_scores(response: Response, request: ScoreRequest) -> tuple[list[Rating], Usage]:
    """A score for each document of a request, and the tokens."""
    body = response.parse(_Rows)
    count = len(request.documents)
    indices = sorted(row.index for row in body.data)
    if indices != list(range(count)):
        raise response.fault(f"expected scores 0 to {count - 1}, got {indices[:8]}")
    return [(row.index, row.score) for row in body.data], body.usage.result()
