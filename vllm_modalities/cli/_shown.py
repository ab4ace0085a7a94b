"""What commands share: options, and how they print: plain lines off a terminal, else tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

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


def servers_of(urls: list[str] | None, base_url: str | None) -> list[str] | str | None:
    """The servers of a command that also takes them as arguments.

    Raises:
        BadParameter: They are named in both places.
    """
    if urls and base_url:
        raise typer.BadParameter("name the servers as arguments or with --base-url, not with both")
    return urls or base_url


COLOURS = {"ok": "green", "fault": "red", "error": "red", "doubt": "yellow", "warning": "yellow"}

said: list[str] = []  # by Python's warnings, in this command


class _Output(Console):
    """Whose reader may leave: rich would end the process by itself."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Where to print: lines fit the terminal, and elsewhere are as long as they are."""
    made = _Output(stderr=stderr, highlight=False)  # or rich colours numbers and paths
    made.soft_wrap = not made.is_terminal
    return made


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; where output is no terminal, a line a row, with tabs between its cells."""
    out = console()
    if out.is_terminal:
        out.print(table(headings, rows))
        return
    for row in rows:
        typer.echo("\t".join(printable(" ".join(cell.split())) for cell in row))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Cells that wrap; nothing a server says is taken for markup, nor obeyed by a terminal."""
    shown = Table(*(Column(heading, overflow="fold") for heading in headings))
    for row in rows:
        shown.add_row(*(Text(printable(cell), style=COLOURS.get(cell, "")) for cell in row))
    return shown


def print_json(values: Any) -> None:
    """Print JSON that a terminal does not obey."""
    typer.echo(printable(json.dumps(values, ensure_ascii=False, indent=2)))


def warn(doubt: str) -> None:
    """Say what is doubtful, unless it was said while it was found, of all inputs together."""
    if not any(known in doubt for known in said):
        console(stderr=True).print(Text(printable(doubt), style="yellow"))


def named(error: Exception, where: str = "") -> Text:
    """An error by its kind and words, safe to print; `where` stands before it."""
    kind = printable(f"{where}{type(error).__name__}:")
    return Text.assemble((kind, "red"), f" {printable(str(error))}")
