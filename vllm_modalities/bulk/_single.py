"""Jobs that send a row at a time, and get a value of many parts for it, some of which may fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from .._context import Context
from .._flow import Flow, Work
from .._many import Failure
from .._wire import RequestModel
from ..errors import BadRequestError, MediaError
from ._columns import file_of, missing
from ._job import Find, Task
from ._shards import Outcome
from ._tables import Table

Answer: TypeAlias = tuple[Mapping[str, Any], Sequence[Failure]]
"""A value of the new column, which may have words on `failures` too, and the parts that failed."""
TEXTS = pa.list_(pa.string())


def one_at_a_time(
    columns: Sequence[str],
    into: str,
    fields: Mapping[str, pa.DataType],
    do: Callable[[Context, int, Sequence[Any]], Flow[Answer]],
    *,
    request: type[RequestModel],
    opened: Callable[[], Table],
    options: Mapping[str, Any],
    tidy: Callable[[int], object] = lambda _: None,
    find: Find = Context.find,
) -> Task:
    """The task that does each row by itself.

    Args:
        columns: Those that the row's values are in; without one of them it fails.
        into: The new column, of values with `fields`, and `failures`: what is missing, and what the
            parts that failed by their own fault say. Where one failed otherwise, the row is tried
            again.
        fields: Their types.
        do: Given the row's number and values.
        request, find, opened, options: As for `Task`; `options` without `into`.
        tidy: Called with the row's number when it need not be tried again.
    """
    kind = pa.struct({**fields, "failures": TEXTS})

    def run(context: Context, rows: pa.RecordBatch, numbers: Sequence[int]) -> Flow[Outcome]:
        values = [file_of(rows[column][0].as_py()) for column in columns]
        for column, value in zip(columns, values, strict=True):
            if (lack := _lack(value)) is not None:
                return Outcome((), {}, {0: missing(column, lack)})
        found, failures = yield from do(context, numbers[0], values)
        others = [one for _, one in failures if not isinstance(one, BadRequestError | MediaError)]
        if others:
            return Outcome((), {}, {0: others[0]})
        yield from Work(partial(tidy, numbers[0]))
        words = [*found.get("failures", ()), *(str(error) for _, error in failures)]
        value = {**found, "failures": words}
        return Outcome((0,), {into: pa.array([value], kind)}, {})

    return Task(
        request=request,
        opened=opened,
        run=run,
        cut=_each_alone,
        adds=(into,),
        options={**options, "into": into},
        parts=into,
        find=find,
    )


def _lack(value: Any) -> str | None:
    """What a value lacks to be sent, which is a fault of its row alone."""
    if value is None:
        return "is null"
    if not value:
        return "is empty"
    return "has a null in it" if isinstance(value, list) and None in value else None


def _each_alone(rows: pa.RecordBatch) -> Iterator[range]:
    return (range(place, place + 1) for place in range(len(rows)))
