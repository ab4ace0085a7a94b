"""`check_command` and `correct_command`: what is wrong with a command, and it put right."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from .._inputs import invalid
from ..errors import Finding
from ..server import ServerVersion
from ._commands import commands_in
from ._gone import unknown
from ._options import choices, listed
from ._part import Part
from ._recipe import NEWEST
from ._rule import Served
from ._rules import RULES
from ._words import LATER, Option, Words, read_json, understood

Fix = Callable[[Words], Words]
WRITES = " `vllm-modalities recipe` writes that file."
JSON_OPTIONS = ("--hf-overrides", "--pooler-config")


def check_command(command: str, *, vllm_version: str | None = None) -> list[Finding]:
    """What is wrong, or harmful, about a command that serves a model; nothing is run.

    Args:
        command: A command line, or the text of a shell script, a Dockerfile, a compose file or
            Kubernetes manifests, with one command or several.
        vllm_version: The release that is to run it; default `NEWEST`.

    Returns:
        Findings, by command. An `"error"` keeps the server from starting or spoils its answers.

    Raises:
        InvalidRequestError: There is no such command in it.
        ImportError: It is YAML, and PyYAML is not installed.

    Source: the parsers of sixteen releases (options.json), the rows of `_rules`, and those of
        `recipe`.
    """
    findings = []
    for words in _commands(command):
        named = f"{words.where}: " if words.where else ""
        findings += [
            replace(finding, message=f"{named}{finding.message}")
            for finding, _ in _examined(_served(words, vllm_version))
        ]
    return findings


def correct_command(command: str, *, vllm_version: str | None = None) -> str:
    """The same commands put right, for a shell, one a line; what only you can know stays.

    Args:
        command: As for `check_command`.
        vllm_version: As for `check_command`.

    Raises:
        InvalidRequestError, ImportError: As for `check_command`.
    """
    return "\n".join(_corrected(words, vllm_version).shell() for words in _commands(command))


def _commands(text: str) -> list[Words]:
    found = commands_in(text)
    if not found:
        raise invalid("command", "no `vllm serve` command was found in it")
    return found


def _served(words: Words, vllm_version: str | None) -> Served:
    return Served.of(words, ServerVersion(vllm_version or NEWEST))


def _corrected(words: Words, vllm_version: str | None) -> Words:
    for _, fix in _examined(_served(words, vllm_version)):
        words = words if fix is None else fix(words)
    return words


def _examined(served: Served) -> Iterator[tuple[Finding, Fix | None]]:
    """Every finding, with what puts it right."""
    yield from _unserved(served)
    yield from unknown(served)
    yield from _values(served)
    for rule in RULES:
        if rule.concerns(served):
            yield rule.finding, rule.fix
    yield from _lacking(served)


def _unserved(served: Served) -> Iterator[tuple[Finding, Fix | None]]:
    """A model that no release serves, or this one not yet."""
    row, model = served.row, served.words.model
    if row is not None and row.instead:
        problem = f"no release serves {model}; serve {row.instead}"
        yield _refused("model-unserved", "model", problem), None
    elif row is not None and row.since and served.version < row.since:
        problem = f"{row.name} needs vLLM {row.since} or later, not {served.version}"
        yield _refused("model-too-new", "model", problem), None


def _values(served: Served) -> Iterator[tuple[Finding, Fix | None]]:
    """Values that the parser refuses, and words that belong to nothing."""
    release = listed(served.version)
    for option in served.words.options:
        known = choices(option.name, release)
        wrong = [value for value in option.values if _is_wrong(value, known)]
        if wrong:
            told = f"it takes {', '.join(known or ())}"
            yield _refused("value-refused", option.name, f"{wrong[0]!r} is refused; {told}"), None
        elif option.name in JSON_OPTIONS and not _is_json(option):
            yield _refused("not-json", option.name, "its value is not a JSON object"), None
    if served.words.stray:
        words = " ".join(served.words.stray)
        yield (
            _refused("stray-word", "", f"{words!r} belongs to no option, and is refused"),
            lambda words: replace(words, stray=()),
        )


def _is_wrong(value: str, known: Any) -> bool:
    return known is not None and value not in known and not value.startswith(LATER)


def _is_json(option: Option) -> bool:
    value = option.value or ""
    return value.startswith(LATER[0]) or isinstance(read_json(value), dict)


def _refused(code: str, option: str, problem: str) -> Finding:
    message = f"{option}: {problem}." if option else f"{problem}."
    return Finding(code=code, severity="error", field=option, message=message)


def _lacking(served: Served) -> Iterator[tuple[Finding, Fix | None]]:
    """What the model needs and the command does not have."""
    for part in served.row.parts if served.row else ():
        if part.without and part.holds(served.version) and not _has(served.words, part):
            name = (*part.flags[:1], *part.settings, *part.env)[0]
            words = " ".join([*part.flags, *(f"{k} {v}" for k, v in _texts(part).items())])
            finding = Finding(
                code="missing",
                severity="error" if part.fatal else "warning",
                field=name,
                message=f"{name}: {served.words.model} needs {words}; without it {part.without}."
                f"{WRITES if part.file else ''}",
                source=part.source,
            )
            yield finding, _adding(part)


def _texts(part: Part) -> Mapping[str, str]:
    return {option: json.dumps(dict(setting)) for option, setting in part.settings.items()}


def _has(words: Words, part: Part) -> bool:
    """Whether a command has what a part has; a template may be any file."""
    for option in understood([*part.flags, "model"], {}).options:
        given = [one.values for one in words.options if one.name == option.name]
        if not given or not (option.name == "--chat-template" or _same(option.values, given[-1])):
            return False
    return all(
        _later(words, option) or setting.items() <= words.settings(option).items()
        for option, setting in part.settings.items()
    )


def _same(wanted: tuple[str, ...], given: tuple[str, ...]) -> bool:
    """Whether all that is wanted is given; 0.0 is 0."""
    return all(word in given or (word == "0" and given[:1] == ("0.0",)) for word in wanted)


def _later(words: Words, option: str) -> bool:
    return (words.get(option) or "").startswith(LATER[0])


def _adding(part: Part) -> Fix:
    def fix(words: Words) -> Words:
        for option in understood([*part.flags, "model"], {}).options:
            words = words.without(option.name.replace("--no-", "--", 1))
            words = words.having(option.name, *option.values)
        for name, setting in part.settings.items():
            words = words.setting(name, {**words.settings(name), **setting})
        return words

    return fix
