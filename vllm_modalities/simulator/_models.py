"""The facts of a model and its server that an answer may depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Model:
    """What a simulated or a recorded server serves, and how it was started.

    Attributes:
        name: As requests call it.
        width: Of its vectors.
        context: Tokens that it reads.
        matryoshka: Sizes that it shortens to: True is any, False none, a tuple those.
        prompts: The values of `input_type` that it knows.
        languages: Codes that it hears; None where that is not known.
        labels: Of its classes.
        templated: Whether it has a chat template.
        splits: Whether its server splits what is longer than `context`.
        api_key: What `/v1` asks for as a bearer token.
        request_ids: Whether answers carry `X-Request-Id`.
    """

    name: str
    width: int = 384
    context: int = 256
    matryoshka: bool | tuple[int, ...] = False
    prompts: tuple[str, ...] = ()
    languages: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ("negative", "neutral", "positive")
    templated: bool = False
    splits: bool = False
    api_key: str | None = None
    request_ids: bool = False


FACTS: Mapping[str, Mapping[str, object]] = {
    "embed": {},
    "embed-matryoshka": {
        "matryoshka": True,
        "splits": True,
        "api_key": "rig-key",
        "request_ids": True,
    },
    "qwen3-embed": {"templated": True, "prompts": ("document", "query")},
    "rerank": {"labels": ("relevance",)},
    "classify": {},
    "late-interaction": {},
    "transcribe": {},
    "ocr": {},
}
"""How the servers were started that were recorded; numbers are read from their answers."""

POOLS: Mapping[str, tuple[str, ...]] = {
    "embed": ("embed", "embed-matryoshka", "qwen3-embed"),
}
"""Servers whose models do the same and differ by facts alone, so that one speaks for the other."""
