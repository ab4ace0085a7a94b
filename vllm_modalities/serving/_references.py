"""Sentences of which a model's cosines are known: whether it is served as it was trained."""

from __future__ import annotations

from dataclasses import dataclass

from ..profiles._shorthand import WEB_SEARCH


@dataclass(frozen=True, slots=True)
class Reference:
    """What a model's makers say of its vectors.

    Attributes:
        profile: The name of the model's profile.
        queries, documents: Texts as they are sent.
        cosines: Of each query with each document, by row.
        source: Where that is read.
    """

    profile: str
    queries: tuple[str, ...]
    documents: tuple[str, ...]
    cosines: tuple[tuple[float, ...], ...]
    source: str


QWEN = (
    tuple(
        f"Instruct: {WEB_SEARCH}\nQuery:{query}"
        for query in ("What is the capital of China?", "Explain gravity")
    ),
    (
        "The capital of China is Beijing.",
        "Gravity is a force that attracts two bodies towards each other. It gives weight to"
        " physical objects and is responsible for the movement of planets around the sun.",
    ),
)
WEATHER = (
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
)

REFERENCES: tuple[Reference, ...] = (
    Reference(
        "all-MiniLM-L6-v2",
        WEATHER,
        WEATHER,
        ((1.0, 0.6660, 0.1046), (0.6660, 1.0, 0.1411), (0.1046, 0.1411, 1.0)),
        "https://sbert.net, quickstart",
    ),
    Reference(
        "bge-m3",
        ("What is BGE M3?", "Defination of BM25"),
        (
            "BGE M3 is an embedding model supporting dense retrieval, lexical matching and"
            " multi-vector interaction.",
            "BM25 is a bag-of-words retrieval function that ranks a set of documents based on the"
            " query terms appearing in each document",
        ),
        ((0.6265, 0.3477), (0.3499, 0.678)),
        "card: BAAI/bge-m3",
    ),
    *(
        Reference(f"Qwen3-Embedding-{size}", *QWEN, cosines, f"card: Qwen/Qwen3-Embedding-{size}")
        for size, cosines in (
            ("0.6B", ((0.7646, 0.1414), (0.1355, 0.6000))),
            ("4B", ((0.7534, 0.1147), (0.0320, 0.6258))),
            ("8B", ((0.7493, 0.0751), (0.0880, 0.6318))),
        )
    ),
)
