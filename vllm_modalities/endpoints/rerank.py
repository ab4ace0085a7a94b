"""Order documents by their relevance to a query: `POST /v1/rerank`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from pydantic import Field, FiniteFloat

from .._context import Context
from .._flow import Flow, Response
from .._many import Failure, OnError, settle
from .._results import AnswerModel, Usage, UsageBody, words
from ..server import ServerInfo
from ._documents import rankable, rankables
from ._notebook import ranked
from ._preparing import prepared
from ._ranking import Item, RankingFields, ScoreType, score_type
from ._ratings import Asked, Rating, Ratings, Route, Sides


class RerankRequest(RankingFields):
    """Body of `POST /v1/rerank`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/scoring/protocol.py, `RerankRequest`.
    """

    TASK: ClassVar[str] = "rerank"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("score",)
    # The one under /v1 comes first: the API key guards it, in every release.
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/rerank", "/rerank")

    query: Item = Field(min_length=1)
    documents: tuple[Item, ...] = Field(min_length=1)
    top_n: int | None = None

    def items(self) -> Iterable[Item]:
        return (self.query, *self.documents)

    @classmethod
    def preference(cls, server: ServerInfo) -> int:
        """A cross-encoder, then late interaction, then an embedder."""
        order = ("cross-encoder", "late-interaction", "bi-encoder")
        kind = score_type(server)
        return order.index(kind) if kind else len(order)


class _Result(AnswerModel):
    index: int
    relevance_score: FiniteFloat


class _Ranking(AnswerModel):
    # The server sends every document back, images too; what is not a field here is not kept.
    results: list[_Result]
    usage: UsageBody = Field(default_factory=UsageBody)


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """One document of a ranking.

    Attributes:
        index: Its position in the `documents` argument.
        score: Its relevance, in the model's own scale.
        document: The caller's own document.
    """

    index: int
    score: float
    document: Any


@dataclass(frozen=True, slots=True)
class RerankResult:
    """Documents ordered by relevance, best first.

    Attributes:
        ranked: The documents, k of them.
        model: The served model's name.
        usage: Tokens read.
        score_type: `"cross-encoder"` (0..1 or logits), `"bi-encoder"` (cosine, -1..1),
            `"late-interaction"` (a sum over the query's tokens), or None if it can't be known.
        warnings: What was doubtful, and what was cut.
        failures: (position, error) of the documents that failed; only with `on_error="return"`.
        raw: The server's own answers, with `keep_raw=True`.
    """

    ranked: tuple[RankedDocument, ...]
    model: str | None = None
    usage: Usage | None = None
    score_type: ScoreType | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    raw: tuple[bytes, ...] | None = None

    def __len__(self) -> int:
        return len(self.ranked)

    def __iter__(self) -> Iterator[RankedDocument]:
        return iter(self.ranked)

    @overload
    def __getitem__(self, place: int) -> RankedDocument: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[RankedDocument, ...]: ...
    def __getitem__(self, place: int | slice) -> RankedDocument | tuple[RankedDocument, ...]:
        return self.ranked[place]

    def __repr__(self) -> str:
        best = f", best {self.ranked[0].score:.3g}" if self.ranked else ""
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"RerankResult({len(self)} documents, model={self.model!r}{best}{failed})"

    def _repr_html_(self) -> str:
        return ranked(self)


def rerank(
    context: Context,
    /,
    query: Any,
    documents: Iterable[Any],
    *,
    model: str | None = None,
    top_n: int | None = None,
    max_tokens_per_doc: int | None = None,
    max_tokens_per_query: int | None = None,
    instruction: str | None = None,
    key: str | Callable[[Any], Any] | None = None,
    batch_size: int | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[RerankResult]:
    """Order `documents` by their relevance to `query`, any number of them.

    They go out in batches, side by side, over all servers that have the model, and the batches'
    rankings are merged. A listwise model judges documents by each other, so it gets all at once.

    Args:
        query: What to compare against: a text that is not empty, an image (a Path, the bytes of a
            file, a Pillow image, an ImageURL), or a list of both, for models that see.
        documents: n >= 1 of the same; also `{"text": …}` and `{"content": …}`, and whatever `key`
            reads.
        model: The served model's name; None is the one that is served. Where several servers
            rank, a cross-encoder goes before late interaction, and that before an embedder.
        top_n: How many to return, best first; None or 0 returns all n.
        max_tokens_per_doc: Tokens of each document that are read, without special tokens; None
            reads all. Where the release has no such cut, or one that changes other scores, texts
            are cut here, with the server's own tokenizer; `.warnings` says which.
        max_tokens_per_query: Likewise of the query.
        instruction: What makes a document relevant, for models whose template reads it, such as
            Qwen3-Reranker. From vLLM 0.22.0 on.
        key: How documents of your own are read: the name of a dict's field, or a function.
        batch_size: Documents in one request at most; default 128, fewer where they are long.
        on_error: `"collect"` ranks the rest, then raises PartialFailureError; `"raise"` stops at
            the first failure; `"return"` gives the ranking of the rest with `.failures`.
        extra_body: Further fields of the request.

    Returns:
        k documents, best first: k = min(top_n, n), or n; fewer where some failed.

    Raises:
        InvalidRequestError: An empty query, no document, a document that cannot be compared, a
            negative `top_n`, images for a model that reads texts alone, or an `instruction` on a
            release that drops it. Nothing is sent.
        PartialFailureError: Some documents failed, such as one longer than the model's context;
            `.results` ranks the others.
        ResponseError: The ranking names other documents than those sent, or not all of them.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/scoring/protocol.py, `RerankRequest`.
    """
    asked = Asked(
        max_tokens_per_query=max_tokens_per_query,
        max_tokens_per_doc=max_tokens_per_doc,
        instruction=instruction,
        batch_size=batch_size,
        on_error=on_error,
        extra_body=extra_body,
    )
    own, items = rankables("documents", documents, key)
    question = rankable("query", None, query)
    target = yield from context.find(RerankRequest, model)
    template = RerankRequest(
        model=target.model,
        query=question if isinstance(question, str) else {"content": []},
        documents=("a",) if items else (),
        top_n=top_n,
        **asked.fields,
    )
    template, sides, findings = yield from prepared(target, template, Sides([question], items))
    ratings = Ratings(target, Route(template, ("query", "documents"), read_ranking), sides)
    failures = yield from ratings.fill(asked)
    ranked = _best(ratings, own, template.top_n)
    result = RerankResult(
        ranked=ranked,
        model=target.model,
        usage=sum(ratings.usages, Usage()),
        score_type=score_type(target.info, (found.score for found in ranked[:1])),
        warnings=words([*findings, *ratings.findings]),
        failures=tuple(failures),
        raw=tuple(ratings.raws) if context.options.keep_raw else None,
    )
    return settle(result, failures, on_error=on_error, count=len(own))


def _best(
    ratings: Ratings[RerankRequest], own: Sequence[Any], top_n: int | None
) -> tuple[RankedDocument, ...]:
    """The rated documents, best first; those of one score in the caller's order."""
    order = np.argsort(-ratings.scores, kind="stable")
    rated = int(np.isfinite(ratings.scores).sum())  # NaN comes last
    # `validation="off"` may have sent a negative top_n, which older releases take for all.
    count = min(rated, top_n) if top_n and top_n > 0 else rated
    return tuple(
        RankedDocument(place, float(ratings.scores[place]), own[place])
        for place in order[:count].tolist()
    )


def read_ranking(response: Response, request: RerankRequest) -> tuple[list[Rating], Usage]:
    """The documents of an answer, each sent document at most once; and the tokens."""
    body = response.parse(_Ranking)
    count = len(request.documents)
    expected = min(request.top_n or count, count)
    indices = [result.index for result in body.results]
    if len(set(indices)) != len(indices) or not set(indices) <= set(range(count)):
        raise response.fault(f"the ranking names documents {indices[:8]} of 0 to {count - 1}")
    # As above: a negative top_n is a refusal, or no bound at all.
    if len(indices) != expected and (request.top_n or 0) >= 0:
        raise response.fault(f"the ranking has {len(indices)} documents, not {expected}")
    return [(result.index, result.relevance_score) for result in body.results], body.usage.result()
