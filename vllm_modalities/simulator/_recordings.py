"""Recordings: what real servers of each release answered to the same requests.

One JSON file a kind of server. It holds every request once, and every distinct answer once, with
the releases that gave it, one answer a line: a difference between two releases is a difference
between two lines.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.version import Version

FOLDER = Path(__file__).parent / "recordings"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as it went on the wire; at most one of `json`, `form` and `text` is given.

    Attributes:
        method, path: As in HTTP.
        headers: Beside those that every HTTP library sends.
        json: The body as JSON.
        form: The fields of a multipart body; a list is a field that is sent several times.
        files: Its files, by field: the name of an asset, which tests and simulator can make.
        text: A body that is not what the server asks for, such as broken JSON.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    form: Mapping[str, str | list[str]] | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and from which releases.

    Attributes:
        releases: Those that gave this answer, oldest first.
        status: The HTTP status; 0 where none came within the time that was given.
        headers: The few that clients read, by lower-case name.
        body: JSON, a text that is no JSON, or bytes that are no text.
    """

    releases: tuple[str, ...]
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None

    @property
    def content(self) -> bytes:
        """The body as bytes. JSON is written anew, without blanks, with the same numbers."""
        if isinstance(self.body, bytes):
            return self.body
        if "json" in self.headers.get("content-type", ""):
            return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode()
        return (self.body or "").encode()


@dataclass(frozen=True, slots=True)
class Case:
    """A request, and the distinct answers of the releases that were asked, oldest first."""

    asked: Asked
    answers: tuple[Answer, ...]

    def of(self, release: str) -> Answer | None:
        """What that release answered; None where it was not asked."""
        return next((one for one in self.answers if release in one.releases), None)


@dataclass(frozen=True, slots=True)
class Recordings:
    """What one kind of server answered.

    Attributes:
        server: The kind: "embed", "rerank", "classify", "late-interaction", "token-classify",
            "qwen3-embed", "transcribe" or "ocr".
        model: The name under which its model is served.
        recorded: The day of the recording by release, oldest release first: "2026-11-29".
        cases: By name, which says what the case is about.
    """

    server: str
    model: str
    recorded: Mapping[str, str]
    cases: Mapping[str, Case]


def servers() -> list[str]:
    """The kinds of server of which there are recordings."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(server: str, folder: Path = FOLDER) -> Recordings:
    """What was recorded of a kind of server; a FileNotFoundError if nothing was."""
    read = json.loads((folder / f"{server}.json").read_text("utf-8"))
    cases = {
        name: Case(Asked(**case["asked"]), tuple(map(_answer, case["answers"])))
        for name, case in read["cases"].items()
    }
    return Recordings(read["server"], read["model"], read["recorded"], cases)


def _answer(read: dict[str, Any]) -> Answer:
    encoded = read.pop("base64", None)
    body = read.pop("body", None) if encoded is None else base64.b64decode(encoded)
    return Answer(tuple(read.pop("releases")), body=body, **read)


def save(recordings: Recordings, folder: Path = FOLDER) -> Path:
    """Write the file of that kind of server; the same recordings give the same bytes."""
    cases = ",\n".join(
        f"  {_line(name)}: {{\n"
        f'   "asked": {_line(_given(case.asked))},\n'
        f'   "answers": [\n{answers}\n   ]\n  }}'
        for name, case in sorted(recordings.cases.items())
        for answers in [",\n".join(f"    {_line(_written(one))}" for one in case.answers)]
    )
    path = folder / f"{recordings.server}.json"
    path.write_text(
        f'{{\n "server": {_line(recordings.server)},\n "model": {_line(recordings.model)},\n'
        f' "recorded": {_line(_by_release(recordings.recorded))},\n'
        f' "cases": {{\n{cases}\n }}\n}}\n',
        "utf-8",
        newline="\n",
    )
    return path


def _by_release(recorded: Mapping[str, str]) -> dict[str, str]:
    return {release: recorded[release] for release in sorted(recorded, key=Version)}


def _written(answer: Answer) -> dict[str, Any]:
    fields = {"releases": sorted(answer.releases, key=Version), "status": answer.status}
    if answer.headers:
        fields["headers"] = dict(sorted(answer.headers.items()))
    if isinstance(answer.body, bytes):
        return fields | {"base64": base64.b64encode(answer.body).decode()}
    return fields | ({} if answer.body is None else {"body": answer.body})


def _given(asked: Asked) -> dict[str, Any]:
    fields = {name: getattr(asked, name) for name in Asked.__slots__}
    return {name: value for name, value in fields.items() if value not in (None, {})}


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
