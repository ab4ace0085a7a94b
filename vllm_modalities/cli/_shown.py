"""What commands share: options, tables that fit the terminal, errors and exit statuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from .. import InvalidRequestError, VLLMModalitiesError
from .._printable import printable

Urls = Annotated[
    list[str] | None,
    typer.Argument(help="Servers; default $VLLM_BASE_URL. $VLLM_API_KEY is their key."),
]
BaseURL = Annotated[
    str | None, typer.Option(help="Servers, comma-separated; default $VLLM_BASE_URL.")
]
Model = Annotated[str | None, typer.Option(help="The served model's name.")]
AsJSON = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Version = Annotated[
    str | None, typer.Option(help="The vLLM release; default: the newest that is known.")
]

COLOURS = {"ok": "green", "fault": "red", "error": "red", "doubt": "yellow", "warning": "yellow"}


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Cells that wrap; nothing a server says is taken for markup, nor obeyed by a terminal."""
    shown = Table(*(Column(heading, overflow="fold") for heading in headings))
    for row in rows:
        shown.add_row(*(Text(printable(cell), style=COLOURS.get(cell, "")) for cell in row))
    return shown


def print_json(values: Any) -> None:
    """Print JSON that a terminal does not obey."""
    typer.echo(printable(json.dumps(values, ensure_ascii=False, indent=2)))


def named(error: Exception, where: str = "") -> Text:
    """An error by its kind and words, safe to print; `where` stands before it."""
    kind = printable(f"{where}{type(error).__name__}:")
    return Text.assemble((kind, "red"), f" {printable(str(error))}")


@contextmanager
def refusing() -> Iterator[None]:
    """Exit status 2 where it was asked wrongly, 1 where it failed, with the error in words."""
    try:
        yield
    except (VLLMModalitiesError, ImportError, OSError) as error:
        Console(stderr=True).print(named(error))
        raise typer.Exit(2 if isinstance(error, InvalidRequestError) else 1) from None
