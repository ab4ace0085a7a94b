"""`vllm-modalities ocr`: documents out of files, folders and patterns, to Markdown with figures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from .. import Client, Document, InvalidRequestError, VLLMModalitiesError
from .._printable import printable
from .._sniff import DOCUMENTS
from ._bulk import Column, Table, check_alone, run
from ._files import files_of
from ._shown import AsJSON, BaseURL, Model, console, named, print_json


def ocr(
    files: Annotated[
        list[str],
        typer.Argument(
            help="PDF and image files, folders of them, and patterns such as 'a/*.pdf'."
        ),
    ],
    task: Annotated[
        str,
        typer.Option(help="What to do: markdown, text, layout, table, formula, figure, locate."),
    ] = "markdown",
    phrase: Annotated[str | None, typer.Option(help="What the task locate looks for.")] = None,
    prompt: Annotated[str | None, typer.Option(help="Words instead of the model's own.")] = None,
    pages: Annotated[str | None, typer.Option(help="Such as 1-3,7 or 5-; default: all.")] = None,
    dpi: Annotated[float | None, typer.Option(help="Pixels an inch of a PDF's pages.")] = None,
    password: Annotated[str | None, typer.Option(help="Of encrypted PDFs.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder; each document gets one in it. Default: Markdown is printed."),
    ] = None,
    html: Annotated[
        bool, typer.Option("--html", help="Write document.html too, boxes beside words.")
    ] = False,
    tables: Annotated[
        Literal["html", "gfm"] | None,
        typer.Option(help="How tables are printed; default: as the model wrote them."),
    ] = None,
    journal: Annotated[
        Path | None, typer.Option(help="A file of finished pages, so that a killed run goes on.")
    ] = None,
    table: Table = None,
    column: Column = None,
    base_url: BaseURL = None,
    model: Model = None,
    as_json: AsJSON = False,
) -> None:
    """Read documents: text as Markdown, tables, formulas, figures, and where each stands.

    Example: `vllm-modalities ocr report.pdf scans/ --out read --html`
    """
    options: dict[str, Any] = {"model": model, "task": task, "phrase": phrase, "prompt": prompt}
    options |= {"pages": pages, "dpi": dpi, "password": password}
    if table:
        check_alone({"--out": out, "--html": html, "--tables": tables, "--journal": journal})
        options |= {"out": table, "column": column}
        run("ocr", files, options, base_url, as_json=as_json)
    found = files_of(files, DOCUMENTS, what="PDF or image")
    if html and out is None:
        raise typer.BadParameter("--html needs --out")

    def read(client: Client, path: Path) -> Document:
        return client.ocr(
            path,
            **options,
            journal=journal,
            on_error="return",
            progress=True if sys.stderr.isatty() else None,
        )

    def show(document: Document, folder: Path | None) -> None:
        if folder is not None:
            _save(document, folder, html=html)
        if not as_json:
            markdown = document.to_markdown(tables=tables) if tables else document.markdown
            typer.echo(folder / "document.md" if folder else printable(markdown))

    with Client(base_url) as client:
        values, failed = _each(client, zip(found, _folders(found, out), strict=True), read, show)
    if as_json:
        print_json(values)
    if failed:
        raise typer.Exit(1)


def _each(
    client: Client,
    work: Iterable[tuple[Path, Path | None]],
    read: Callable[[Client, Path], Document],
    show: Callable[[Document, Path | None], None],
) -> tuple[list[dict[str, Any]], bool]:
    """Read and show one document after the other; their values, and whether something failed."""
    errors = console(stderr=True)
    values, failed = [], False
    for path, folder in work:
        try:
            document = read(client, path)
        except VLLMModalitiesError as error:
            errors.print(named(error, f"{path}: "))
            if isinstance(error, InvalidRequestError):
                raise typer.Exit(2) from None
            failed = True
            continue
        for warning in document.warnings:
            errors.print(Text(printable(f"{path}: {warning}"), style="yellow"))
        for place, failure in document.failures:
            number = document.pages[place].number
            words = printable(str(failure))
            errors.print(Text.assemble((f"{path}, page {number}", "red"), f": {words}"))
            failed = True
        show(document, folder)
        values.append({"file": str(path), **document.to_dict()})
    return values, failed


def _folders(paths: Sequence[Path], out: Path | None) -> Iterator[Path | None]:
    """A folder for each document, by the names of the files; alike ones are numbered."""
    taken: set[str] = set()
    for path in paths:
        name, number = path.stem, 1
        while name.lower() in taken:
            number += 1
            name = f"{path.stem}-{number}"
        taken.add(name.lower())
        yield out / name if out else None


def _save(document: Document, folder: Path, *, html: bool) -> None:
    document.save(folder)
    if html:
        (folder / "document.html").write_text(document.to_html(), "utf-8")
