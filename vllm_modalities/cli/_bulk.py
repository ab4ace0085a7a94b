"""What commands share that run a job over many rows: how it is run, shown and ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.text import Text

from .. import Client
from .._printable import printable
from ._ending import MISSING, WrongUsage
from ._shown import console, print_json, warn

if TYPE_CHECKING:
    from ..bulk import BulkReport

Tables = Annotated[
    list[str],
    typer.Argument(
        help="Parquet, CSV, JSON Lines and Arrow files, folders of them (a saved Hugging Face"
        " dataset too), or patterns such as 'in/*.parquet'."
    ),
]
Out = Annotated[
    Path, typer.Option(help="Folder for part-00000.parquet and so on; the same call goes on in it.")
]
ShardRows = Annotated[int, typer.Option(help="Rows of the input in one file.")]
Concurrency = Annotated[int, typer.Option(help="Requests in flight at most.")]
Table = Annotated[
    Path | None,
    typer.Option(
        help="Folder for Parquet files with a row for each, instead; a killed run goes on in it."
        " It needs the extra bulk."
    ),
]
Column = Annotated[
    str | None,
    typer.Option(help="With --table: FILES are tables, with paths or files in this column."),
]
SHARD_ROWS, CONCURRENCY = 65_536, 32


def run(
    job: str,
    files: Sequence[str],
    options: Mapping[str, Any],
    base_url: str | None,
    concurrency: int = CONCURRENCY,
    *,
    as_json: bool,
) -> NoReturn:
    """Run the job of that name in `vllm_modalities.bulk`, say what it came to, and end."""
    errors = console(stderr=True)
    from .. import bulk

    with Client(base_url, max_concurrency=concurrency) as client:
        progress = True if sys.stderr.isatty() else None
        report: BulkReport = getattr(bulk, job)(client, files, progress=progress, **options)
    for warning in report.warnings:
        warn(warning)
    if report.failed:
        file = report.out / "_failed.jsonl"
        with file.open(encoding="utf-8") as lines:
            first = json.loads(next(lines))
        told = f"row {first['row']}: {first['error']}: {first['reason']}"
        said = printable(f": see {file}, which begins with {told}")
        errors.print(Text.assemble((f"{report.failed:,} failed", "red"), said))
    if report.partial:
        where = "see failures in their new column"
        errors.print(Text.assemble((f"{report.partial:,} lack a part", "red"), f": {where}"))
    if as_json:
        print_json(report.to_dict())
    else:
        typer.echo(printable(_summary(report)))
    raise typer.Exit(MISSING if report.failed or report.partial else 0)


def check_alone(others: Mapping[str, object]) -> None:
    """Refuse options, by their names, that mean nothing where a table is written."""
    given = [name for name, value in others.items() if value]
    if given:
        raise WrongUsage(f"--table does not go with {', '.join(given)}")


def _summary(report: BulkReport) -> str:
    said = f"{report.done:,} of {report.rows:,} rows are in {report.out}"
    if report.found == report.rows > 0:
        return f"{said}, all of them from before."
    if report.found:
        said += f", {report.found:,} of them from before"
    took = f"{report.seconds:,.{0 if report.seconds >= 10 else 1}f} s"
    return f"{said}; {report.rows_per_second:,.0f} rows a second, {took}."
