"""Commands that end with the process that started them, and whose last lines are the error."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..errors import VLLMModalitiesError

Report = Callable[[str], None]
"""Told one line of text at a time: what is being done, and how long it takes."""

LEASH = Path(__file__).parent / "inside" / "leash.py"

# What would reach into a private environment: VLLM_API_KEY alone makes a server ask for a key.
FOREIGN = ("CONDA_", "PYTHON", "VIRTUAL_ENV", "VLLM_")


class RigError(VLLMModalitiesError):
    """Something could not be built or started; the message ends with what it printed last."""


def process_environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment variables without the foreign ones, and with `changes`."""
    own = {name: text for name, text in os.environ.items() if not name.startswith(FOREIGN)}
    return own | dict(changes or {})


def leashed(python: Path, module: str, *arguments: str) -> list[str]:
    """The command line of `python -m module`, ended by the end of its standard input.

    A module that stands beside `leash.py` is found by its bare name.
    """
    return [str(python), str(LEASH), module, *arguments]


def run(command: Sequence[str], *, changes: Mapping[str, str] | None = None) -> str:
    """What `command` printed, on both streams, once it has ended.

    Raises:
        RigError: It ended with another status than 0.
    """
    with subprocess.Popen(  # noqa: S603 - the rig's own command lines, no shell
        command,
        stdin=subprocess.PIPE,  # held open: its end is what a leash waits for
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=process_environment(changes),
        start_new_session=True,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        status = process.wait()
    if status != 0:
        raise RigError(f"{' '.join(command)} ended with status {status}:\n{last_lines(output)}")
    return output


def last_lines(text: str, *, count: int = 30) -> str:
    """The last `count` lines that say something."""
    return "\n".join([line for line in text.splitlines() if line.strip()][-count:])
