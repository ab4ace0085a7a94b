"""`Part` and `Row`: some flags and their reason, and all that a model family is served with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..server import ServerVersion


@dataclass(frozen=True, slots=True)
class Note:
    """What an operator should know, and where it is read.

    Attributes:
        text: In words.
        source: The vLLM release and file, the model's card, or an issue.
    """

    text: str
    source: str

    def __str__(self) -> str:
        return f"{self.text} [{self.source}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some flags or variables of a server, and why.

    Attributes:
        flags: Options without JSON, as they stand on the command line.
        settings: Options with JSON, by name; those of several parts are merged.
        env: Environment variables.
        file: A file that it names; a key of `_templates.TEMPLATES`.
        without: What goes wrong without it, where that is more than taste; `check_command` says
            so of a command that lacks it.
        fatal: Whether without it the server does not start, or answers nonsense.
        why: Its reason, in words.
        source: Where that is read.
        since, until: The vLLM releases that need it; None is open.
    """

    flags: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    file: str | None = None
    without: str | None = None
    fatal: bool = False
    why: str
    source: str
    since: str | None = None
    until: str | None = None

    def holds(self, version: ServerVersion) -> bool:
        """Whether that release needs it."""
        started = self.since is None or version >= self.since
        return started and (self.until is None or version < self.until)

    @property
    def note(self) -> Note:
        """Its flags and why they are there."""
        flags = [word for word in self.flags if word.startswith("-")]
        named = [*flags, *self.settings, *self.env]
        return Note(f"{', '.join(named)}: {self.why}", self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How one model family is served.

    Attributes:
        name: The family's name.
        pattern: Regular expression searched in a model's name, as a profile's.
        example: A model of it.
        task: What it does first; a task of the client.
        parts: Its flags.
        notes: What an operator should know beside them.
        since: The first vLLM release that serves it.
        instead: The model to serve in place of one that no release serves.
        quantised: Models to serve on a card with less than 32 GB, best first.
    """

    name: str
    pattern: str
    example: str
    task: str
    parts: tuple[Part, ...] = ()
    notes: tuple[Note, ...] = ()
    since: str | None = None
    instead: str | None = None
    quantised: tuple[str, ...] = ()

    def matches(self, model: str) -> bool:
        """Whether that is the name, or the folder, of such a model."""
        spelled = (model, model.replace("_", "-"))
        return any(re.search(self.pattern, name, re.IGNORECASE) for name in spelled)


VLLM = "vLLM 0.32.0 vllm/"
DOCS = "vllm-project/vllm docs/models/pooling_models/"

POOLING = Part(
    flags=("--runner", "pooling"),
    why="serves vectors and scores; it took the place of --task",
    source=f"{VLLM}config/model.py, `RunnerOption`",
)


def remote_code(source: str, why: str = "its classes are in its repository") -> Part:
    """The part of a model that is read with code of its own."""
    return Part(
        flags=("--trust-remote-code",),
        without="the server refuses its code and does not start, or splits texts wrongly",
        fatal=True,
        why=f"{why}; that code runs on the server",
        source=source,
    )


def overrides(
    config: Mapping[str, Any], *, why: str, source: str, without: str | None = None
) -> Part:
    """The part of a model whose config.json lacks something, or is read as something else."""
    return Part(
        settings={"--hf-overrides": config},
        without=without,
        fatal=without is not None,
        why=why,
        source=source,
    )
