"""The vectors of one call of `embed`: one array, which batches fill side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from .._context import Target
from .._flow import Flow, Response, Work
from .._many import Failure
from .._results import Usage, raw, words
from .._wire import RequestModel
from ..errors import Finding, MediaError, VLLMModalitiesError
from ..gates import repairs
from ..vectors import decode
from ..vectors.embeddings import Embeddings
from ..vectors.precision import Precision
from ._content import Chat, Item, has_pictures
from ._pictures import pictured

# Bytes of an answer from which reading it would hold up an event loop, for some milliseconds;
# raw vectors are only copied.
THREAD_FROM, THREAD_FROM_RAW = 100_000, 4_000_000

Matrix = NDArray[Any]
Form = Literal["bytes", "base64", "float"]


@dataclass(frozen=True, slots=True)
class Read:
    """One answer: its vectors in order, shape (count, width); tokens, if it counts them; format."""

    vectors: Matrix
    usage: Usage | None
    form: Form


class Route(Protocol):
    """One of the two routes that embed: how it is asked, and how its answer reads."""

    @property
    def precision(self) -> Precision:
        """How it is asked to write numbers."""
        ...

    def body(self, items: Sequence[Item], width: int | None) -> RequestModel:
        """The request for a batch of inputs of one kind; `width` is None until it is sure."""
        ...

    def read(self, response: Response, count: int, width: int | None) -> Read:
        """What the answer to a batch of `count` holds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is the same for all batches of a call.

    Attributes:
        target: The servers.
        route: The route that the inputs go to.
        count: Inputs of one request at most.
        prompt: What is put before each text.
        dimensions: The width that was asked for, if any.
        normalize: What the caller said of the vectors' length.
        findings: What is doubtful about the call.
        seen: How wide the vectors of the first answer are, once there is one.
    """

    target: Target
    route: Route
    count: int
    prompt: str
    dimensions: int | None
    normalize: bool | None
    findings: Sequence[Finding]
    seen: dict[Literal["width"], int] = field(default_factory=dict)

    @property
    def width(self) -> int | None:
        """The vectors' width, as far as it is sure."""
        return self.dimensions or self.seen.get("width") or self.target.facts.embedding_size

    def met(self, width: int) -> int:
        """The width of the call's first answer, which one of this width may be."""
        if not self.seen and self.width != width:
            self.target.learned(embedding_size=width)
        return self.seen.setdefault("width", width)

    def prompted(self, item: Item) -> Item:
        """An input as the model is given it."""
        return self.prompt + item if self.prompt and isinstance(item, str) else item


class Rows:
    """Collects what the batches bring.

    Args:
        job: What they have in common.
        items: The inputs, n of them.
        first: Position of the first among all inputs of the caller's.
        out: Where the vectors go, shape (n, width); None is a new array.
        done: Called with how many more inputs have their vectors.
    """

    def __init__(
        self,
        job: Job,
        items: Sequence[Item],
        *,
        first: int = 0,
        out: Matrix | None = None,
        done: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._job, self._items, self._first, self._out, self._done = job, items, first, out, done
        chats = items if isinstance(items[0], Chat) else ()  # they are of one kind
        self._pictures = any(isinstance(i, Chat) and has_pictures(i.messages) for i in chats)
        self._vectors: Matrix | None = None
        self._lock = threading.Lock()
        self._kept: list[Response] = []
        self._usages: list[Usage | None] = []
        self._forms: list[Form] = []
        self._findings: list[Finding] = [*job.findings]

    def run(self, batch: Sequence[int]) -> Flow[list[Failure]]:
        """Embed the inputs at these positions.

        One whose image cannot be read, or whose vector is not finite, fails alone.
        """
        items, failures = [self._items[place] for place in batch], list[Failure]()
        if self._pictures:
            batch, items, failures = yield from self._read_pictures(batch)
            if not batch:
                return failures
        width = self._width()
        response = yield from self._job.target.post(self._job.route.body(items, width))
        if len(response.body) > (THREAD_FROM_RAW if is_raw(response) else THREAD_FROM):
            failures += yield from Work(lambda: self._take(batch, response, width))
        else:
            failures += self._take(batch, response, width)
        self._done(len(batch))
        return sorted(failures, key=lambda failure: failure[0])

    def harmless(self) -> Flow[None]:
        """Embed one short input, to see whether it is the options that are refused."""
        item = self._items[0]
        if isinstance(item, Chat):
            short: Item = Chat(({"role": "user", "content": "a"},), item.bare)
        else:
            short = "a" if isinstance(item, str) else (1,)
        yield from self._job.target.post(self._job.route.body([short], None))

    def _read_pictures(
        self, batch: Sequence[int]
    ) -> Flow[tuple[Sequence[int], list[Item], list[Failure]]]:
        """The inputs with their images read, and those whose images cannot be."""
        places, items, failures = list[int](), list[Item](), list[Failure]()
        chats = [item for place in batch if isinstance(item := self._items[place], Chat)]
        read = yield from pictured(self._job.target.context, chats)
        for place, one in zip(batch, read, strict=True):
            where = f"item {self._first + place} of inputs"
            if isinstance(one, VLLMModalitiesError):
                named = MediaError(f"{where}: {one}") if isinstance(one, MediaError) else one
                failures.append((place, named))
                continue
            chat, doubts = one
            places.append(place)
            items.append(chat)
            with self._lock:
                self._findings += [
                    Finding(
                        code="image",
                        severity="warning",
                        field="inputs",
                        message=f"{where}: {doubt}",
                    )
                    for doubt in doubts
                ]
        return places, items, failures

    def _width(self) -> int | None:
        return self._job.width if self._vectors is None else int(self._vectors.shape[1])

    def _take(self, batch: Sequence[int], response: Response, width: int | None) -> list[Failure]:
        """Put the vectors into their places; gives the inputs whose vector has no direction."""
        read = self._job.route.read(response, len(batch), width)
        failing = [(row, "not finite") for row in decode.not_finite(read.vectors)]
        failing += [(row, "all zeros") for row in decode.zeros(read.vectors)]
        repaired, rows = self._repaired(read.vectors, response)
        found = rows.shape[1]
        with self._lock:
            vectors = self._room(found) if self._vectors is None else self._vectors
            width = vectors.shape[1]
            if found != width or found != (width := self._job.met(found)):
                raise response.fault(f"vectors are {found} numbers wide, not {width}")
            if self._vectors is None and self._can_stay(rows, vectors):
                vectors = rows
            self._vectors = vectors
            if self._job.target.context.options.keep_raw:
                self._kept.append(response)
            self._usages.append(read.usage)
            self._forms.append(read.form)
            self._findings += [*response.findings, *repaired]
        if vectors is not rows:
            first, last = batch[0], batch[-1]
            whole = last - first == len(batch) - 1
            vectors[slice(first, last + 1) if whole else list(batch)] = rows
        return [
            (
                batch[row],
                response.fault(f"the vector of item {self._first + batch[row]} is {fault}"),
            )
            for row, fault in failing
        ]

    def _room(self, found: int) -> Matrix:
        """Where all vectors go."""
        if self._out is not None:
            return self._out
        # Half as many bytes as are asked for would read as half as many numbers.
        short = self._job.route.precision.size < 4 and self._job.width
        width = max(self._job.dimensions or short or found, 0)
        return np.empty((len(self._items), width), self._job.route.precision.array)

    def _can_stay(self, rows: Matrix, room: Matrix) -> bool:
        """Whether these are all vectors, and may stay in the memory that they came in."""
        is_shared = self._out is not None or self._job.target.context.options.keep_raw
        alike = rows.shape == room.shape and rows.dtype == room.dtype
        return alike and not is_shared and rows.flags.writeable

    def _repaired(self, vectors: Matrix, response: Response) -> tuple[list[Finding], Matrix]:
        """Unit length for the texts that an old release embedded in chunks and did not scale."""
        gate = repairs("embeddings-chunked-norm", response.release)
        normalize = self._job.normalize
        if gate is None or normalize is False:
            return [], vectors
        with np.errstate(over="ignore", invalid="ignore"):  # such a length is no finite number
            lengths = np.linalg.norm(vectors.astype(np.float32, copy=False), axis=1)
        off = np.isfinite(lengths) & (lengths > 0)
        off &= np.abs(lengths - 1) > self._job.route.precision.rounding
        embed = self._job.target.profile.embed
        # One vector of unit length shows that the model's are meant to be.
        meant = normalize or (embed is not None and embed.normalized) or not off.all()
        if not off.any() or not meant:
            return [], vectors
        scale = np.where(off, lengths, 1).astype(vectors.dtype)
        message = f"{int(off.sum())} of {len(off)} vectors: {gate.problem}. {gate.cure}"
        return [gate.says(message)], vectors / scale[:, np.newaxis]

    def result(self, failures: Sequence[Failure]) -> Embeddings:
        """All vectors, with a row of NaN for each input that failed."""
        vectors = self._vectors
        if vectors is None:  # every input failed
            width = max(self._job.width or 0, 0)  # `validation="off"` may have asked for less
            vectors = self._room(width)
        if failures:
            vectors[[place for place, _ in failures]] = np.nan
        usages = [usage for usage in self._usages if usage is not None]
        return Embeddings(
            vectors=vectors,
            model=self._job.target.model,
            usage=sum(usages, Usage()) if len(usages) == len(self._usages) else None,
            transport="+".join(dict.fromkeys(self._forms)) or None,
            warnings=words(self._findings),
            failures=tuple(failures),
            raw=raw(self._kept, self._job.target.context.options.keep_raw),
        )


def is_raw(response: Response) -> bool:
    """Whether the body is vectors back to back, not JSON."""
    return response.headers.get("content-type", "").startswith("application/octet-stream")
