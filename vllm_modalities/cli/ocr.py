"""`vllm-modalities ocr`: documents out of files, folders and patterns, to Markdown with figures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from .. import Client, Document, VLLMModalitiesError
from .._many import is_shared
from .._printable import printable
from .._sniff import DOCUMENTS
from ..documents.choosing import ranges
from ..documents.lacking import lacking
from ._bulk import Column, Table, check_alone, run
from ._ending import FAILURES, MISSING, Failure, WrongUsage, status_of
from ._files import files_of
from ._shown import AsJSON, BaseURL, Model, console, named, print_json, warn


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

    A page that failed, or that the model did not write to its end, is missing or not whole, which
    the exit status says.

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
        raise WrongUsage("--html needs --out")

    def read(client: Client, path: Path, folder: Path | None) -> Document:
        document = client.ocr(
            path,
            **options,
            journal=journal,
            on_error="return",
            progress=True if sys.stderr.isatty() else None,
        )
        if folder is not None:
            _save(document, folder, html=html)
        return document

    def show(document: Document, folder: Path | None) -> None:
        if not as_json:
            markdown = document.to_markdown(tables=tables) if tables else document.markdown
            typer.echo(folder / "document.md" if folder else printable(markdown))

    work = list(zip(found, _folders(found, out), strict=True))
    with Client(base_url) as client:
        documents, failures = _each(client, work, read, show)
    if as_json:
        print_json([{"file": str(path), **one.to_dict()} for path, one in documents.items()])
    if failures:
        raise typer.Exit(status_of(failures, some=bool(documents)))
    if any(one.failures or lacking(one, ranges(pages)) for one in documents.values()):
        raise typer.Exit(MISSING)


def _each(
    client: Client,
    work: Sequence[tuple[Path, Path | None]],
    read: Callable[[Client, Path, Path | None], Document],
    show: Callable[[Document, Path | None], None],
) -> tuple[dict[Path, Document], list[Failure]]:
    """Read and show one document after the other, as long as the next may fare better."""
    errors, documents, failures = console(stderr=True), dict[Path, Document](), list[Failure]()
    for place, (path, folder) in enumerate(work, 1):
        try:
            documents[path] = document = read(client, path, folder)
        except FAILURES as error:
            errors.print(named(error, f"{path}: "))
            failures.append(error)
            if isinstance(error, VLLMModalitiesError) and is_shared(error):
                if left := len(work) - place:
                    errors.print(f"not tried: {left} more")
                break
            continue
        for warning in document.warnings:
            warn(f"{path}: {warning}")
        show(document, folder)
    return documents, failures


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
        (folder / "document.html").write_text(document.to_html(), "utf-8", newline="\n")
