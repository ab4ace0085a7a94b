"""The traits of a request: the words under which its like is found among the recordings.

A recorded and a new request are described by the same rules, so whatever was recorded is evidence
for each request that shares its traits. Nothing here knows a release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._contents import TEXTS, are_objects, of_file, of_lengths, of_messages
from ._models import Model
from ._values import RULES, WHOLE, WORDS, is_default, item_kind, kind, whole
from ._wanted import FORMS, Wanted

REQUIRED = {
    "/v1/embeddings": ("input", "messages"),
    "/v2/embed": ("texts", "inputs", "images"),
    "/pooling": ("input", "messages", "data"),
    "/classify": ("input", "messages"),
    "/tokenize": ("prompt", "messages"),
    "/detokenize": ("tokens",),
    "/v1/chat/completions": ("messages",),
}
"""Fields of which a request has at least one."""


def traits(wanted: Wanted, model: Model) -> frozenset[str]:
    """What sets a request apart from the plainest one that its route takes."""
    return frozenset(_traits(wanted, model))


def _traits(wanted: Wanted, model: Model) -> Iterator[str]:
    if not _has_key(wanted, model):
        yield f"no key on {wanted.path}"
    if wanted.problem or (model.hides_routes and wanted.path == "/openapi.json"):
        yield wanted.problem or "routes are hidden"
        return
    if "x-request-id" in wanted.headers:
        yield "X-Request-Id"
    for name, value in wanted.fields.items():
        if name == "model":
            if value != model.name:
                yield "model: unknown" if value else "model: empty"
        elif not is_default(name, value):
            yield from _field(name, value, model, wanted.fields)
    if wanted.method == "POST":
        yield from _required(wanted)
        yield from of_lengths(wanted, model)
        yield from _bits(wanted.fields, model)
        if wanted.path.startswith(FORMS):
            yield from of_file(wanted)


def _has_key(wanted: Wanted, model: Model) -> bool:
    kind, _, key = wanted.headers.get("authorization", "").partition(" ")
    return model.api_key is None or (kind.lower() == "bearer" and key == model.api_key)


def _field(name: str, value: Any, model: Model, fields: Mapping[str, Any]) -> Iterator[str]:
    if name.startswith("stream_") and fields.get("stream") is not True:
        yield f"{name}: {kind(value)}, without stream"
    elif name in RULES:
        yield f"{name}: {RULES[name](value, model)}"
    elif name == "messages" or (name in ("input", "inputs") and are_objects(value)):
        yield from (f"{name}: {word}" for word in of_messages(value, model))
    elif name == "vllm_xargs":
        yield from (f"{name}{word}" for word in _xargs(value))
    elif name in WORDS and value:
        for item in value if isinstance(value, list) else [value]:
            known = isinstance(item, str) and item in WORDS[name]
            yield f"{name}: {item if known else 'no word of its'}"
    elif name in TEXTS:
        yield f"{name}: {item_kind(value)}"
    elif name in WHOLE and (number := whole(value)) is not None:
        yield f"{name}: {kind(number)}, as text"
    elif name in WHOLE and isinstance(value, float):
        yield f"{name}: {'fraction' if value % 1 else 'float'}"
    else:
        yield f"{name}: {kind(value)}"


def _xargs(value: Any) -> Iterator[str]:
    """The arguments of a logits processor, which the server reads by their types."""
    if not isinstance(value, dict) or not value:
        yield f": {kind(value)}"
        return
    for key, item in value.items():
        yield f".{key}: {'float' if isinstance(item, float) else kind(item)}"


def _required(wanted: Wanted) -> Iterator[str]:
    """What is not there."""
    needed = REQUIRED.get(wanted.operation, ())
    if needed and not any(name in wanted.fields for name in needed):
        yield f"no {' or '.join(needed)}"
    if wanted.operation == "/v1/score":
        yield from _pairs(wanted.fields)
    if wanted.operation == "/v1/rerank":
        yield from (f"no {name}" for name in ("query", "documents") if name not in wanted.fields)


def _bits(fields: Mapping[str, Any], model: Model) -> Iterator[str]:
    """Whether the numbers of a vector, as bits, fill whole bytes."""
    kinds, size = fields.get("embedding_types"), fields.get("output_dimension", model.width)
    asked = isinstance(kinds, list) and ("binary" in kinds or "ubinary" in kinds)
    if asked and isinstance(size, int) and size % 8:
        yield "bits that fill no byte"


FIRSTS, SECONDS = ("queries", "data_1", "text_1"), ("documents", "items", "data_2", "text_2")


def _pairs(fields: Mapping[str, Any]) -> Iterator[str]:
    """How many texts stand on either side of a score."""
    counts = []
    for names in (FIRSTS, SECONDS):
        value = next((fields[name] for name in names if name in fields), None)
        if value is None:
            yield f"no {' or '.join(names)}"
        counts.append(len(value) if isinstance(value, list) else 1)
    if counts[0] not in (1, counts[1]) and 0 not in counts:
        yield "pairs that do not match"
