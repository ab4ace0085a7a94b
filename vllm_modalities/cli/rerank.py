"""`vllm-modalities rerank` and `score`: documents out of files, and how well they fit a query."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import Client
from ._ending import MISSING, WrongUsage
from ._shown import AsJSON, BaseURL, Model, console, named, print_json, print_table, warn

PICTURES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"}
WIDTH = 100  # characters of a document that the table shows

Query = Annotated[str, typer.Argument(help="What the documents are compared with.")]
Files = Annotated[
    list[str],
    typer.Argument(
        help="A text file has a document a line, a .jsonl file an object a line, an image file is"
        " one document; - is standard input."
    ),
]
Key = Annotated[str, typer.Option(help="The field of an object that is the document.")]
Instruction = Annotated[str | None, typer.Option(help="What makes a document relevant.")]
Tokens = Annotated[int | None, typer.Option(help="Tokens of each document that are read.")]


@dataclass(frozen=True, slots=True)
class Line:
    """One document, and where it stands: `file:line`, or the file."""

    where: str
    document: Any


def rerank(
    query: Query,
    files: Files,
    top_n: Annotated[int | None, typer.Option(help="How many to show; default: all.")] = None,
    base_url: BaseURL = None,
    model: Model = None,
    key: Key = "text",
    instruction: Instruction = None,
    max_tokens_per_doc: Tokens = None,
    as_json: AsJSON = False,
) -> None:
    """Order documents by their relevance to a query, best first.

    Example: `vllm-modalities rerank "Why does bread rise?" notes.txt --top-n 3`
    """

    def run(client: Client, lines: Sequence[Line]) -> tuple[Any, list[tuple[float, Line]]]:
        found = client.rerank(
            query,
            [line.document for line in lines],
            model=model,
            top_n=top_n,
            instruction=instruction,
            max_tokens_per_doc=max_tokens_per_doc,
            on_error="return",
        )
        return found, [(one.score, lines[one.index]) for one in found]

    _show(files, base_url, key, run, as_json=as_json)


def score(
    query: Query,
    files: Files,
    base_url: BaseURL = None,
    model: Model = None,
    key: Key = "text",
    instruction: Instruction = None,
    max_tokens_per_doc: Tokens = None,
    as_json: AsJSON = False,
) -> None:
    """Score documents against a query, in the order they stand in.

    Example: `vllm-modalities score "Why does bread rise?" notes.txt --json`
    """

    def run(client: Client, lines: Sequence[Line]) -> tuple[Any, list[tuple[float, Line]]]:
        found = client.score(
            query,
            [line.document for line in lines],
            model=model,
            instruction=instruction,
            max_tokens_per_doc=max_tokens_per_doc,
            on_error="return",
        )
        failed = {place for place, _ in found.failures}
        scored = enumerate(zip(found.scores.tolist(), lines, strict=True))
        return found, [pair for place, pair in scored if place not in failed]

    _show(files, base_url, key, run, as_json=as_json)


def _show(
    files: Sequence[str],
    base_url: str | None,
    key: str,
    run: Callable[[Client, Sequence[Line]], tuple[Any, list[tuple[float, Line]]]],
    *,
    as_json: bool,
) -> None:
    """Read, run and print."""
    errors = console(stderr=True)
    lines = [line for file in files for line in _lines(file, key)]
    if not lines:
        raise WrongUsage("the files hold no document")
    with Client(base_url) as client:
        found, scored = run(client, lines)
    for warning in found.warnings:
        warn(warning)
    for place, failure in found.failures:
        errors.print(named(failure, f"{lines[place].where}: "))
    if as_json:
        print_json(_values(found, scored))
    else:
        print_table(("score", "where", "document"), [_row(*one) for one in scored])
    if found.failures:
        raise typer.Exit(MISSING)


def _lines(file: str, key: str) -> Iterator[Line]:
    """The documents of a file."""
    path = Path(file)
    if path.suffix.lower() in PICTURES:
        yield Line(file, path)
        return
    try:
        text = sys.stdin.read() if file == "-" else path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(f"{file} cannot be read: {error}") from None
    # JSON, and prose, may have characters in a line that `splitlines` takes for its end.
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{file}:{number}"
        if line.strip():
            yield Line(where, _field(where, line, key) if path.suffix.lower() == ".jsonl" else line)


def _field(where: str, line: str, key: str) -> str:
    try:
        found = json.loads(line)[key]
    except (ValueError, KeyError, TypeError):
        raise WrongUsage(f"{where} is no JSON object with a field {key!r}") from None
    return str(found)


def _values(found: Any, scored: Sequence[tuple[float, Line]]) -> dict[str, Any]:
    return {
        "model": found.model,
        "score_type": found.score_type,
        "documents": [
            {"score": score, "where": line.where, "document": str(line.document)}
            for score, line in scored
        ],
    }


def _row(score: float, line: Line) -> tuple[str, str, str]:
    """As a table has it: the whole document where that may be long, since no one looks at it."""
    text = str(line.document)
    brief = text if len(text) <= WIDTH or not console().is_terminal else f"{text[:WIDTH]}…"
    return f"{score:.3f}", line.where, brief
