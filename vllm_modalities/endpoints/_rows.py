"""The vectors of one call of `embed`: one array, which batches fill side by side."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._context import Target
from .._flow import Flow, Response, Work
from .._many import Failure
from .._results import Usage, raw, words
from .._wire import RequestModel
from ..errors import Finding
from ..gates import repairs
from ..vectors.embeddings import Embeddings

THREAD_FROM = 100_000  # bytes of an answer from which reading it would hold up an event loop
# How far from 1 the length of a unit vector may be: a text of five equal chunks came back 0.0055
# too short from vLLM 0.30.0.
UNIT = 2e-3

Matrix = NDArray[np.float32]


class Route(Protocol):
    """One of the two routes that embed: how it is asked, and how its answer reads."""

    def body(self, texts: tuple[str, ...], width: int | None) -> RequestModel:
        """The request for a batch of texts; `width` is None until it is sure."""
        ...

    def read(
        self, response: Response, count: int, width: int | None
    ) -> tuple[Matrix, Usage | None]:
        """The vectors in order, shape (count, width), and the tokens, if it counts them."""
        ...


class Rows:
    """Collects what the batches bring.

    Args:
        texts: All texts of the call.
        route: The route that they go to.
        target: The servers.
        dimensions: The width that was asked for, if any.
        normalize: What the caller said of the vectors' length.
    """

    def __init__(
        self,
        texts: Sequence[str],
        route: Route,
        target: Target,
        *,
        dimensions: int | None,
        normalize: bool | None,
    ) -> None:
        self._texts, self._route, self._target = texts, route, target
        self._dimensions, self._normalize = dimensions, normalize
        self._vectors: Matrix | None = None
        self._lock = threading.Lock()
        self._responses: list[Response] = []
        self._usages: list[Usage | None] = []
        self._findings: list[Finding] = []

    def run(self, batch: Sequence[int]) -> Flow[list[Failure]]:
        """Embed the texts at these positions; a vector that is not finite fails its text."""
        width = self._width()
        body = self._route.body(tuple(self._texts[place] for place in batch), width)
        response = yield from self._target.post(body)
        if len(response.content) > THREAD_FROM:
            return (yield from Work(lambda: self._take(batch, response, width)))
        return self._take(batch, response, width)

    def harmless(self) -> Flow[None]:
        """Embed one short text, to see whether it is the options that are refused."""
        yield from self._target.post(self._route.body(("a",), None))

    def _width(self) -> int | None:
        """The vectors' width, as far as it is sure."""
        if self._vectors is not None:
            return int(self._vectors.shape[1])
        return self._dimensions or self._target.facts.embedding_size

    def _take(self, batch: Sequence[int], response: Response, width: int | None) -> list[Failure]:
        """Put the vectors into their places; gives the texts whose vector is none."""
        vectors, usage = self._route.read(response, len(batch), width)
        finite = np.isfinite(vectors).all(axis=1)
        zero = ~np.any(vectors != 0, axis=1)  # which no text's vector is
        repaired, vectors = self._repaired(vectors, response)
        found = vectors.shape[1]
        with self._lock:
            if self._vectors is None:
                shape = (len(self._texts), self._dimensions or found)
                self._vectors = np.full(shape, np.nan, np.float32)
                if self._dimensions is None:
                    self._target.learned(embedding_size=found)
            if found != self._vectors.shape[1]:
                expected = self._vectors.shape[1]
                raise response.fault(f"vectors are {found} numbers wide, not {expected}")
            self._responses.append(response)
            self._usages.append(usage)
            self._findings += [*response.findings, *repaired]
        self._vectors[batch[0] : batch[-1] + 1] = vectors
        return [
            (batch[row], response.fault(f"the vector of item {batch[row]} is {fault}"))
            for fault, rows in (("not finite", ~finite), ("all zeros", zero))
            for row in np.flatnonzero(rows).tolist()
        ]

    def _repaired(self, vectors: Matrix, response: Response) -> tuple[list[Finding], Matrix]:
        """Unit length for the texts that an old release embedded in chunks and did not scale."""
        gate = repairs("embeddings-chunked-norm", response.release)
        if gate is None or self._normalize is False:
            return [], vectors
        lengths = np.linalg.norm(vectors, axis=1)
        off = np.isfinite(lengths) & (np.abs(lengths - 1) > UNIT) & (lengths > 0)
        embed = self._target.profile.embed
        # One vector of unit length shows that the model's are meant to be.
        meant = self._normalize or (embed is not None and embed.normalized) or not off.all()
        if not off.any() or not meant:
            return [], vectors
        vectors = vectors / np.where(off, lengths, 1).astype(np.float32)[:, np.newaxis]
        message = f"{int(off.sum())} of {len(off)} vectors: {gate.problem}. {gate.cure}"
        return [gate.says(message)], vectors

    def result(self, failures: Sequence[Failure], findings: Sequence[Finding]) -> Embeddings:
        """All vectors, with a row of NaN for each text that failed."""
        vectors = self._vectors
        if vectors is None:  # every text failed
            width = max(self._width() or 0, 0)  # `validation="off"` may have asked for less
            vectors = np.full((len(self._texts), width), np.nan, np.float32)
        for place, _ in failures:
            vectors[place] = np.nan
        usages = [usage for usage in self._usages if usage is not None]
        return Embeddings(
            vectors=vectors,
            model=self._target.model,
            usage=sum(usages, Usage()) if len(usages) == len(self._usages) else None,
            transport=self._transport(),
            warnings=words([*findings, *self._findings]),
            failures=tuple(failures),
            raw=raw(self._responses, self._target.context.options.keep_raw),
        )

    def _transport(self) -> str | None:
        """The wire formats that came, in the order of their first batch."""
        formats = dict.fromkeys(
            "bytes" if is_raw(response) else "json" for response in self._responses
        )
        return "+".join(formats) or None


def is_raw(response: Response) -> bool:
    """Whether the body is vectors back to back, not JSON."""
    return response.headers.get("content-type", "").startswith("application/octet-stream")
