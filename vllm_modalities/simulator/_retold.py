"""A recorded error in the words that another request would have got: its own numbers and names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ._contents import LETTERS, texts_of
from ._models import Model
from ._wanted import Wanted

NUMBER = r"(?<![\w.-]){}(?!\w|\.\d)"
QUOTED = r"(?<=['\"`]){}(?=['\"`])"
WHOLE = r"{}"

Said = dict[str, tuple[str, str]]
"""By what it is: how it is found in a text, and its words."""


def retold(body: Any, was: tuple[Wanted, Model], now: tuple[Wanted, Model]) -> Any:
    """`body` with what it says of the recorded request said of the new one."""
    before, after = dict(_said(*was)), dict(_said(*now))
    words: dict[str, str] = {}
    patterns: list[str] = []
    for name, (how, old) in before.items():
        new = after.get(name, (how, old))[1]
        if old and old != new and old not in words:
            words[old] = new
            patterns.append(how.format(re.escape(old)))
    if not words:
        return body
    pattern = re.compile("|".join(sorted(patterns, key=len, reverse=True)))
    return _replaced(body, lambda text: pattern.sub(lambda match: words[match[0]], text))


def _replaced(body: Any, change: Any) -> Any:
    if isinstance(body, Mapping):
        return {name: _replaced(value, change) for name, value in body.items()}
    return change(body) if isinstance(body, str) else body


def _said(wanted: Wanted, model: Model) -> Iterator[tuple[str, tuple[str, str]]]:
    """What an error may say of a request."""
    fields, file = wanted.fields, wanted.file
    longest = max((len(text) for text in texts_of(fields) if isinstance(text, str)), default="")
    yield "model asked for", (QUOTED, str(fields.get("model") or model.name))
    yield "model", (r"(?<=['\" `]){}(?=['\".]|$)", model.name)
    yield "all fields", (WHOLE, repr(dict(fields)))
    yield "number of fields", (WHOLE, f"<dict of {len(fields)} items>")
    yield "prompts", (WHOLE, f"values: {', '.join(model.prompts)}")
    yield "context", (NUMBER, str(model.context))
    yield "above the context", (NUMBER, str(model.context + 1))
    yield "letters", (NUMBER, str(model.context * LETTERS))
    yield "images", (NUMBER, str(model.images))
    yield "width", (NUMBER, str(model.width))
    yield "longest", (NUMBER, str(longest))
    if file is not None:
        yield "seconds", (NUMBER.replace(r"(?!\w|\.\d)", "s"), f"{file.seconds or 0:.1f}")
        yield "megabytes", (NUMBER, str(file.size / 2**20))
    for name, value in fields.items():
        if isinstance(value, bool | str | None):
            yield name, (QUOTED, str(value))
        elif isinstance(value, int | float):
            yield name, (NUMBER, "" if value in (0, 1) else str(value))
            yield f"{name} as float", (NUMBER, str(float(value)))
        else:
            yield name, (WHOLE, repr(value))
            yield f"{name} in short", (WHOLE, f"<{type(value).__name__} of {len(value)} items>")
