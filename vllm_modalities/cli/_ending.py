"""How commands end: one rule of exit statuses, and one line for what went wrong."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias

import typer
from rich.text import Text
from typer.core import TyperGroup

from .. import InvalidRequestError, VLLMModalitiesError
from .._printable import printable
from ._shown import console, named, said, warn

STATUSES = (
    "Exit status: 0, all is there; 1, something that was asked for failed or is not there whole,"
    " as standard error says; 2, it was asked wrongly."
)
MISSING, WRONG = 1, 2
INTERRUPTED, UNREAD = 130, 141  # as shells have it for the signals INT and PIPE

Failure: TypeAlias = VLLMModalitiesError | ImportError | OSError
FAILURES = (VLLMModalitiesError, ImportError, OSError)


class WrongUsage(typer.TyperException):
    """It was asked wrongly, in words."""

    exit_code = WRONG


class Commands(TyperGroup):
    """The commands; whatever goes wrong in one is a line on standard error, and a status."""

    def main(self, *args: Any, **options: Any) -> NoReturn:
        try:
            status = super().main(*args, **{**options, "standalone_mode": False})
        except typer.TyperException as error:
            _tell(error)
            status = error.exit_code
        sys.exit(status)

    def invoke(self, ctx: Any) -> Any:
        said.clear()
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                return super().invoke(ctx)
        except KeyboardInterrupt:
            console(stderr=True).print(Text("interrupted", style="red"))
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # What is still held back has nowhere to go, and Python would say so at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(UNREAD) from None
        except FAILURES as error:
            console(stderr=True).print(named(error))
            raise typer.Exit(status_of([error], some=False)) from None


def status_of(failures: Iterable[Failure], *, some: bool) -> int:
    """The exit status of what failed.

    Args:
        failures: What went wrong, one thing or more.
        some: Whether anything was done.
    """
    wrong = all(isinstance(one, InvalidRequestError) for one in failures)
    return WRONG if wrong and not some else MISSING


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """Say what is doubtful, and not where in this program that was found."""
    warn(str(message))
    said.append(str(message))


def _tell(error: typer.TyperException) -> None:
    """Say what is wrong about the arguments; nothing where help was all that there was to say."""
    message = " ".join(error.format_message().split())
    context: typer.Context | None = getattr(error, "ctx", None)
    hint = f". See {context.command_path} --help." if context else ""
    if message:
        message = message.removesuffix(".") + hint
        console(stderr=True).print(Text.assemble(("Error:", "red"), f" {printable(message)}"))
