"""`vllm-modalities demo`: every job once, on sample inputs, and what came back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from .. import Client, UnsupportedTaskError
from .._printable import printable
from .._rig import RigError, running
from ..serving._media_checks import ASSETS
from ._shown import console

SERVERS = ("embed", "rerank", "whisper-base", "deepseek-ocr")
ALSO = {"pooling", "tokenize", "detokenize"}  # done by servers, and no job of this demo
RANDOM = "The weights of this model are random, so what it says is meaningless."
SIMULATED = "This server is simulated, so what it says is made up."


@dataclass(frozen=True, slots=True)
class Shown:
    """What one job gave: for eyes, and for machines; and the model that gave it."""

    table: RenderableType
    values: Mapping[str, Any]
    model: str | None = None
    note: str = ""


def embed(client: Client) -> Shown:
    sentences = json.loads((ASSETS / "questions.json").read_text("utf-8"))["sentences"]
    embeddings = client.embed(sentences)
    closeness = embeddings.similarity(embeddings)
    table = _table("", "sentence", *(str(n) for n in range(1, len(sentences) + 1)))
    for number, (sentence, row) in enumerate(zip(sentences, closeness, strict=True), 1):
        cells = (Text(f"{x:.2f}", style="bold" if x >= 0.5 else "dim") for x in row)
        _add(table, str(number), sentence, *cells)
    note = f"{embeddings}, in numbers: how close each is to each (1 is the same direction)."
    return Shown(table, {"similarity": closeness.tolist()}, embeddings.model, note)


def rerank(client: Client) -> Shown:
    question = json.loads((ASSETS / "questions.json").read_text("utf-8"))["rerank"]
    ranking = client.rerank(question["query"], question["documents"])
    table = _table("rank", "score", "document", title=f"“{question['query']}”")
    for rank, found in enumerate(ranking, 1):
        _add(table, str(rank), f"{found.score:.3f}", found.document)
    note = f"ranked by {ranking.model}, a {ranking.score_type}"
    ranked = [{"index": found.index, "score": found.score} for found in ranking]
    values = {"model": ranking.model, "score_type": ranking.score_type, "ranked": ranked}
    return Shown(table, values, ranking.model, note)


def rerank_by_embedder(client: Client) -> Shown:
    embedder = client.embed("").model
    return rerank(client.with_options(model=embedder))


def transcribe(client: Client) -> Shown:
    clips = json.loads((ASSETS / "speech.json").read_text("utf-8"))
    table = _table("recording", "s", "spoken", "written down")
    values, model = {}, None
    for name, clip in clips.items():
        heard = client.transcribe(ASSETS / name, language=clip["language"])
        _add(table, name, f"{heard.duration:.1f}", clip["text"], heard.text)
        values[name], model = heard.text, heard.model
    return Shown(table, values, model)


def ocr(client: Client) -> Shown:
    document = client.ocr(ASSETS / "invoice.png", max_tokens=120)
    page = document.pages[0]
    table = _table("what", "found", show_header=False)
    _add(table, "page", f"invoice.png, {page.width} x {page.height} pixels")
    _add(table, "blocks", str(len(page.blocks)))
    _add(table, "markdown", _brief(document.markdown))
    _add(table, "ended", str(page.finish_reason))
    for warning in document.warnings:
        _add(table, "warning", _brief(warning))
    return Shown(table, document.to_dict(), document.model)


JOBS: dict[str, Callable[[Client], Shown]] = {
    "embed": embed,
    "rerank": rerank,
    "rerank by the embedder": rerank_by_embedder,
    "transcribe": transcribe,
    "ocr": ocr,
}


def demo(
    base_url: Annotated[
        str | None,
        typer.Option(help="Your own servers, comma-separated, instead of ones started here."),
    ] = None,
    simulated: Annotated[
        bool,
        typer.Option("--simulate", help="Simulated servers: no vLLM, no model, a few seconds."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Run every job once on sample inputs, and show what came back.

    Without `--base-url` it starts real vLLM servers on this machine's CPU, with small models:
    the first time, that installs vLLM (about 3 GB) into a cache folder. With `--simulate` it
    starts servers that answer as vLLM was seen to, and says so.

    Example: `vllm-modalities demo --base-url http://gpu1:8000,http://gpu2:8000`
    """
    out, progress = console(), console(stderr=True)
    try:
        with _servers(base_url, simulated, progress) as (urls, notes), Client(urls) as client:
            results = dict(_results(client, out, notes, quiet=as_json))
    except RigError as error:
        hint = "`vllm-modalities demo --simulate` shows every job without vLLM."
        raise RigError(f"{error}\n{hint}") from None
    if as_json:
        typer.echo(printable(json.dumps(results, ensure_ascii=False, indent=2)))


def _results(
    client: Client, out: Console, notes: Mapping[str, str], *, quiet: bool
) -> Iterator[tuple[str, Any]]:
    if not quiet:
        _print(out, _who(client))
    for name, job in JOBS.items():
        began = time.monotonic()
        try:
            shown = job(client)
        except UnsupportedTaskError as error:
            shown = Shown(Text(f"left out: {error}", style="yellow"), {"left_out": str(error)})
        yield name, shown.values
        if not quiet:
            took = f"  {time.monotonic() - began:.1f} s"
            out.print(Text.assemble((f"\nclient.{name}", "bold"), (took, "dim")))
            _print(out, shown.table)
            if shown.note:
                out.print(Text(printable(shown.note), style="dim"))
            if note := notes.get(shown.model or ""):
                out.print(Text(note, style="yellow"))


def _who(client: Client) -> Table:
    table = _table("server", "vLLM", "model", "does", title="client.servers()")
    for server in client.servers():
        models = ", ".join(model.id for model in server.models)
        _add(
            table,
            server.url,
            server.version or "unknown",
            models,
            ", ".join(sorted(server.tasks - ALSO)),
        )
    return table


@contextmanager
def _servers(
    base_url: str | None, simulated: bool, progress: Console
) -> Iterator[tuple[str | list[str], Mapping[str, str]]]:
    """Addresses to use, and what is to be known of the models there, by name."""
    if base_url is not None:
        yield base_url, {}
        return
    if simulated:
        from ..simulator import simulate

        with simulate() as simulator:
            progress.print(f"simulated servers of vLLM {simulator.version}")
            yield simulator.urls, dict.fromkeys(simulator.models, SIMULATED)
        return
    with _reporting(progress) as report, running(SERVERS, report=report) as rig:
        report("all servers are up")
        specs = [rig[name].spec for name in SERVERS]
        notes = {spec.served_name: RANDOM for spec in specs if spec.random_weights}
        yield [rig[name].base_url for name in SERVERS], notes


@contextmanager
def _reporting(progress: Console) -> Iterator[Callable[[str], None]]:
    """Says what is being done: a spinner with the time on a terminal, else lines."""
    began = time.monotonic()

    def seconds() -> str:
        return f"{time.monotonic() - began:4.0f} s"

    if not progress.is_terminal:
        yield lambda line: progress.print(Text(f"[{seconds()}] {line}"), soft_wrap=True)
        return
    with progress.status("looking for vLLM …") as status:

        def report(line: str) -> None:
            progress.print(Text.assemble((seconds(), "dim"), f"  {line}"))
            status.update(Text(f"{line} …"))

        yield report


def _print(out: Console, shown: RenderableType) -> None:
    """Print what a job gave; a table off a terminal has no lines around its cells."""
    if isinstance(shown, Table) and not out.is_terminal:
        shown.box = None
    out.print(shown, soft_wrap=False)


def _table(*headings: str, title: str | None = None, show_header: bool = True) -> Table:
    """A table whose cells wrap and are never cut."""
    columns = (Column(heading, overflow="fold") for heading in headings)
    name = None if title is None else Text(title)
    return Table(*columns, title=name, title_justify="left", show_header=show_header)


def _add(table: Table, *cells: str | Text) -> None:
    """One row; what servers and files say is never taken for markup, nor obeyed by a terminal."""
    table.add_row(*(Text(printable(cell)) if isinstance(cell, str) else cell for cell in cells))


def _brief(text: str, limit: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]}…"
