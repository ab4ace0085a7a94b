"""A column of texts into vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._context import Context
from .._flow import Flow
from .._inputs import at_least, invalid, one_of
from .._many import Failure, batches, each
from .._progress import Progress
from ..endpoints._content import sizes_of
from ..endpoints._embedding import BATCH_COUNT, BATCH_TOKENS, Asked, Truncate, prepared
from ..endpoints._overlong import named
from ..endpoints._rows import Rows
from ..endpoints.embeddings import EmbeddingRequest
from ..errors import InvalidRequestError, VLLMModalitiesError
from ..vectors.embeddings import Embeddings
from ._both import for_both
from ._columns import missing, texts_in
from ._job import SHARD_ROWS, Task, job
from ._report import BulkReport
from ._shards import Outcome
from ._tables import Source

Numbers: TypeAlias = Literal["float32", "float16", "int8"]
WIDEST: Mapping[str, Any] = {"float32": np.float32, "float16": np.float16, "int8": np.float32}
"""What numbers must fit."""


@for_both
def embed(
    context: Context,
    /,
    source: Source,
    *,
    out: str | os.PathLike[str],
    column: str,
    model: str | None = None,
    dimensions: int | None = None,
    input_type: str | None = None,
    normalize: bool | None = None,
    truncate: Truncate = "error",
    dtype: Numbers = "float32",
    into: str = "embedding",
    batch_size: int = BATCH_COUNT,
    shard_rows: int = SHARD_ROWS,
    progress: Progress = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[BulkReport]:
    """Embed a column of tables in files, any number of rows, into Parquet files.

    Killed and made again, the same call goes on: rows that were answered are not sent again. A row
    that cannot be embedded, such as one without a text, is left out and named in `_failed.jsonl`.

    Args:
        source: Parquet, CSV, JSON Lines and Arrow files, folders of them (also one that Hugging
            Face's `datasets` has saved), and patterns; one or several, all of the same columns.
        out: The folder for `part-00000.parquet` and so on: not there yet, empty, or this job's.
        column: The texts' column.
        model, dimensions, input_type, normalize, truncate, extra_body: As for `Client.embed`.
        dtype: What the vectors' numbers are kept as. `"int8"` divides each vector by 1/127 of its
            greatest number, and keeps the divisor (float32) in a column of its own, `into` with
            `_scale`: cosines need it not.
        into: The vectors' column: a list of fixed size, beside the input's own columns.
        batch_size: Rows in one request at most; fewer where they are long.
        shard_rows: Rows of the input in one file; the last one has what is left.
        progress: True draws a bar; a function is called with how many rows are done, and how many
            there are.

    Returns:
        How many rows there were, how many failed, and in what time.

    Raises:
        InvalidRequestError: A file cannot be read, has no such column, or has something else in
            it; `out` holds something else, or the same job asked for otherwise. Nothing is sent.
        VLLMModalitiesError: What all rows share, such as a wrong key, or the eighth batch in a row
            that failed whole. What is finished is kept.
    """
    one_of("dtype", dtype, get_args(Numbers))
    at_least("batch_size", batch_size, 1)
    options: dict[str, Any] = {
        "dimensions": dimensions,
        "input_type": input_type,
        "normalize": normalize,
        "truncate": truncate,
        "extra_body": extra_body,
    }
    wire: dict[str, Any] = {"dtype": None, "batch_size": batch_size, "on_error": "return"}
    asked = Asked(model=model, **options, **wire)

    task = Task(
        request=EmbeddingRequest,
        opened=partial(texts_in, source, column),
        run=partial(_embedded, asked, column, dtype, into),
        cut=partial(_cut, column, batch_size),
        adds=(into, f"{into}_scale") if dtype == "int8" else (into,),
        options={"job": "embed", "column": column, "dtype": dtype, "into": into, **options},
    )
    return (
        yield from job(
            context, task, out=out, model=model, shard_rows=shard_rows, progress=progress
        )
    )


def _embedded(
    asked: Asked,
    column: str,
    dtype: Numbers,
    into: str,
    context: Context,
    rows: pa.RecordBatch,
    numbers: Sequence[int],
) -> Flow[Outcome]:
    """Embed some rows."""
    texts = rows[column].to_pylist()
    given = [place for place, text in enumerate(texts) if text is not None]
    failures = {place: missing(column) for place, text in enumerate(texts) if text is None}
    if not given:
        return Outcome((), {}, failures)
    found = yield from _vectors(
        context, asked, [texts[place] for place in given], [numbers[place] for place in given]
    )
    with np.errstate(over="ignore"):
        fits = np.isfinite(found.vectors.astype(WIDEST[dtype])).all(axis=1)
    errors: dict[int, VLLMModalitiesError]
    errors = {place: too_large(into, dtype) for place in np.flatnonzero(~fits).tolist()}
    errors |= dict(found.failures)
    sound = [place for place in range(len(given)) if place not in errors]
    return Outcome(
        kept=[given[place] for place in sound],
        columns=vectors_as(dtype, into, found.vectors[sound]) if sound else {},
        failures=failures | {given[place]: error for place, error in errors.items()},
        warnings=found.warnings,
    )


def _vectors(
    context: Context, asked: Asked, texts: Sequence[str], numbers: Sequence[int]
) -> Flow[Embeddings]:
    """The vectors of one request; errors name a text by its row."""
    work = yield from prepared(context, asked, texts[:1])
    items = tuple(map(work.prompted, texts))
    rows = Rows(work, items)
    failures = yield from each([range(len(items))], rows.run, rows.harmless, on_error="return")
    said: list[Failure] = []
    for place, error in failures:
        if isinstance(error, InvalidRequestError):
            raise error  # all are texts, so what is refused unsent is what all are asked with
        (told,) = yield from named(
            work.target, items[place : place + 1], [(0, error)], first=numbers[place]
        )
        said.append((place, told[1]))
    return rows.result(said)


def vectors_as(dtype: Numbers, into: str, vectors: NDArray[Any]) -> Mapping[str, pa.Array]:
    """Finite vectors, shape (n, width), as columns of a table."""
    if dtype != "int8":
        return {into: _listed(vectors.astype(dtype))}
    scales = np.abs(vectors).max(axis=1) / np.float32(127)
    levels = np.rint(vectors / np.where(scales == 0, np.float32(1), scales)[:, None])
    return {into: _listed(levels.astype(np.int8)), f"{into}_scale": pa.array(scales)}


def _listed(numbers: NDArray[Any]) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), numbers.shape[1])


def too_large(into: str, dtype: Numbers) -> InvalidRequestError:
    """The error of a vector with a number that cannot be kept so."""
    return invalid("dtype", f"a number of the row's {into} is too large for {dtype}")


def _cut(column: str, batch_size: int, rows: pa.RecordBatch) -> Iterator[range]:
    tokens = sizes_of(text or "" for text in rows[column].to_pylist())
    return batches(tokens, count=batch_size, size=BATCH_TOKENS)
