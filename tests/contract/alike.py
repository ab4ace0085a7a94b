"""Whether two answers say the same: up to ids, times, and the last digits of numbers."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from contract.seen import Seen, numbers

from vllm_modalities.simulator._recordings import Answer, Asked

TIMES = {"created", "created_at"}
IDS = re.compile("[0-9a-f]{16,}")  # as servers make them up
ABOUT = {"rtol": 1e-2, "atol": 3e-3}  # kernels of two releases, or batches of two sizes


DECIMAL = re.compile(r"(?<![\d.])(-?\d+\.\d+)(?![\d.])")  # not the number of a release


def same_words(one: str, other: str) -> bool:
    """Whether two observations say the same, decimals about so: 7.75 may be written 7.7 or 7.8."""
    ours, theirs = DECIMAL.split(one), DECIMAL.split(other)
    if len(ours) != len(theirs) or ours[::2] != theirs[::2]:
        return False
    pairs = zip(ours[1::2], theirs[1::2], strict=True)
    return all(np.isclose(float(a), float(b), rtol=1e-2, atol=0.011) for a, b in pairs)


def alike(asked: Asked, one: Answer, other: Answer) -> bool:
    if (one.status, one.headers.keys()) != (other.status, other.headers.keys()):
        return False
    wire = asked.json if isinstance(asked.json, Mapping) else {}
    headers = ({**answer.headers} for answer in (one, other))
    ours, theirs = (
        {name: _read(value) if name == "metadata" else value for name, value in each.items()}
        for each in headers
    )
    return near(ours, theirs, wire) and near(_body(asked, one), _body(asked, other), wire)


def _read(value: str) -> Any:
    return json.loads(value)


def _body(asked: Asked, answer: Answer) -> Any:
    return Seen.of(asked, answer).events() or answer.body


def near(one: Any, other: Any, wire: Mapping[str, Any]) -> bool:
    """Whether two values are the same, numbers about so; times and made-up ids don't count."""
    match one, other:
        case dict(), dict():
            ours, theirs = (each.keys() - TIMES for each in (one, other))
            return ours == theirs and all(near(one[name], other[name], wire) for name in ours)
        case list(), list():
            pairs = zip(one, other, strict=False)
            return len(one) == len(other) and all(near(*pair, wire) for pair in pairs)
        case float(), float():
            return bool(np.isclose(one, other, **ABOUT))
        case bytes(), bytes():
            return len(one) == len(other) and _close(one, other, wire)
        case str(), str():
            return IDS.sub("", one) == IDS.sub("", other) or _close_texts(one, other, wire)
        case _:
            return bool(one == other)


def _close(one: bytes, other: bytes, wire: Mapping[str, Any]) -> bool:
    ours, theirs = numbers(one, wire), numbers(other, wire)
    if str(wire.get("embed_dtype", "")).startswith("fp8"):  # as they stand: few may differ
        return bool(np.mean(ours != theirs) < 0.05)
    return bool(np.allclose(ours, theirs, **ABOUT))


def _close_texts(one: str, other: str, wire: Mapping[str, Any]) -> bool:
    """Whether both are base64 of vectors that are close."""
    if len(one) != len(other) or len(one) < 32:
        return False
    try:
        pair = [base64.b64decode(text, validate=True) for text in (one, other)]
        return _close(*pair, wire)
    except (binascii.Error, ValueError):
        return False
