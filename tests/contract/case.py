"""`Case`: one request that every release is sent, as it is and through the client."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from contract.assets import ASSETS, seconds
from contract.seen import Observe, Seen, answered

import vllm_modalities.client  # defines the request models
from vllm_modalities._wire import TASKS, RequestModel
from vllm_modalities.simulator._recordings import Asked

RIG = {
    "embed": "embed",
    "embed-matryoshka": "embed-matryoshka",
    "rerank": "rerank",
    "classify": "classify",
    "late-interaction": "late-interaction",
    "token-classify": "token-classify",
    "qwen3-embed": "qwen3-embed",
    "transcribe": "whisper-base",
    "ocr": "deepseek-ocr",
}
"""The kinds of server, and what the rig calls them."""

KEY = "rig-key"
"""What "embed-matryoshka" asks for, as the rig starts it."""

AUTHORIZED = {"Authorization": f"Bearer {KEY}"}

Call = Callable[[Any], Any]
"""What a `Client` or an `AsyncClient` is asked to do; the latter gives a coroutine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One request, what to look at in its answer, and what the client makes of it.

    Attributes:
        name: What it is about; one of its server's.
        server: A key of `RIG`.
        asked: The request as it goes on the wire.
        call: The same thing through the client; None where the client never sends it.
        gates: For each row of the table that it shows, by code: what is observed, as a pattern,
            on the releases that the row is about. On others something else is.
        ignored: Whether a server that answers 200 does not do what was asked, on any release.
        observe: What to look at in an answer with status 200.
    """

    name: str
    server: str
    asked: Asked
    call: Call | None = None
    gates: Mapping[str, str] = field(default_factory=dict)
    ignored: bool = False
    observe: Observe = answered

    def __str__(self) -> str:
        return f"{self.server}: {self.name}"

    def observed(self, seen: Seen) -> str:
        """A few words for the whole answer."""
        return seen.trouble() or self.observe(seen)


def sends(kind: type[RequestModel], fields: Mapping[str, Any], **beside: Any) -> Call:
    """`client.send` of these fields; those that the model does not know go as `extra_body`."""
    known = {name: fields[name] for name in fields if name in kind.model_fields}
    extra = {name: fields[name] for name in fields if name not in kind.model_fields}
    return lambda client: client.send(kind(**known, **beside, extra_body=extra or None))


def kind_of(path: str) -> type[RequestModel] | None:
    """The public request model whose first route this is, not one that is made from it."""
    kinds = (kind for kinds in TASKS.values() for kind in kinds)
    found = [
        kind for kind in kinds if kind.PATHS[0] == path and kind.__name__ in vllm_modalities.__all__
    ]
    return min(found, key=lambda kind: len(kind.__mro__), default=None)


SAME: Any = object()
"""The call that is made from the request itself."""


def post(
    server: str,
    path: str,
    name: str,
    fields: Any,
    *,
    headers: Mapping[str, str] | None = None,
    call: Call | None = SAME,
    observe: Observe = answered,
    gates: Mapping[str, str] | None = None,
    ignored: bool = False,
) -> Case:
    """A request with a JSON body; unless told otherwise the client sends the same fields."""
    if call is SAME:
        kind = kind_of(path)
        own = headers is None or headers == AUTHORIZED  # others are not the client's own
        call = sends(kind, fields) if kind is not None and own else None
    return Case(
        name=name,
        server=server,
        asked=Asked("POST", path, headers=headers or {}, json=fields),
        call=call,
        gates=gates or {},
        ignored=ignored,
        observe=observe,
    )


def upload(
    path: str,
    name: str,
    fields: Mapping[str, Any],
    *,
    file: str = "museum.flac",
    call: Call | None = SAME,
    observe: Observe = answered,
    gates: Mapping[str, str] | None = None,
    ignored: bool = False,
) -> Case:
    """A multipart form with a recording, for the server "transcribe"."""
    kind = kind_of(path)
    if call is SAME and kind is not None:
        content, duration = ASSETS[file], seconds(file)

        def call(client: Any) -> Any:  # the recording is made when it is first sent
            return sends(kind, fields, file=content(), duration=duration)(client)

    return Case(
        name=name,
        server="transcribe",
        asked=Asked(
            "POST",
            path,
            form={field: _part(value) for field, value in fields.items()},
            files={"file": file},
        ),
        call=call,
        gates=gates or {},
        ignored=ignored,
        observe=observe,
    )


def _part(value: Any) -> str | list[str]:
    """A field of a form: what is no text is written as in JSON, but a list is sent repeatedly."""
    if isinstance(value, list):
        return [_text(item) for item in value]
    return _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def get(
    server: str,
    path: str,
    name: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    text: str | None = None,
    observe: Observe = answered,
) -> Case:
    """A request that the client makes by itself, or never makes."""
    asked = Asked(method, path, headers=headers or {}, text=text)
    return Case(name=name, server=server, asked=asked, observe=observe)
