"""`vllm-modalities transcribe`: recordings in files and folders, and what is said in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from .. import Client, Transcript
from .._printable import printable
from .._sniff import RECORDINGS
from ..endpoints._hearing import cut_in
from ._bulk import Column, Table, check_alone, run
from ._ending import FAILURES, MISSING, Failure, WrongUsage, status_of
from ._files import files_of
from ._shown import AsJSON, BaseURL, Model, console, named, print_json, warn

AT_ONCE = 4  # recordings that are read and sent side by side


def transcribe(
    files: Annotated[
        list[str],
        typer.Argument(help="Recordings, folders of them, or patterns such as 'talks/**/*.mp3'."),
    ],
    srt: Annotated[bool, typer.Option("--srt", help="Write SubRip subtitles.")] = False,
    vtt: Annotated[bool, typer.Option("--vtt", help="Write WebVTT subtitles.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for them; default: beside each recording.")
    ] = None,
    as_json: AsJSON = False,
    language: Annotated[
        str | None, typer.Option(help="Code of what is spoken, such as de; default: found out.")
    ] = None,
    translate: Annotated[bool, typer.Option("--translate", help="Write English.")] = False,
    diarize: Annotated[bool, typer.Option("--diarize", help="Tell speakers apart.")] = False,
    journal: Annotated[
        bool, typer.Option("--journal", help="Keep finished pieces, so that a killed run goes on.")
    ] = False,
    table: Table = None,
    column: Column = None,
    model: Model = None,
    base_url: BaseURL = None,
) -> None:
    """Write down what is said in recordings, several of them side by side.

    Without `--srt` and `--vtt` the text is printed. With `--journal` each recording has a file
    NAME.journal beside its subtitles, which the same call after a kill goes on from.

    Example: `vllm-modalities transcribe talk.mp3 interviews/ --srt --language en`
    """
    if translate and diarize:
        raise WrongUsage("--diarize does not go with --translate")
    if table:
        others = {"--srt": srt, "--vtt": vtt, "--out": out, "--translate": translate}
        check_alone({**others, "--journal": journal})
        options: dict[str, Any] = {"out": table, "column": column, "model": model}
        options |= {"language": language, "diarize": diarize}
        run("transcribe", files, options, base_url, as_json=as_json)
    paths = files_of(files, RECORDINGS, what="recording")

    forms = [form for form, wanted in (("srt", srt), ("vtt", vtt)) if wanted]
    names = _outputs(paths, out)

    def hear(path: Path) -> Transcript:
        names[path].parent.mkdir(parents=True, exist_ok=True)
        heard = (client.translate if translate else told_apart)(
            path,
            model=model,
            language=language,
            timestamps="segment" if forms and not diarize else None,
            journal=f"{names[path]}.journal" if journal else None,
            on_error="return",
        )
        for form in forms:
            heard.save(f"{names[path]}.{form}")
        return heard

    with Client(base_url) as client:
        told_apart = partial(client.transcribe, diarize=diarize)
        outcomes = _side_by_side(paths, hear)
    failures = _told(outcomes)
    heard = {path: found for path, found in outcomes.items() if isinstance(found, Transcript)}
    if as_json or not forms:
        _show(heard, titled=len(paths) > 1, as_json=as_json)
    if failures:
        raise typer.Exit(status_of(failures, some=bool(heard)))
    if any(cut_in(found.warnings) for found in heard.values()):
        raise typer.Exit(MISSING)


def _outputs(paths: Sequence[Path], out: Path | None) -> Mapping[Path, Path]:
    """Where to write, but for the ending; recordings of one name keep their own endings."""
    places = {path: (out or path.parent) / path.stem for path in paths}
    counts = Counter(places.values())
    named = {
        path: place if counts[place] == 1 else place.with_name(path.name)
        for path, place in places.items()
    }
    twice = [str(place) for place, count in Counter(named.values()).items() if count > 1]
    if twice:
        raise WrongUsage(f"several recordings would be written to {', '.join(twice)}")
    return named


def _side_by_side(
    paths: Sequence[Path], hear: Callable[[Path], Transcript]
) -> dict[Path, Transcript | Failure]:
    """What comes of each, in order; a bar on a terminal shows how many are done."""
    errors, threads = console(stderr=True), ThreadPoolExecutor(AT_ONCE)
    try:
        with Progress(console=errors, disable=not errors.is_terminal, transient=True) as bars:
            bar = bars.add_task("recordings", total=len(paths))
            begun = {path: threads.submit(hear, path) for path in paths}
            for one in begun.values():
                one.add_done_callback(lambda _: bars.advance(bar))
            return {path: _outcome(one) for path, one in begun.items()}
    finally:  # after Ctrl-C no further recording begins
        threads.shutdown(wait=False, cancel_futures=True)


def _outcome(begun: Future[Transcript]) -> Transcript | Failure:
    try:
        return begun.result()
    except FAILURES as error:
        return error


def _show(heard: Mapping[Path, Transcript], *, titled: bool, as_json: bool) -> None:
    if as_json:
        values = [{"file": str(path)} | found.to_dict() for path, found in heard.items()]
        print_json(values)
        return
    for path, found in heard.items():
        title = f"{path}:\n" if titled else ""
        typer.echo(printable(f"{title}{found.text}"))


def _told(outcomes: Mapping[Path, Transcript | Failure]) -> list[Failure]:
    """Say what is doubtful, and what failed."""
    errors, failures = console(stderr=True), list[Failure]()
    for path, found in outcomes.items():
        if isinstance(found, Transcript):
            for warning in found.warnings:
                warn(f"{path}: {warning}")
            failed: list[Failure] = [error for _, error in found.failures]
        else:
            failed = [found]
        for error in failed:
            errors.print(named(error, f"{path}: "))
        failures += failed
    return failures
