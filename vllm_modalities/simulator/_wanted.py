"""What a request asks for, whether it has just come in or was recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ._recordings import Asked

SAME = {
    "/rerank": "/v1/rerank",
    "/v2/rerank": "/v1/rerank",
    "/score": "/v1/score",
    "/ping": "/health",
}
"""Paths that one handler answers, as vLLM registers them (entrypoints/pooling/scoring)."""

FORMS = "/v1/audio/"
"""Where paths begin whose bodies are forms."""

NO_FORM = "the body is no form"

READ_TEXTS: Mapping[str, bool | None] = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Sound:
    """An uploaded file.

    Attributes:
        name: As the client calls it.
        size: Bytes.
        seconds: How long it plays; None if it is no recording that can be read.
        content: The file; empty for a recorded request.
    """

    name: str
    size: int
    seconds: float | None
    content: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One request.

    Attributes:
        method, path: As in HTTP.
        headers: By lower-case name.
        fields: Of the JSON object, or of the form with its texts read as JSON where they are.
        file: The upload of a form.
        problem: Why there are no fields, in a few words.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    file: Sound | None = None
    problem: str = ""

    @property
    def operation(self) -> str:
        """The path under which what is known of its handler is kept."""
        return SAME.get(self.path, self.path)


def from_json(method: str, path: str, headers: Mapping[str, str], content: bytes | str) -> Wanted:
    """A request whose body should be a JSON object."""
    if method != "POST":
        return Wanted(method, path, headers)
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return Wanted(method, path, headers, problem="the body is not called JSON")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return Wanted(method, path, headers, problem="the body is no JSON")
    if not isinstance(body, dict):
        return Wanted(method, path, headers, problem="the body is no object")
    return Wanted(method, path, headers, body)


def from_form(
    path: str, headers: Mapping[str, str], form: Mapping[str, Any], file: Sound | None
) -> Wanted:
    """A request with a multipart body."""
    fields = {name: _typed(value) for name, value in form.items()}
    if "vllm_xargs" in form:
        with suppress(ValueError):
            fields["vllm_xargs"] = json.loads(form["vllm_xargs"])
    return Wanted("POST", path, headers, fields, file)


def _typed(value: Any) -> Any:
    """What a text of a form stands for: numbers and truth values, but never an object."""
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if value in READ_TEXTS:
        return READ_TEXTS[value]
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def from_recording(asked: Asked, sounds: Mapping[str, Sound]) -> Wanted:
    """A recorded request; `sounds` says what its uploads were."""
    headers = {name.lower(): value for name, value in asked.headers.items()}
    if asked.form is not None or asked.files:
        file = sounds[asked.files["file"]] if "file" in asked.files else None
        return from_form(asked.path, headers, asked.form or {}, file)
    if asked.path.startswith(FORMS) and asked.method == "POST":
        return Wanted("POST", asked.path, headers, problem=NO_FORM)
    if asked.text is not None:
        return from_json(asked.method, asked.path, headers, asked.text)
    if asked.json is None:
        return from_json(asked.method, asked.path, headers, "")
    headers.setdefault("content-type", "application/json")
    return from_json(asked.method, asked.path, headers, json.dumps(asked.json))
