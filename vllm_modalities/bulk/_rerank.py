"""Rows of a query and documents into rankings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from .._context import Context
from .._flow import Flow
from .._progress import Progress
from ..endpoints.rerank import RerankRequest
from ..endpoints.rerank import rerank as ranked
from ._both import for_both
from ._columns import check_lists, texts_in
from ._job import SHARD_ROWS, job
from ._report import BulkReport
from ._single import Answer, one_at_a_time
from ._tables import Source, Table

RANKING = {"indices": pa.list_(pa.int64()), "scores": pa.list_(pa.float32())}


@for_both
def rerank(
    context: Context,
    /,
    source: Source,
    *,
    out: str | os.PathLike[str],
    query: str,
    documents: str,
    model: str | None = None,
    top_n: int | None = None,
    max_tokens_per_doc: int | None = None,
    max_tokens_per_query: int | None = None,
    instruction: str | None = None,
    into: str = "ranking",
    shard_rows: int = SHARD_ROWS,
    progress: Progress = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[BulkReport]:
    """Rank the documents of each row by the row's query, any number of rows, into Parquet files.

    Args:
        source, out, shard_rows, progress: As for `embed`.
        query: The column of queries: texts.
        documents: The column of documents: lists of texts.
        model, top_n, max_tokens_per_doc, max_tokens_per_query, instruction, extra_body: As for
            `Client.rerank`.
        into: The rankings' column, of structs: `indices`, the documents' places in their list, best
            first, `scores`, as many, and `failures`, the words of documents that failed.

    Returns:
        As `embed`.

    Raises:
        Others: As for `embed`.
    """
    options: dict[str, Any] = {
        "top_n": top_n,
        "max_tokens_per_doc": max_tokens_per_doc,
        "max_tokens_per_query": max_tokens_per_query,
        "instruction": instruction,
        "extra_body": extra_body,
    }

    def opened() -> Table:
        table = texts_in(source, query, "query")
        check_lists(table.schema, documents, "documents")
        return table

    def do(context: Context, _: int, values: Sequence[Any]) -> Flow[Answer]:
        found = yield from ranked(context, *values, model=model, on_error="return", **options)
        indices, scores = [one.index for one in found], [one.score for one in found]
        return {"indices": indices, "scores": scores}, found.failures

    task = one_at_a_time(
        (query, documents),
        into,
        RANKING,
        do,
        request=RerankRequest,
        opened=opened,
        options={"job": "rerank", "query": query, "documents": documents, **options},
    )
    return (
        yield from job(
            context, task, out=out, model=model, shard_rows=shard_rows, progress=progress
        )
    )
