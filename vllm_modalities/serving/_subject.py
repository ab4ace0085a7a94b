"""`Subject`: one model on one server, asked no more often than was announced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._context import Context, Target
from .._fleet import Replica
from .._flow import Flow, Response, Together
from .._results import AnswerModel
from .._wire import RequestModel
from ..endpoints.embeddings import EmbeddingRequest
from ..endpoints.rerank import RerankRequest, read_ranking
from ..endpoints.tokenize import TokenizeRequest
from ..errors import VLLMModalitiesError
from ..profiles import Profile
from ..server import ModelInfo, ServerInfo
from ._report import Check

Checks = Flow[list[Check]]


@dataclass(frozen=True, slots=True)
class Examination:
    """Some checks that need the same answers.

    Attributes:
        task: The task of servers that it is for.
        name: What it looks at.
        requests: How many it sends at most.
        run: Does it.
    """

    task: str
    name: str
    requests: int
    run: Callable[[Subject], Checks]


@dataclass(slots=True)
class Budget:
    """Requests that may be sent, and those that were."""

    announced: int
    sent: int = 0

    def take(self) -> None:
        assert self.sent < self.announced, "more than was announced"
        self.sent += 1


@dataclass(frozen=True, slots=True)
class Subject:
    """What is examined.

    Attributes:
        target: The model on that one server. Nothing is tried twice, nothing is checked or
            repaired: the server's own answers count.
        server: Who the server is.
        budget: What may be sent.
    """

    target: Target
    server: ServerInfo
    budget: Budget

    @classmethod
    def of(cls, context: Context, replica: Replica, model: str | None, announced: int) -> Subject:
        bare = replace(context.options, validation="off", max_retries=0)
        target = Target(replace(context, options=bare), model, (replica,))
        return cls(target, target.info, Budget(announced))

    @property
    def model(self) -> ModelInfo:
        """What is known of the model."""
        return self.target.facts

    @property
    def profile(self) -> Profile:
        """What is known of its family."""
        return self.target.profile

    def now(self) -> float:
        """Seconds, on the client's clock."""
        return self.target.context.fleet.clock()

    def post(self, body: RequestModel) -> Flow[Response]:
        """Send one request."""
        self.budget.take()
        return (yield from self.target.post(body.model_copy(update={"model": self.target.model})))

    def outcome(self, body: RequestModel) -> Flow[Response | VLLMModalitiesError]:
        """Send one request whose refusal is an answer too."""
        (outcome,) = yield from Together([self.post(body)])
        return outcome

    def vectors(self, *texts: str, dimensions: int | None = None) -> Flow[NDArray[np.float32]]:
        """The vectors of texts, one request; shape (n, dim)."""
        body = EmbeddingRequest(input=texts, dimensions=dimensions, encoding_format="float")
        return listed((yield from self.post(body)), len(texts))

    def scores(self, query: str, *documents: str) -> Flow[NDArray[np.float32]]:
        """How well each document fits, one request; shape (n,), in the documents' order."""
        request = RerankRequest(query=query, documents=documents)
        ratings, _ = read_ranking((yield from self.post(request)), request)
        found = np.full(len(documents), np.nan, np.float32)
        for place, score in ratings:
            found[place] = score
        return found

    def tokens(self, text: str) -> Flow[int]:
        """How many tokens the server makes of a text, special ones left out; one request."""
        body = TokenizeRequest(prompt=text, add_special_tokens=False)
        return (yield from self.post(body)).parse(_Tokens).count


class _Row(AnswerModel):
    index: int
    embedding: list[float]


class _Rows(AnswerModel):
    data: list[_Row]


class _Tokens(AnswerModel):
    count: int


def listed(response: Response, count: int) -> NDArray[np.float32]:
    """The vectors of a list of floats, in order."""
    rows = sorted(response.parse(_Rows).data, key=lambda row: row.index)
    if len(rows) != count or len({len(row.embedding) for row in rows}) != 1:
        raise response.fault(f"expected {count} vectors of one width, got {len(rows)}")
    return np.array([row.embedding for row in rows], np.float32)


def shown(numbers: Sequence[float] | NDArray[np.float32]) -> str:
    """Numbers with three decimals."""
    return ", ".join(f"{number:.3f}" for number in numbers)


def brief(error: VLLMModalitiesError, limit: int = 160) -> str:
    """What an error says, in one line of at most so many characters."""
    words = " ".join(str(getattr(error, "message", error)).split())
    return words if len(words) <= limit else f"{words[: limit - 2]} …"
