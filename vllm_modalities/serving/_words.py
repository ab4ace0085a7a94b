"""`Words`: a `vllm serve` command as its options and values, to be read and changed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ._options import PERHAPS, SEVERAL, takes

# What a shell or a template puts in later; nothing is said of such words.
LATER = ("$", "{{", "<", "[", "…", "...")


@dataclass(frozen=True, slots=True)
class Option:
    """One option as it was written.

    Attributes:
        name: With dashes for underscores, and what follows a dot as it was.
        values: The words after it.
    """

    name: str
    values: tuple[str, ...] = ()

    @property
    def base(self) -> str:
        """The name before a dot: `--pooler-config.task` is of `--pooler-config`."""
        return self.name.partition(".")[0]

    @property
    def value(self) -> str | None:
        """Its last word, if it has one."""
        return self.values[-1] if self.values else None


@dataclass(frozen=True, slots=True)
class Words:
    """A command, understood.

    Attributes:
        model: What it serves; None if it does not say.
        options: In order.
        env: The variables that it is given.
        stray: Words that belong to nothing.
        where: Which command of several it is, in words; "" if there is one.
    """

    model: str | None = None
    options: tuple[Option, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    stray: tuple[str, ...] = ()
    where: str = ""

    def has(self, name: str) -> bool:
        """Whether the option is there, alone or with a key after a dot."""
        return any(option.base == name for option in self.options)

    def get(self, name: str) -> str | None:
        """The value of the option, the last if it is there twice."""
        return next((one.value for one in reversed(self.options) if one.name == name), None)

    def on(self, switch: str) -> bool:
        """Whether `--switch` is there and is not taken back after it by `--no-switch`."""
        both = (f"--{switch}", f"--no-{switch}")
        said = [option.name for option in self.options if option.name in both]
        return said[-1:] == [both[0]]

    def settings(self, name: str) -> dict[str, Any]:
        """The JSON of an option, with what is given by key after a dot; {} if it is none."""
        found: dict[str, Any] = {}
        for option in self.options:
            if option.base == name and option.value is not None:
                key = option.name.partition(".")[2].removesuffix("+")
                read = read_json(option.value)
                if key:
                    found[key] = option.value if read is None else read
                elif isinstance(read, dict):
                    found |= read
        return found

    def without(self, *names: str) -> Words:
        """The same without these options."""
        return replace(self, options=tuple(one for one in self.options if one.base not in names))

    def having(self, name: str, *values: str) -> Words:
        """The same with that option, in place of one of the same name."""
        return replace(self, options=(*self.without(name).options, Option(name, values)))

    def setting(self, name: str, settings: Mapping[str, Any]) -> Words:
        """The same with that JSON for an option."""
        return self.having(name, json.dumps(dict(settings))) if settings else self.without(name)

    def with_env(self, **variables: str) -> Words:
        """The same with these variables."""
        return replace(self, env={**self.env, **variables})

    def shell(self) -> str:
        """The command for a shell, in one line."""
        words = [f"{name}={shlex.quote(value)}" for name, value in self.env.items()]
        words += ["vllm", "serve", *([shlex.quote(self.model)] if self.model else [])]
        for option in self.options:
            words += [option.name, *(shlex.quote(value) for value in option.values)]
        return " ".join(words)


def read_json(text: str) -> Any:
    """What a JSON text says; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def understood(words: Sequence[str], env: Mapping[str, str], where: str = "") -> Words:
    """The words after `vllm serve`, as options with their values."""
    options: list[Option] = []
    loose: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if not is_option(word):
            loose.append(word)
            continue
        name, equals, value = word.partition("=")
        head, dot, key = name.partition(".")
        name = f"{head.replace('_', '-')}{dot}{key}"
        values = [value] if equals else _values(name, words[place:])
        place += 0 if equals else len(values)
        options.append(Option(name, tuple(values)))
    return _placed(options, loose, env, where)


def is_option(word: str) -> bool:
    """Whether a word is an option, not a value such as -1."""
    return word.startswith("-") and not word[1:2].isdigit() and word not in ("-", "--")


def _values(name: str, rest: Sequence[str]) -> list[str]:
    """The words of `rest` that belong to an option."""
    count = 1 if "." in name else takes(name)
    following: list[str] = []
    for word in rest:
        if is_option(word):
            break
        following.append(word)
    if count == SEVERAL:
        return following
    return [] if count == 0 else following[:1]  # one, or PERHAPS one, or who knows


def _placed(options: list[Option], loose: list[str], env: Mapping[str, str], where: str) -> Words:
    """Find the model: `--model`, or the first loose word, or what an unknown option had taken."""
    named = [one.value for one in options if one.name == "--model" and one.value]
    model = named[-1] if named else loose.pop(0) if loose else None
    if model is None:
        for place, option in enumerate(options):
            greedy = takes(option.base) in (None, SEVERAL, PERHAPS) and "." not in option.name
            if greedy and option.values and (option.base == option.name):
                model = option.values[-1]
                options[place] = Option(option.name, option.values[:-1])
                break
    stray = tuple(word for word in loose if not word.startswith(LATER))
    options = [one for one in options if one.name != "--model"]
    return Words(model, tuple(options), dict(env), stray, where)
