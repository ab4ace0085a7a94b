"""`vllm-modalities check-command`: what is wrong with a `vllm serve` command, and it put right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .._printable import printable
from ..serving import check_command as check
from ..serving import correct_command
from ._shown import AsJSON, Version, print_json, print_table


def check_command(
    command: Annotated[
        str,
        typer.Argument(
            help="The command, or a file with one: a shell script, a Dockerfile, a compose file or"
            " Kubernetes manifests; - is standard input."
        ),
    ],
    vllm_version: Version = None,
    json_: AsJSON = False,
) -> None:
    """Say what is wrong, or harmful, about a command that serves a model, and put it right.

    Nothing is run. The exit status is 1 where anything is an error.

    Example: `vllm-modalities check-command "vllm serve BAAI/bge-m3 --task embed"`
    """
    text = _text(command)
    findings = check(text, vllm_version=vllm_version)
    corrected = correct_command(text, vllm_version=vllm_version)
    if json_:
        found = [
            {"code": one.code, "severity": one.severity, "option": one.field}
            | {"message": one.message, "source": one.source}
            for one in findings
        ]
        print_json({"findings": found, "corrected": corrected})
    elif findings:
        rows = [
            (one.severity, one.message + (f"\n[{one.source}]" if one.source else ""))
            for one in findings
        ]
        print_table(("", "what, and what to do"), rows)
        if check(corrected, vllm_version=vllm_version) != findings:
            typer.echo(f"\nPut right:\n{printable(corrected)}")
    else:
        typer.echo("nothing wrong")
    if any(one.severity == "error" for one in findings):
        raise typer.Exit(1)


def _text(command: str) -> str:
    """The command itself, or what stands in the file of that name."""
    if command == "-":
        return sys.stdin.read()
    if "\n" in command or " serve " in command or not Path(command).is_file():
        return command
    return Path(command).read_text("utf-8", errors="replace")
