"""Which fields had an effect in the recorded answers, so that they have one here, or none."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._evidence import Seen, Taken


def rows(seen: Seen) -> list[Any]:
    """The vectors of a recorded answer; none where they are written in fewer than 16 bits."""
    body, fields = seen.answer.body, seen.wanted.fields
    kind = {"float32": "<f4", "float16": "<f2"}.get(fields.get("embed_dtype") or "float32")
    if kind is None or fields.get("endianness") == "big":
        return []
    if isinstance(body, bytes):
        told = json.loads(seen.answer.headers.get("metadata", '{"data": []}'))["data"]
        return [np.frombuffer(body[row["start"] : row["end"]], kind) for row in told]
    if "embeddings" in body:
        found = body["embeddings"].get("float") or body["embeddings"].get("base64") or []
    else:
        found = [row.get("embedding", row.get("data")) for row in body["data"]]
    return [np.frombuffer(base64.b64decode(r), kind) if isinstance(r, str) else r for r in found]


def length(taken: Taken) -> float:
    """The length of vectors: 1 unless a recorded request that shares a trait shows another."""
    for seen in taken.shown.values():
        if seen.wanted.operation in ("/v1/embeddings", "/v2/embed", "/pooling"):
            for row in rows(seen)[:1]:
                found = float(np.linalg.norm(row)) if np.ndim(row) == 1 else 1.0
                if abs(found - 1) > 0.005:
                    return found
    return 1.0


def _shortened(seen: Seen, name: str) -> bool:
    asked, body = int(seen.wanted.fields[name]), seen.answer.body
    if isinstance(body, Mapping) and "embeddings" in body:
        kinds = body["embeddings"]
        bits = {"binary": 8, "ubinary": 8}
        return any(len(kinds[k][0]) * bits[k] == asked for k in kinds.keys() & bits) or any(
            len(row) == asked for row in rows(seen)
        )
    return any(len(row) == asked for row in rows(seen))


def _cut_off(seen: Seen, name: str) -> bool:
    return len(seen.answer.body["results"]) == max(int(seen.wanted.fields[name] or 0), 0)


def _named(seen: Seen, name: str) -> bool:
    body = seen.answer.body
    given = seen.wanted.headers.get(name.lower()) or seen.wanted.fields.get(name)
    return isinstance(body, Mapping) and str(body.get("id", "")).endswith(f"-{given}")


EFFECTS: Mapping[str, Callable[[Seen, str], bool]] = {
    "dimensions": _shortened,
    "output_dimension": _shortened,
    "top_n": _cut_off,
    "request_id": _named,
    "X-Request-Id": _named,
}


def without_effect(taken: Taken) -> frozenset[str]:
    """The fields that a release takes and does not heed."""
    return frozenset(
        name
        for trait, seen in taken.shown.items()
        for name in [trait.partition(":")[0]]
        if name in EFFECTS and not EFFECTS[name](seen, name)
    )
