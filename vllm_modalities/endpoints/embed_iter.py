"""Dense embeddings of inputs without end, a batch at a time: `POST /v1/embeddings`."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping, Sized
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._context import Context
from .._flow import Flow, Stream
from .._inputs import invalid
from .._many import Failure, OnError, Streak, each, is_shared
from .._progress import Progress, told
from ..errors import BadRequestError, MediaError, PartialFailureError
from ..vectors.embeddings import Embeddings
from ..vectors.precision import DType
from ._content import Item, is_picture, item_of, kind_of, same_kind, tokens_of
from ._embedding import BATCH_TOKENS, Asked, Truncate, prepared
from ._overlong import named
from ._rows import Job, Rows

if TYPE_CHECKING:
    from ._content import Input

OF_THE_INPUT = (BadRequestError, MediaError)


def embed_iter(
    context: Context,
    /,
    inputs: Iterable[Input] | AsyncIterable[Input],
    *,
    model: str | None = None,
    dimensions: int | None = None,
    input_type: str | None = None,
    normalize: bool | None = None,
    truncate: Truncate = "error",
    dtype: DType | None = None,
    batch_size: int | None = None,
    on_error: OnError = "collect",
    ordered: bool = True,
    progress: Progress = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Stream[Embeddings]:
    """Embed inputs as they come, any number of them, in memory that does not grow with it.

    Batches go out side by side, over all servers that have the model, and are given in order, or
    as they are there. Inputs are taken when a result is asked for, and at most 2 *
    `max_concurrency` batches ahead of what has been given. Leaving the loop, or closing the
    iterator, ends it all.

    Args:
        inputs: Anything that gives one input at a time, each as for `embed`, all of one kind;
            `AsyncClient` takes an async iterable too.
        model, dimensions, input_type, normalize, truncate, dtype: As for `embed`.
        batch_size: Inputs in one batch at most; default 128, fewer where they are long.
        on_error: `"collect"` gives every batch, with NaN rows and `.failures` where inputs
            failed, and raises PartialFailureError after the last; `"raise"` stops at the first
            failure; `"return"` gives every batch and raises nothing. What all inputs share, such
            as a wrong key, is raised at once, and so is the eighth batch in a row that fails
            whole: then the servers are at fault.
        ordered: True gives batches in the order of the inputs, False as each is there; `.start`
            says which inputs are in it.
        progress: As for `embed`, called with how many inputs are done, and how many there are, or
            None where `inputs` has no length.
        extra_body: As for `embed`.

    Returns:
        An iterator of Embeddings, an async iterator from `AsyncClient`: vectors of as many inputs
        each as one request held, in the order of the inputs, from the one at `.start` on.
        Positions in `.failures` are those in the batch.

    Raises:
        InvalidRequestError: An input is nothing that can be embedded, after the results of those
            before it; or as for `embed`.
        PartialFailureError: Some inputs failed: `.failures` has their positions among all
            inputs. `.results` is empty, since the batches had the vectors.
        ResponseError: As for `embed`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/embed/protocol.py.
    """
    one = isinstance(inputs, str | Mapping) or is_picture(inputs)
    if one or not isinstance(inputs, Iterable | AsyncIterable) or hasattr(inputs, "columns"):
        raise invalid(
            "inputs",
            "embed_iter takes many inputs, one after another, such as a list or a generator, where"
            f" embed() takes a single one too; got {kind_of(inputs)}",
        )
    asked = Asked(
        model=model,
        dimensions=dimensions,
        input_type=input_type,
        normalize=normalize,
        truncate=truncate,
        dtype=dtype,
        batch_size=batch_size,
        on_error=on_error,
        extra_body=extra_body,
    )
    total = len(inputs) if isinstance(inputs, Sized) else None

    def begin(first: Any) -> Flow[_Batches]:
        item = item_of("inputs", 0, first)
        job = yield from prepared(context, asked, [item])
        return _Batches(job, item, on_error, progress, total)

    return Stream(inputs, begin, ordered=ordered)


class _Batches:
    """Makes a flow of each batch of inputs, as these come."""

    def __init__(
        self, job: Job, first: Item, on_error: OnError, progress: Progress, total: int | None
    ) -> None:
        self._job, self._kind = job, first
        self._on_error: OnError = on_error
        self._progress = told(progress, total, of="inputs")
        self._items: list[Item] = []
        self._tokens = 0
        self._before = 0  # inputs of the batches that are made
        self._failures: list[Failure] = []
        self._streak = Streak()  # of batches that fail whole, by no fault of their inputs

    def __enter__(self) -> Self:
        self._done = self._progress.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.__exit__(kind, error, traceback)

    def add(self, item: Any) -> Flow[Embeddings] | None:
        found = item_of("inputs", self._before + len(self._items), item)
        same_kind("inputs", self._kind, found)
        found = self._job.prompted(found)
        tokens = tokens_of(found)
        full = self.rest() if self._tokens + tokens > BATCH_TOKENS else None
        self._items.append(found)
        self._tokens += tokens
        if full is None and len(self._items) == self._job.count:
            full = self.rest()
        return full

    def rest(self) -> Flow[Embeddings] | None:
        items, first = self._items, self._before
        if not items:
            return None
        self._items, self._tokens, self._before = [], 0, first + len(items)
        return self._embedded(items, first)

    def end(self) -> None:
        if self._failures and self._on_error == "collect":
            nothing = Embeddings(np.empty((0, 0), np.float32))
            failures = sorted(self._failures, key=lambda one: one[0])
            raise PartialFailureError(nothing, failures, count=self._before, streamed=True)

    def _embedded(self, items: list[Item], first: int) -> Flow[Embeddings]:
        rows = Rows(self._job, items, first=first)
        work = [range(len(items))]
        failures = yield from each(work, rows.run, rows.harmless, on_error=self._on_error)
        whole = [error for _, error in failures if not isinstance(error, OF_THE_INPUT)]
        if has_some := len(whole) < len(items):
            self._streak.ends()
        is_over = not has_some and self._streak.is_too_long(whole[0])
        for error in whole:
            if is_shared(error) or is_over:
                raise error
        failures = yield from named(self._job.target, items, failures, first=first)
        self._failures += [(first + place, error) for place, error in failures]
        self._done(len(items))
        return replace(rows.result(failures), start=first)
