"""`recipe`: from a model's name to the command that serves it on a release."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .._inputs import invalid, one_of
from ..profiles import PROFILES, UNKNOWN, Profile, profile_of
from ..server import ServerVersion
from ._command import ServeCommand
from ._embedders import EMBEDDERS
from ._ocr import NO_CACHES, OCR
from ._part import POOLING, VLLM, Note, Part, Row
from ._rerankers import RERANKERS
from ._speech import SPEECH
from ._templates import TEMPLATES
from ._unserved import UNSERVED

ROWS: tuple[Row, ...] = (*OCR, *SPEECH, *RERANKERS, *EMBEDDERS, *UNSERVED)
"""All families; the first that matches a model counts."""

NEWEST = "0.32.0"
"""The release that is meant where none is named: the newest whose options are known."""

UNQUANTISED_GB = 32.0  # from which card on Whisper large is served as it is; vLLM issue #15216

SCORING = ("rerank", "score", "classify")
TASKS = ("embed", "embed_tokens", *SCORING, "transcribe", "translate", "ocr")


def recipe(
    model: str,
    *,
    vllm_version: str | None = None,
    gpu_memory_gb: float | None = None,
    task: str | None = None,
) -> ServeCommand:
    """The command that serves `model`.

    Args:
        model: A name on the hub, or a folder with such a name.
        vllm_version: The release that is to serve it; default `NEWEST`.
        gpu_memory_gb: Memory of the card, in GB; below 32, Whisper large is served quantised.
        task: What it is to do, where its family is not known or does several things: `"embed"`,
            `"embed_tokens"`, `"rerank"`, `"score"`, `"classify"`, `"transcribe"`, `"translate"`
            or `"ocr"`.

    Returns:
        The command, its files and variables, and notes that say why, each with its source.

    Raises:
        InvalidRequestError: The family is not known and no task is named, or that release does
            not serve it. The message says what would.
    """
    if task is not None:
        one_of("task", task, TASKS)
    version = ServerVersion(vllm_version or NEWEST)
    row = row_of(model)
    if row is None:
        return _unlisted(model, task)
    if row.instead:
        told = Note(f"no release serves {model}; this is {row.instead}", "profiles of this package")
        command = recipe(row.instead, vllm_version=vllm_version, gpu_memory_gb=gpu_memory_gb)
        return replace(command, notes=(told, *command.notes))
    if row.since and version < row.since:
        raise invalid("vllm_version", f"{row.name} needs vLLM {row.since} or later, not {version}")
    chosen, notes = _for_card(model, row, gpu_memory_gb)
    return _built(chosen, [part for part in row.parts if part.holds(version)], notes)


def row_of(model: str) -> Row | None:
    """The family of a model of that name."""
    return next((row for row in ROWS if row.matches(model)), None)


def _for_card(model: str, row: Row, memory: float | None) -> tuple[str, tuple[Note, ...]]:
    """What is served on a card with so much memory."""
    if memory is None or memory >= UNQUANTISED_GB or not row.quantised:
        return model, row.notes
    best, *others = row.quantised
    words = f"quantised for a card of {memory:g} GB; unquantised it wants {UNQUANTISED_GB:g} GB"
    if others:
        words += f". Others: {', '.join(others)}"
    return best, (Note(words, "vLLM issue #15216"), *row.notes)


def _built(model: str, parts: Iterable[Part], notes: Iterable[Note]) -> ServeCommand:
    """One command of all parts."""
    words, env, files = ["vllm", "serve", model], dict[str, str](), dict[str, str]()
    settings: dict[str, dict[str, Any]] = {}
    reasons = []
    for part in parts:
        words += part.flags
        env |= part.env
        reasons.append(part.note)
        if part.file:
            files[part.file] = TEMPLATES[part.file]
        for option, setting in part.settings.items():
            settings.setdefault(option, {}).update(setting)
    for option, setting in settings.items():
        words += [option, json.dumps(setting)]
    return ServeCommand(tuple(words), env, files, (*reasons, *notes))


def _unlisted(model: str, task: str | None) -> ServeCommand:
    """A model without a row: from its profile, or from what it is to do."""
    profile = profile_of(PROFILES, model)
    done = task or _done_by(profile)
    notes = [Note(text, "its profile") for text in profile.notes]
    if done is None:
        raise invalid(
            "model",
            f"nothing is known of how {model!r} is served; name what it is to do, such as"
            f' task="embed". {len(ROWS)} families are known, such as Qwen3-Embedding and Whisper:'
            " docs/recipes.md",
        )
    if done in ("transcribe", "translate"):
        return _built(model, (), notes)
    if done == "ocr":
        return _built(model, NO_CACHES, notes)
    return _built(model, (POOLING, *_converted(profile, done)), notes)


def _done_by(profile: Profile) -> str | None:
    """What a model of that profile does."""
    known = {
        "ocr": profile.ocr,
        "transcribe": profile.speech,
        "rerank": profile.rerank,
        "embed": profile.embed,
    }
    return next((task for task, facts in known.items() if facts), None)


def _converted(profile: Profile, task: str) -> Iterable[Part]:
    """What makes a language model do `task`; a model that is known needs none of it."""
    if profile is not UNKNOWN:
        return
    yield Part(
        flags=("--convert", "classify" if task in SCORING else "embed"),
        why="makes a pooling model of a language model; drop it if it is one already",
        source=f"{VLLM}config/model.py, `ConvertOption`",
    )
    if task == "embed_tokens":
        yield Part(
            settings={"--pooler-config": {"task": "token_embed"}},
            why="a vector a token",
            source=f"{VLLM}config/pooler.py, `task`",
        )
