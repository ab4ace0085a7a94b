"""The `vllm serve` commands in a text: a shell's, a Dockerfile's, compose's or Kubernetes'."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from .._inputs import invalid
from ._words import Words, read_json, understood

DOCKERFILE = re.compile(r"^\s*(FROM|CMD|ENTRYPOINT)\s", re.MULTILINE | re.IGNORECASE)
MANIFEST = re.compile(r"^(services|apiVersion|kind):", re.MULTILINE)
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
IMAGE = re.compile(r"(^|/)vllm-(openai|cpu)[^/]*$")  # their entry point is `vllm serve`
SERVER_MODULE = "vllm.entrypoints.openai.api_server"
ENDS = set(";&|<>()")
LINES = 40  # that a quote may go over


def commands_in(text: str) -> list[Words]:
    """Every command of `text` that serves a model.

    Args:
        text: A command line, a shell script, a Dockerfile, a compose file or Kubernetes manifests.

    Raises:
        InvalidRequestError: It looks like YAML, and is none.
        ImportError: It is YAML, and PyYAML is not installed.
    """
    if MANIFEST.search(text):
        found = list(_of_yaml(text))
    elif DOCKERFILE.search(text):
        found = list(_of_dockerfile(text))
    else:
        found = list(_of_shell(text))
    if len(found) == 1:
        return [understood(words, env) for words, env, _ in found]
    return [
        understood(words, env, where or f"command {number}")
        for number, (words, env, where) in enumerate(found, 1)
    ]


Found = tuple[Sequence[str], Mapping[str, str], str]


def _of_shell(text: str, env: Mapping[str, str] | None = None) -> Iterator[Found]:
    exported = dict(env or {})
    for words in _statements(text):
        if words[0] == "export":
            exported |= _assignments(words[1:])
            continue
        yield from _served(words, exported, "")


def _statements(text: str) -> Iterator[list[str]]:
    """The words of each simple command; a quote may go over several lines."""
    lines = text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines()
    place = 0
    while place < len(lines):
        for count in range(1, LINES + 1):
            words = _words("\n".join(lines[place : place + count]))
            if words is not None:
                yield from _parts(words)
                break
        else:
            count = 1  # a quote that never closes hides its own line alone
        place += count


def _words(text: str) -> list[str] | None:
    """The words of a text, without a comment at its end; None where a quote is open."""
    for part in (text, re.split(r"(?:^|\s)#", text, maxsplit=1)[0]):
        lexer = shlex.shlex(part, posix=True, punctuation_chars="".join(sorted(ENDS)))
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            return list(lexer)
        except ValueError:
            continue
    return None


def _parts(words: Sequence[str]) -> Iterator[list[str]]:
    """The words between `;`, `&&`, `|` and the like, without redirections and comments."""
    part: list[str] = []
    for word in words:
        if word.startswith("#"):
            break
        if word and ENDS.issuperset(word):
            if word[0] in "<>" and part and part[-1].isdigit():
                part.pop()
            if part:
                yield part
            part = []
        else:
            part.append(word)
    if part:
        yield part


def _served(words: Sequence[str], env: Mapping[str, str], where: str) -> Iterator[Found]:
    """What follows `vllm serve` in one command, or the image that has it as its entry point."""
    for place, word in enumerate(words):
        before = words[:place]
        rest = words[place + 1 :]
        if PurePath(word).name == "vllm" and rest[:1] == ["serve"]:
            yield rest[1:], {**env, **_assignments(before)}, where
        elif word == SERVER_MODULE or (IMAGE.search(word) and "docker" in before and rest):
            yield rest, {**env, **_assignments(before)}, where
        elif " serve " in word and "vllm" in word:  # sh -c "…"
            yield from ((found, more, where) for found, more, _ in _of_shell(word, env))
            continue
        else:
            continue
        return


def _assignments(words: Sequence[str]) -> dict[str, str]:
    """The variables that are set by words such as `NAME=value`, also after `-e` and `--env`."""
    pairs = (word.removeprefix("--env=") for word in words)
    return dict(pair.split("=", 1) for pair in pairs if ASSIGNMENT.match(pair))


def _of_dockerfile(text: str) -> Iterator[Found]:
    env: dict[str, str] = {}
    start: list[str] = []
    entry: list[str] = []
    command: list[str] = []
    joined = re.sub(r"\\\s*\n", " ", text)
    for line in joined.splitlines():
        name, _, rest = line.strip().partition(" ")
        match name.upper():
            case "FROM":
                start = ["vllm", "serve"] if IMAGE.search(rest.partition(" ")[0]) else []
                entry, command, env = [], [], {}
            case "ENV":
                words = _split(rest)
                env |= _assignments(words) or {" ".join(words[:1]): " ".join(words[1:])}
            case "ENTRYPOINT":
                entry, command = _form(rest), []
            case "CMD":
                command = _form(rest)
    yield from _served([*(entry or start), *command], env, "")


def _form(text: str) -> list[str]:
    """The words of an instruction in exec form, or those of a shell."""
    words = read_json(text)
    return list(map(str, words)) if isinstance(words, list) else _split(text)


def _split(text: str) -> list[str]:
    """The words of a text as a shell reads it; none where a quote is open."""
    return _words(text) or []


def _of_yaml(text: str) -> Iterator[Found]:
    try:
        from yaml import YAMLError, safe_load_all
    except ImportError:
        raise ImportError(
            "compose files and manifests are read with PyYAML: pip install 'vllm-modalities[cli]'"
        ) from None
    try:
        documents = list(safe_load_all(text))
    except (YAMLError, RecursionError, ValueError) as error:
        raise invalid("command", f"it looks like YAML, and is none: {error}") from None
    for document in documents:
        services = _mapping(_mapping(document).get("services"))
        for name, service in services.items():
            yield from _of_container(service, "entrypoint", "command", f"service {name}")
        for container in [] if services else _containers(document):
            name = _mapping(container).get("name", "")
            yield from _of_container(container, "command", "args", f"container {name}")


def _containers(document: Any) -> Iterator[Any]:
    """Every container anywhere in a manifest; what aliases repeat is looked at once."""
    seen: set[int] = set()
    parts = [document]
    while parts:
        part = parts.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        for key in ("containers", "initContainers"):
            yield from _sequence(_mapping(part).get(key))
        parts += [*_mapping(part).values(), *_sequence(part)]


def _mapping(part: Any) -> dict[Any, Any]:
    return part if isinstance(part, dict) else {}


def _sequence(part: Any) -> list[Any]:
    return part if isinstance(part, list) else []


def _of_container(container: Any, entry: str, command: str, where: str) -> Iterator[Found]:
    told = _mapping(container)
    words = [*_listed(told.get(entry)), *_listed(told.get(command))]
    if not told.get(entry) and IMAGE.search(str(told.get("image", ""))):
        words = ["vllm", "serve", *words]
    yield from _served(words, _environment(told), where)


def _listed(words: Any) -> list[str]:
    return _split(words) if isinstance(words, str) else list(map(str, _sequence(words)))


def _environment(container: Mapping[str, Any]) -> dict[str, str]:
    """Variables, as a mapping, as `NAME=value` words or as name and value."""
    found = container.get("environment") or container.get("env")
    named = {str(name): str(value) for name, value in _mapping(found).items()}
    for one in _sequence(found):
        if isinstance(one, dict):
            named[str(one.get("name"))] = str(one.get("value"))
    return named | _assignments([one for one in _sequence(found) if isinstance(one, str)])
