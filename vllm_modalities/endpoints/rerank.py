"""Order documents by their relevance to a query: `POST /v1/rerank`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, overload

from pydantic import Field, FiniteFloat

from .._context import Context
from .._flow import Flow, Response
from .._inputs import texts_of
from .._results import AnswerModel, Usage, UsageBody, raw, words
from ..server import ServerInfo
from ._canary import missing_template
from ._ranking import RankingFields

ScoreType = Literal["cross-encoder", "bi-encoder", "late-interaction"]


class RerankRequest(RankingFields):
    """Body of `POST /v1/rerank`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/scoring/protocol.py, `RerankRequest`.
    """

    TASK: ClassVar[str] = "rerank"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("score",)
    # The one under /v1 comes first: the API key guards it, in every release.
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/rerank", "/rerank")

    query: str = Field(min_length=1)
    documents: tuple[str, ...] = Field(min_length=1)
    top_n: int | None = None

    def texts(self) -> Iterable[str]:
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
    document: str


@dataclass(frozen=True, slots=True)
class RerankResult:
    """Documents ordered by relevance, best first.

    Attributes:
        ranked: The documents, k of them.
        model: The served model's name.
        usage: Tokens read.
        score_type: `"cross-encoder"` (0..1 or logits), `"bi-encoder"` (cosine, -1..1),
            `"late-interaction"` (a sum over the query's tokens), or None if it can't be known.
        warnings: What was doubtful.
        raw: The server's own answers, with `keep_raw=True`.
    """

    ranked: tuple[RankedDocument, ...]
    model: str | None = None
    usage: Usage | None = None
    score_type: ScoreType | None = None
    warnings: tuple[str, ...] = ()
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
        return f"RerankResult({len(self)} documents, model={self.model!r}{best})"


def rerank(
    context: Context,
    /,
    query: str,
    documents: Sequence[str],
    *,
    model: str | None = None,
    top_n: int | None = None,
    max_tokens_per_doc: int | None = None,
    instruction: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[RerankResult]:
    """Order `documents` by their relevance to `query`.

    Args:
        query: The text to compare against; not empty.
        documents: n texts, n >= 1.
        model: The served model's name; None is the one that is served. Where several servers
            rank, a cross-encoder goes before late interaction, and that before an embedder.
        top_n: How many to return, best first; None or 0 returns all n.
        max_tokens_per_doc: Tokens of each document that are read; None reads all. From vLLM
            0.20.0 on, below the model's context length.
        instruction: What makes a document relevant, for models whose template reads it, such as
            Qwen3-Reranker. From vLLM 0.22.0 on.
        extra_body: Further fields of the request.

    Returns:
        k documents, best first: k = min(top_n, n), or n.

    Raises:
        InvalidRequestError: An empty query, no document, a negative `top_n`, or
            `max_tokens_per_doc` or `instruction` on a release that drops it. Nothing is sent.
        BadRequestError: The server refused, such as for a document longer than its context.
        ResponseError: The ranking names other documents than those sent, or not all of them.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/scoring/protocol.py, `RerankRequest`.
    """
    texts = texts_of("documents", documents)
    target = yield from context.find(RerankRequest, model)
    request = RerankRequest(
        model=target.model,
        query=query,
        documents=texts,
        top_n=top_n,
        max_tokens_per_doc=max_tokens_per_doc,
        instruction=instruction,
        extra_body=extra_body,
    )
    findings = yield from missing_template(target)
    context.report(findings)
    response = yield from target.post(request)
    ranked, usage = read_ranking(response, request)
    return RerankResult(
        ranked=ranked,
        model=target.model,
        usage=usage,
        score_type=score_type(target.info),
        warnings=words([*findings, *response.findings]),
        raw=raw([response], context.options.keep_raw),
    )


def read_ranking(
    response: Response, request: RerankRequest
) -> tuple[tuple[RankedDocument, ...], Usage]:
    """The documents of an answer, best first, each sent document at most once; and the tokens."""
    body = response.parse(_Ranking)
    count = len(request.documents)
    expected = min(request.top_n or count, count)
    indices = [result.index for result in body.results]
    if len(set(indices)) != len(indices) or not set(indices) <= set(range(count)):
        raise response.fault(f"the ranking names documents {indices[:8]} of 0 to {count - 1}")
    # `validation="off"` may have sent a negative top_n, which older releases take for all.
    if len(indices) != expected and (request.top_n or 0) >= 0:
        raise response.fault(f"the ranking has {len(indices)} documents, not {expected}")
    best_first = sorted(body.results, key=lambda result: -result.relevance_score)
    ranked = tuple(
        RankedDocument(result.index, result.relevance_score, request.documents[result.index])
        for result in best_first
    )
    return ranked, body.usage.result()


def score_type(server: ServerInfo) -> ScoreType | None:
    """What a server's scores are, by its routes; None where it lists none.

    Source: vLLM 0.32.0: a one-label classifier registers /classify, an embedder /v1/embeddings,
    a late-interaction model neither (vllm/entrypoints/pooling/factories.py).
    """
    if not server.routes:
        return None
    if "/classify" in server.routes:
        return "cross-encoder"
    return "bi-encoder" if "/v1/embeddings" in server.routes else "late-interaction"
