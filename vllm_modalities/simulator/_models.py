"""The facts of a model and its server that an answer may depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ._wanted import Sound


@dataclass(frozen=True, slots=True)
class Model:
    """What a simulated or a recorded server serves, and how it was started.

    Attributes:
        name: As requests call it.
        width: Of its vectors.
        context: Tokens that it reads.
        matryoshka: Whether it can shorten its vectors.
        prompts: The values of `input_type` that it knows.
        languages: Codes that it hears; None where that is not known.
        labels: Of its classes.
        images: That it takes in one conversation.
        templated: Whether it has a chat template.
        splits: Whether its server splits what is longer than `context`.
        api_key: What `/v1` asks for as a bearer token.
        request_ids: Whether answers carry `X-Request-Id`.
        hides_routes: Whether there is no `/openapi.json`.
    """

    name: str
    width: int = 384
    context: int = 256
    matryoshka: bool = False
    prompts: tuple[str, ...] = ()
    languages: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ("negative", "neutral", "positive")
    images: int = 2
    templated: bool = False
    splits: bool = False
    api_key: str | None = None
    request_ids: bool = False
    hides_routes: bool = False


FACTS: Mapping[str, Mapping[str, object]] = {
    "embed": {},
    "embed-matryoshka": {
        "matryoshka": True,
        "splits": True,
        "api_key": "rig-key",
        "request_ids": True,
        "hides_routes": True,
    },
    "qwen3-embed": {"templated": True, "prompts": ("document", "query")},
    "rerank": {"labels": ("relevance",)},
    "classify": {},
    "late-interaction": {},
    "token-classify": {},
    "transcribe": {},
    "ocr": {},
}
"""How the servers were started that were recorded; numbers are read from their answers."""

DENSE = frozenset({"embed", "embed-matryoshka", "qwen3-embed"})
"""Servers that do the same and differ by facts alone, so that one speaks for the others."""


def like(server: str) -> frozenset[str]:
    """The kinds of server that speak for this kind."""
    return DENSE if server in DENSE else frozenset({server})


SOUNDS: Mapping[str, Sound] = {
    name: Sound(name, size, seconds)
    for name, size, seconds in (
        ("museum.flac", 57_818, 3.3081875),
        ("museum.wav", 105_906, 3.3081875),
        ("museum.mp3", 21_348, 3.3081875),
        ("museum.ogg", 18_364, 3.3081875),
        ("berlin.flac", 63_321, 3.8275),
        ("twice-34s.flac", 116_594, 33.8081875),
        ("twice-29s.flac", 116_417, 29.2081875),
        ("silence-601s.flac", 1_871, 601.0),
        ("zeros-26MiB.wav", 26 * 2**20, None),
        ("text.wav", 20, None),
        ("header.wav", 44, 0.0),
        ("empty.wav", 0, None),
    )
}
"""The uploads of recorded requests: bytes and seconds."""
