"""`vllm-modalities embed`: a column of tables in files into vectors, however many rows."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ._bulk import CONCURRENCY, SHARD_ROWS, Concurrency, Out, ShardRows, Tables, run
from ._shown import AsJSON, BaseURL, Model


def embed(
    files: Tables,
    column: Annotated[str, typer.Option(help="The column of texts.")],
    out: Out,
    base_url: BaseURL = None,
    model: Model = None,
    dimensions: Annotated[
        int | None, typer.Option(help="Width, of models that can shorten their vectors.")
    ] = None,
    input_type: Annotated[
        str | None, typer.Option(help="query, document, or another that the model knows.")
    ] = None,
    truncate: Annotated[
        Literal["error", "end", "start"],
        typer.Option(help="What becomes of a text that is too long: it fails, or is cut there."),
    ] = "error",
    dtype: Annotated[
        Literal["float32", "float16", "int8"],
        typer.Option(help="What numbers are kept as; int8 has a column of scales beside it."),
    ] = "float32",
    into: Annotated[str, typer.Option(help="The vectors' column.")] = "embedding",
    batch_size: Annotated[int, typer.Option(help="Rows in one request at most.")] = 128,
    shard_rows: ShardRows = SHARD_ROWS,
    concurrency: Concurrency = CONCURRENCY,
    as_json: AsJSON = False,
) -> None:
    """Embed a column of tables into Parquet files, beside the other columns.

    Killed and called again, it goes on where it was. Rows that fail are named in
    `_failed.jsonl`. It needs the extra `bulk`.

    Example: `vllm-modalities embed docs.parquet --column text --out vectors --dtype float16`
    """
    options = {
        "out": out,
        "column": column,
        "model": model,
        "dimensions": dimensions,
        "input_type": input_type,
        "truncate": truncate,
        "dtype": dtype,
        "into": into,
        "batch_size": batch_size,
        "shard_rows": shard_rows,
    }
    run("embed", files, options, base_url, concurrency, as_json=as_json)
