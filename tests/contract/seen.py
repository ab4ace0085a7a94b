"""What is looked at in an answer: each gives a few words that say the same of equal answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vllm_modalities.simulator._recordings import Answer, Asked

HTTP_ONLY = {"transfer-encoding"}
"""Headers that are about the bytes on the wire."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer, recorded or live, with the request that it is for."""

    asked: Asked
    status: int
    headers: Mapping[str, str]
    content: bytes

    @classmethod
    def of(cls, asked: Asked, answer: Answer) -> Seen:
        return cls(asked, answer.status, answer.headers, answer.content)

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    def trouble(self) -> str | None:
        """The status and the kind of an error, also of one inside a stream; None if all is well."""
        if self.status == 0:
            return "no answer"
        if self.status >= 400:
            return f"{self.status} {_kind(self.content)}".strip()
        inside = [event for event in self.events() if "error" in event]
        return f"200, then {_kind(json.dumps(inside[0]).encode())}" if inside else None

    def events(self) -> list[Any]:
        """What a stream of server-sent events says, without its end."""
        if "event-stream" not in self.headers.get("content-type", ""):
            return []
        lines = self.content.decode().split("\n")
        said = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        return [json.loads(line) for line in said if line != "[DONE]"]


Observe = Callable[[Seen], str]


def _kind(content: bytes) -> str:
    try:
        body = json.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace")[:40]
    error = body.get("error", body.get("detail")) if isinstance(body, dict) else body
    return str(error["type"] if isinstance(error, dict) else error)


def answered(seen: Seen) -> str:
    return str(seen.status)


TYPES = {"float16": "f2", "bfloat16": "u2", "fp8_e4m3": "u1", "fp8_e5m2": "u1"}


def numbers(raw: bytes, wire: Mapping[str, Any]) -> np.ndarray:
    """The numbers of a binary vector; those of 8 bits as they stand."""
    kind = wire.get("embed_dtype", "float32")
    order = ">" if wire.get("endianness") == "big" else "<"
    found = np.frombuffer(raw, order + TYPES.get(kind, "f4"))
    if kind == "bfloat16":
        return (found.astype("u4") << 16).view("f4")
    return found.astype("f4")


def vectors_of(seen: Seen) -> list[np.ndarray]:
    """All vectors of an answer of any route in any wire format; token vectors as matrices."""
    wire = seen.asked.json
    if "octet-stream" in seen.headers.get("content-type", ""):
        flat = numbers(seen.content, wire)
        if "metadata" not in seen.headers:
            return [flat]
        size = len(seen.content) // len(flat)
        rows = json.loads(seen.headers["metadata"])["data"]
        return [flat[r["start"] // size : r["end"] // size].reshape(r["shape"]) for r in rows]
    body = seen.json
    if "embeddings" in body:
        kind, found = next(iter(body["embeddings"].items()))
    else:
        kind = wire.get("encoding_format", "float")
        found = [row["embedding"] if "embedding" in row else row["data"] for row in body["data"]]
    if kind == "base64":
        return [numbers(base64.b64decode(one), wire) for one in found]
    return [np.array(one, "f4") for one in found]


def vectors(seen: Seen) -> str:
    """How many vectors, how wide, and how long the first is: "2 of 384, norm 1.00"."""
    found = vectors_of(seen)
    first = found[0]
    shape = "×".join(map(str, first.shape))
    norm = np.linalg.norm(first, axis=-1).ravel()[0]
    says = f"{len(found)} of " if len(found) > 1 else ""
    small = seen.asked.json.get("embed_dtype", "").startswith("fp8")
    return f"{says}{shape}" + ("" if small else f", norm {norm:.2f}")


def lone(seen: Seen) -> str:
    """Bytes without a word of how they are to be read."""
    return f"{len(seen.content)} bytes, {'with' if 'metadata' in seen.headers else 'no'} metadata"


def kinds(seen: Seen) -> str:
    """The kinds of vector in an answer of /v2/embed, and how long each is."""
    return ", ".join(f"{k} {len(rows[0])}" for k, rows in sorted(seen.json["embeddings"].items()))


def _usage(body: Any) -> int:
    if "meta" in body:
        units = body["meta"]["billed_units"]
        return int(units.get("input_tokens") or units.get("image_tokens") or 0)
    return int(body["usage"]["prompt_tokens"])


def tokens(seen: Seen) -> str:
    """The tokens that were read."""
    return f"{_usage(seen.json)} tokens"


def identity(seen: Seen) -> str:
    """Whether the id that was given comes back in the answer's own."""
    return "id used" if seen.json["id"].endswith("-given") else "id ignored"


def header(name: str) -> Observe:
    def observed(seen: Seen) -> str:
        return f"{name}: {seen.headers[name]}" if name in seen.headers else f"no {name}"

    return observed


def order(seen: Seen) -> str:
    """The ranking by position, best first."""
    return "order " + " ".join(str(found["index"]) for found in seen.json["results"])


def results(seen: Seen) -> str:
    return f"{len(seen.json['results'])} results"


def relevance(seen: Seen) -> str:
    """The best score."""
    return f"best {seen.json['results'][0]['relevance_score']:.2f}"


def scores(seen: Seen) -> str:
    return "scores " + " ".join(f"{row['score']:.2f}" for row in seen.json["data"])


def classes(seen: Seen) -> str:
    """Label and numbers of the first text."""
    row = seen.json["data"][0]
    many = f"{len(seen.json['data'])} of " if len(seen.json["data"]) > 1 else ""
    return f"{many}{row['label']} " + " ".join(f"{number:.2f}" for number in row["probs"])


def ids(seen: Seen) -> str:
    return f"{seen.json['count']} ids"


def strings(seen: Seen) -> str:
    return " ".join(seen.json["token_strs"])


def prompt(seen: Seen) -> str:
    return f"“{seen.json['prompt']}”"


def _pieces(seen: Seen) -> Iterator[str]:
    for event in seen.events():
        for choice in event["choices"]:
            yield choice["delta"].get("content") or ""


def text(seen: Seen) -> str:
    """What was heard, or written, whole or streamed."""
    body = seen.events() or seen.json
    said = "".join(_pieces(seen)) if isinstance(body, list) else _said(body)
    said = " ".join(said.split())
    return f"“{said if len(said) <= 60 else said[:57] + '…'}”"


def _said(body: Any) -> str:
    return str(body["text"] if "text" in body else body["choices"][0]["message"]["content"])


def members(seen: Seen) -> str:
    """The names in the answer."""
    return ", ".join(sorted(name for name, value in seen.json.items() if value is not None))


def duration(seen: Seen) -> str:
    """The kind of number in `duration`: text before 0.27.0."""
    found = seen.json["duration"]
    return f"duration {found!r}"


def last_start(seen: Seen) -> str:
    """When the last timed segment begins."""
    return f"last segment at {float(seen.json['segments'][-1]['start']):.1f} s"


def stream(seen: Seen) -> str:
    """How often a stream says that a part has ended, and whether it counts tokens."""
    ends = [c for event in seen.events() for c in event["choices"] if c.get("finish_reason")]
    usage = any(event.get("usage") for event in seen.events())
    return f"{len(ends)} × finish_reason{', usage' if usage else ''}"


def finish(seen: Seen) -> str:
    """Why the model ended."""
    return f"ends by {seen.json['choices'][0]['finish_reason']}"


def version(seen: Seen) -> str:
    return "its own number" if seen.json["version"][0].isdigit() else "no number"


def served(seen: Seen) -> str:
    (model,) = seen.json["data"]
    return f"{model['id']}, reads {model['max_model_len']}"


def routes(seen: Seen) -> str:
    """Those of the routes that tell what a server does."""
    telling = (
        *("/v1/embeddings", "/v2/embed", "/pooling", "/classify", "/v1/rerank", "/v1/score"),
        *("/v1/audio/transcriptions", "/v1/audio/translations", "/v1/chat/completions"),
    )
    return " ".join(route for route in telling if route in seen.json["paths"])


def sentences(seen: Seen) -> str:
    """How many sentences were heard."""
    count = _said(seen.json).count(".")
    return f"{count} sentence{'s' if count != 1 else ''}"
