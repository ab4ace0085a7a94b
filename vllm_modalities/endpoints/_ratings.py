"""The scores of one call of `rerank` or `score`: one array, which batches fill side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from .._context import Target
from .._flow import Flow, Response, Together, Work
from .._inputs import at_least, invalid, one_of
from .._many import Failure, OnError, batches, each
from .._results import Usage
from ..errors import Finding, VLLMModalitiesError
from ._content import sizes_of
from ._documents import Rankable, wired
from ._overlong import with_cure
from ._ranking import RankingFields

BATCH_COUNT, BATCH_TOKENS = 128, 65_536  # pairs of one request at most, and tokens, roughly
CUT = (
    "Cut documents with a max_tokens_per_doc that leaves room for the query, or the query with"
    " max_tokens_per_query"
)
THREAD_FROM = 100_000  # bytes of an answer from which reading it would hold up an event loop

R = TypeVar("R", bound=RankingFields)
Rating = tuple[int, float]
"""A document's place in its batch, and its score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the caller asked for, beside what is compared; see `score` for each."""

    max_tokens_per_query: int | None
    max_tokens_per_doc: int | None
    instruction: str | None
    batch_size: int | None
    on_error: OnError
    extra_body: Mapping[str, Any] | None

    def __post_init__(self) -> None:
        one_of("on_error", self.on_error, get_args(OnError))
        at_least("batch_size", 1 if self.batch_size is None else self.batch_size, 1)

    @property
    def fields(self) -> dict[str, Any]:
        """Those that go on the wire."""
        names = ("max_tokens_per_query", "max_tokens_per_doc", "instruction", "extra_body")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Sides:
    """Queries and documents, and which belong together.

    Attributes:
        queries, documents: What is compared.
        pairs: Each query with the document at its place, or with all documents.
    """

    queries: Sequence[Rankable]
    documents: Sequence[Rankable]
    pairs: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The scores' shape."""
        if self.pairs:
            return (len(self.documents),)
        return len(self.queries), len(self.documents)

    def of(self, places: Sequence[int]) -> tuple[list[Rankable], list[Rankable]]:
        """The queries, one or as many as documents, and the documents of some of the scores."""
        if self.pairs:
            return [self.queries[p] for p in places], [self.documents[p] for p in places]
        row, first = divmod(places[0], len(self.documents))
        return [self.queries[row]], [self.documents[first + p - places[0]] for p in places]

    def work(self, count: int) -> Iterator[range]:
        """Batches of scores: places in the flat array."""
        sizes = sizes_of(self.documents)
        if self.pairs:
            sizes = [a + b for a, b in zip(sizes, sizes_of(self.queries), strict=True)]
        for row in range(1 if self.pairs else len(self.queries)):
            base = row * len(self.documents)
            for batch in batches(sizes, count=count, size=BATCH_TOKENS):
                yield range(base + batch.start, base + batch.stop)


@dataclass(frozen=True, slots=True)
class Route(Generic[R]):
    """One of the two routes that compare.

    Attributes:
        template: A request with everything but what is compared.
        names: The fields of the queries and of the documents.
        read: What an answer says of the documents of its request, and the tokens.
        one_query: Whether the query is always a single one.
    """

    template: R
    names: tuple[str, str]
    read: Callable[[Response, R], tuple[list[Rating], Usage]]

    def body(self, queries: Sequence[Any], documents: Sequence[Any]) -> R:
        """The request for these."""
        one = len(queries) == 1
        update = {self.names[0]: queries[0] if one else tuple(queries)}
        return self.template.model_copy(update=update | {self.names[1]: tuple(documents)})


class Ratings(Generic[R]):
    """Collects what the batches bring.

    Attributes:
        scores: In the order of the places; NaN where none came. float64.
        usages, findings, raws: What the answers brought beside that.
    """

    def __init__(self, target: Target, route: Route[R], sides: Sides) -> None:
        self._target, self._route, self._sides = target, route, sides
        self.scores: NDArray[np.float64] = np.full(int(np.prod(sides.shape)), np.nan)
        self.usages: list[Usage] = []
        self.findings: dict[Finding, None] = {}
        self.raws: list[bytes] = []

    def fill(self, asked: Asked) -> Flow[list[Failure]]:
        """Rate all, side by side; gives (place, error) of what failed."""
        profile = self._target.profile.rerank
        if profile is not None and profile.kind == "listwise" and not self._sides.pairs:
            return (yield from self._fill_by_list(asked.batch_size))
        work = list(self._sides.work(asked.batch_size or BATCH_COUNT))
        failures = yield from each(work, self.run, self.harmless, on_error=asked.on_error)
        return [(place, with_cure(error, CUT)) for place, error in failures]

    def _fill_by_list(self, batch_size: int | None) -> Flow[list[Failure]]:
        """All documents of a query in one request: the model judges them by each other."""
        count = len(self._sides.documents)
        if batch_size is not None and batch_size < count:
            raise invalid(
                "batch_size",
                f"batch_size={batch_size}: {self._target.model!r} is listwise, it judges all"
                f" documents by each other; leave batch_size out, or pass fewer documents",
            )
        rows = [range(n, n + count) for n in range(0, self.scores.size, count)]
        outcomes = yield from Together([self.run(row) for row in rows])
        return [
            failure
            for row, outcome in zip(rows, outcomes, strict=True)
            for failure in (
                [(place, outcome) for place in row]
                if isinstance(outcome, VLLMModalitiesError)
                else outcome
            )
        ]

    def run(self, batch: Sequence[int]) -> Flow[list[Failure]]:
        """Rate the documents at these places; one that cannot be read fails by itself."""
        pairs = self._sides.pairs
        queries, documents = self._sides.of(batch)
        found, doubts = yield from wired(self._target.context, [*queries, *documents])
        asked, answers = found[: len(queries)], found[len(queries) :]
        if not pairs and isinstance(asked[0], VLLMModalitiesError):
            raise asked[0]
        failed: dict[int, VLLMModalitiesError] = {}
        for side in (asked, answers) if pairs else (answers,):
            both = zip(batch, side, strict=True)
            failed |= {place: one for place, one in both if isinstance(one, VLLMModalitiesError)}
        sent = [n for n, place in enumerate(batch) if place not in failed]
        if sent:
            places, read = [batch[n] for n in sent], [answers[n] for n in sent]
            yield from self._ask(places, [asked[n] for n in sent] if pairs else asked, read)
        self._doubt(doubts)
        return sorted(failed.items())

    def harmless(self) -> Flow[None]:
        """Compare with one short text, to see whether it is the rest that is refused."""
        query: list[Rankable] = ["a"] if self._sides.pairs else [self._sides.queries[0]]
        queries, _ = yield from wired(self._target.context, query)
        yield from self._target.post(self._route.body(queries, ["a"]))

    def _ask(
        self, places: Sequence[int], queries: Sequence[Any], documents: Sequence[Any]
    ) -> Flow[None]:
        request = self._route.body(queries, documents)
        response = yield from self._target.post(request)
        if len(response.body) > THREAD_FROM:
            ratings, usage = yield from Work(lambda: self._route.read(response, request))
        else:
            ratings, usage = self._route.read(response, request)
        for place, score in ratings:
            self.scores[places[place]] = score
        self.usages.append(usage)
        self.findings.update(dict.fromkeys(response.findings))
        if self._target.context.options.keep_raw:
            self.raws.append(response.content)

    def _doubt(self, doubts: Sequence[str]) -> None:
        for message in doubts:
            finding = Finding(
                code="image-doubtful", severity="warning", field="documents", message=message
            )
            self.findings[finding] = None
