"""`CASES`: every request that real servers of every release are sent, in one table."""

from __future__ import annotations

from contract import seen
from contract.case import AUTHORIZED, RIG, Case, get
from contract.of_embeddings import EMBEDDING_CASES
from contract.of_pages import PAGE_CASES
from contract.of_pooling import POOLING_CASES
from contract.of_ranking import RANKING_CASES
from contract.of_speech import SPEECH_CASES


def about(server: str) -> list[Case]:
    """What every server is asked of itself."""
    key = AUTHORIZED if server == "embed-matryoshka" else {}
    return [
        get(server, "/version", "its release", headers=key, observe=seen.version),
        get(server, "/v1/models", "its models", headers=key, observe=seen.served),
        get(server, "/openapi.json", "its routes", headers=key, observe=seen.routes),
        get(server, "/health", "its health", headers=key),
    ]


KEYLESS = [
    get("embed-matryoshka", path, f"{path} without the key")
    for path in ("/version", "/v1/models", "/health")
]

CASES: list[Case] = [
    *(case for server in RIG for case in about(server)),
    *KEYLESS,
    *EMBEDDING_CASES,
    *POOLING_CASES,
    *RANKING_CASES,
    *SPEECH_CASES,
    *PAGE_CASES,
]


def of(server: str) -> list[Case]:
    """The cases of one kind of server."""
    return [case for case in CASES if case.server == server]


# Its Python files, on the kernels of 0.32.0, are seen in tests/unit/endpoints.
NO_033 = "0.33.0 has no build for CPUs"
UNSEEN = {
    "cohere-embed-route": "before 0.20.0 only",
    "embeddings-salt-of-chunks": "whether a salt was lost cannot be told from an answer",
    "late-chunking-dropped": "before 0.33.0 no release has a field of that name",
    "late-chunking-whole-text": NO_033,
    "media-io-kwargs-cache": "wants a server that takes media_io_kwargs and caches pictures",
    "ocr-gibberish": "before 0.20.0 only, and random weights read gibberish anyway",
    "pooling-last-token-chunks": "not on a CPU: seen neither on 0.25.1 nor on 0.26.0",
    "pooling-task-both-new": "wants a model that does both tasks",
    "pooling-task-both-old": "before 0.20.0 only",
    "ranking-deaf-to-instruction": "wants a reranker with a template",
    "ranking-max-tokens-scores": "wants a reranker made of a language model",
    "ranking-templates": NO_033,
    "realtime-key": "before 0.20.0 only",
    "realtime-left": "no answer tells what stays in the engine",
    "realtime-one-token": "before 0.20.0 only",
    "speech-hotwords": "before 0.20.0 only",
    "speech-language-assumed": "wants a model that assumes a language",
    "speech-language-english": "before 0.20.0 only",
    "speech-language-ignored": "wants Qwen3-ASR",
    "speech-prompt-dropped": "wants Qwen3-ASR",
    "token-embeddings-dimensions": NO_033,
    "token-embeddings-float": NO_033,
    "token-embeddings-messages": NO_033,
    "token-embeddings-route": NO_033,
}
"""The rows that none of these servers can show, and why."""
