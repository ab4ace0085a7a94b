"""`vllm-modalities rerank-table`: rows of a query and documents into rankings, however many."""

from __future__ import annotations

from typing import Annotated

import typer

from ._bulk import CONCURRENCY, SHARD_ROWS, Concurrency, Out, ShardRows, Tables, run
from ._shown import AsJSON, BaseURL, Model


def rerank_table(
    files: Tables,
    query: Annotated[str, typer.Option(help="The column of queries.")],
    documents: Annotated[str, typer.Option(help="The column of documents, lists of texts.")],
    out: Out,
    base_url: BaseURL = None,
    model: Model = None,
    top_n: Annotated[int | None, typer.Option(help="How many to keep; default: all.")] = None,
    instruction: Annotated[str | None, typer.Option(help="What makes a document relevant.")] = None,
    into: Annotated[str, typer.Option(help="The rankings' column.")] = "ranking",
    shard_rows: ShardRows = SHARD_ROWS,
    concurrency: Concurrency = CONCURRENCY,
    as_json: AsJSON = False,
) -> None:
    """Rank each row's documents by its query into Parquet files; it goes on as `embed` does.

    Example: `vllm-modalities rerank-table hits.jsonl --query q --documents texts --out ranked`
    """
    options = {
        "out": out,
        "query": query,
        "documents": documents,
        "model": model,
        "top_n": top_n,
        "instruction": instruction,
        "into": into,
        "shard_rows": shard_rows,
    }
    run("rerank", files, options, base_url, concurrency, as_json=as_json)
