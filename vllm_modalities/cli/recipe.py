"""`vllm-modalities recipe`: the command that serves a model, and why it is so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from .._printable import printable
from ..serving import ServeCommand
from ..serving import recipe as find
from ._ending import WrongUsage
from ._shown import AsJSON, Version, console, print_json


def recipe(
    model: Annotated[str, typer.Argument(help="A name on the hub, or a folder with such a name.")],
    vllm_version: Version = None,
    gpu_memory_gb: Annotated[
        float | None, typer.Option(help="Memory of the card; Whisper large is quantised below 32.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="What a model of an unknown family is to do: embed, rerank, ocr …"),
    ] = None,
    matryoshka: Annotated[
        str | None,
        typer.Option(help="Sizes that its vectors may be cut to, such as 256,512, or any."),
    ] = None,
    long_texts: Annotated[
        int | None, typer.Option(help="Tokens of texts that the server is to cut and average.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(help="A folder for its files and a script, serve.sh.")
    ] = None,
    json_: AsJSON = False,
) -> None:
    """Print the command that serves a model on a release, and the reason of each flag.

    Example: `vllm-modalities recipe Qwen/Qwen3-Reranker-0.6B --write reranker`
    """
    command = find(model, vllm_version=vllm_version, gpu_memory_gb=gpu_memory_gb, task=task)
    if matryoshka is not None:
        command = command.matryoshka(*_sizes(matryoshka))
    if long_texts is not None:
        command = command.long_texts(long_texts)
    if write is not None:
        script = command.write(write)
        console(stderr=True).print(Text(f"written: {script}"))
    _show(command, for_machines=json_)


def _sizes(text: str) -> list[int]:
    if text == "any":
        return []
    try:
        return [int(size) for size in text.split(",")]
    except ValueError:
        raise WrongUsage("--matryoshka takes sizes, such as 256,512, or any") from None


def _show(command: ServeCommand, *, for_machines: bool) -> None:
    if for_machines:
        print_json(
            {
                "argv": command.argv,
                "env": dict(command.env),
                "files": dict(command.files),
                "notes": [{"text": note.text, "source": note.source} for note in command.notes],
                "shell": command.shell(),
            }
        )
        return
    typer.echo(printable(command.shell()))
    notes = console(stderr=True)
    for note in command.notes:
        notes.print(Text.assemble("\n", (note.text, ""), (f"  [{note.source}]", "dim")))
