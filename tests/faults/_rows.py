"""The endpoints, each in one row: how it is called, on which server.

`realtime_transcription` has none: it talks while it listens, over a websocket, and is never sent
again. Its faults are in tests/unit/endpoints/test_realtime_transcription.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from _script import ASYNCIO, BLOCKING, Answer, FakeVLLM, SparseVLLM, Talker, vector_of
from PIL import Image

from vllm_modalities import (
    PoolingRequest,
    Response,
    ScoreRequest,
    TextStream,
    TokenizeRequest,
)

KINDS = (BLOCKING, ASYNCIO)
TEXTS = ["one", "two", "three", "four"]
SOUND = (np.sin(np.arange(1600) / 5).astype(np.float32), 16_000)
PAGE = Image.new("RGB", (40, 30), "white")


def as_it_is(result: Any) -> Any:
    return result


@dataclass(frozen=True)
class Row:
    """One way to call a client.

    Attributes:
        name: Its column.
        method, arguments, options: The call.
        server, kind: What its server is made with, and of.
        client: What its client is made with.
        read: What is compared of the result.
        checks: Whether the package looks into the answer.
        streams: Whether the results come one after another.
    """

    name: str
    method: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    client: Mapping[str, Any] = field(default_factory=dict)
    read: Callable[[Any], Any] = as_it_is
    checks: bool = True
    streams: bool = False
    kind: type[FakeVLLM] = FakeVLLM

    def vllm(self) -> FakeVLLM:
        return self.kind(**self.server)

    def answers(self) -> list[Answer]:
        """What its server answers, to a client that knows the server already: one of each path."""
        vllm = self.vllm()
        talker = Talker(BLOCKING, vllm, **self.client)
        for _ in range(2):
            known = len(vllm.posts)
            found = getattr(talker, self.method)(*self.arguments, **self.options)
            if self.streams or isinstance(found, TextStream):
                list(found)
        posts = {sent.path: sent for sent in vllm.posts[known:]}
        return [vllm.answer(sent) for sent in posts.values()]


def weight(word: str, width: int) -> np.ndarray:
    return abs(vector_of(word, width))


def sent(name: str, task: str, request: Any) -> Row:
    """`send`, which hands on the server's own answer."""
    server = {"task": task, "routes": type(request).PATHS}
    return Row(f"send({name})", "send", (request,), server=server, read=Response.json, checks=False)


WEIGHTS = {"routes": ("/pooling", "/tokenize", "/detokenize"), "vector": weight}
TOKENS = {"task": "late-interaction"}
READER = {"task": "chat", "model": "deepseek-ocr"}
ROWS = (
    Row("embed", "embed", (TEXTS,)),
    Row("embed, raw", "embed", (TEXTS,), client={"transport": "bytes"}),
    Row("embed, numbers", "embed", (TEXTS,), client={"transport": "float"}),
    Row("embed, /v2/embed", "embed", (TEXTS,), {"input_type": "q"}, {"prompts": {"q": "q: "}}),
    Row("embed_iter", "embed_iter", (TEXTS,), streams=True),
    Row("embed_tokens", "embed_tokens", (TEXTS,), server=TOKENS),
    Row("embed_tokens, numbers", "embed_tokens", (TEXTS,), {}, TOKENS, {"transport": "float"}),
    Row("embed_sparse", "embed_sparse", (TEXTS,), server=WEIGHTS, kind=SparseVLLM, read=list),
    Row("token_classify", "token_classify", (TEXTS,), server=WEIGHTS),
    Row("rerank", "rerank", ("one", TEXTS), server={"task": "cross-encoder"}),
    Row("score", "score", ("one", TEXTS), server={"task": "cross-encoder"}),
    Row("classify", "classify", (TEXTS,), server={"task": "cross-encoder"}),
    Row("transcribe", "transcribe", (SOUND,), server={"task": "speech"}),
    Row("stream_transcription", "stream_transcription", (SOUND,), server={"task": "speech"}),
    Row("translate", "translate", (SOUND,), server={"task": "speech"}),
    Row("ocr", "ocr", (PAGE,), server=READER),
    Row("ocr_iter", "ocr_iter", ([PAGE],), server=READER, streams=True),
    Row("tokenize", "tokenize", (TEXTS,), server={"task": "tokens"}, read=list),
    Row("detokenize", "detokenize", ([[97, 98], [99]],), server={"task": "tokens"}, read=list),
    sent("score", "cross-encoder", ScoreRequest(queries="one", documents=tuple(TEXTS))),
    sent("pooling", "late-interaction", PoolingRequest(input=tuple(TEXTS))),
    sent("tokenize", "tokens", TokenizeRequest(prompt="one two")),
)
