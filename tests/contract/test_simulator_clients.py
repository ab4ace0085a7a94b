"""Every method of both clients works on the simulator of every recorded release."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from contract.assets import ASSETS, page

from vllm_modalities import AsyncClient, Client, EmbeddingRequest
from vllm_modalities.simulator import Simulator, releases, simulate
from vllm_modalities.simulator._simulate import TASKS

# Some releases have defects that the client warns of.
pytestmark = pytest.mark.filterwarnings("ignore::vllm_modalities.ServerDefectWarning")

SERVERS = (*TASKS, "classify", "embed_tokens", "token_classify")
SOUND = ASSETS["museum.flac"]()
TEXTS = ["a cat", "trains to Berlin"]
WEIGHTS = np.float32([0.1, 0.3, 0.6, 0.2, 0.6]).tolist()  # a tenth for each letter of a word

CALLS: dict[str, Callable[[Any], Any]] = {
    "embed": lambda c: c.embed(TEXTS),
    "embed_iter": lambda c: c.embed_iter(TEXTS, batch_size=1),
    "embed_tokens": lambda c: c.embed_tokens(TEXTS),
    "token_classify": lambda c: c.token_classify(TEXTS),
    "embed_sparse": lambda c: c.embed_sparse(TEXTS),
    "rerank": lambda c: c.rerank("a cat", TEXTS, top_n=1, model="cross-encoder"),
    "score": lambda c: c.score("a cat", TEXTS),
    "classify": lambda c: c.classify(TEXTS, model="classifier"),
    "transcribe": lambda c: c.transcribe(SOUND, language="en"),
    "translate": lambda c: c.translate(SOUND, language="de"),
    "stream_transcription": lambda c: c.stream_transcription(SOUND, language="en"),
    "ocr": lambda c: c.ocr(page(), max_tokens=200),
    "ocr_iter": lambda c: c.ocr_iter([page(), page()], max_tokens=200),
    "tokenize": lambda c: c.tokenize(TEXTS, model="minilm"),
    "detokenize": lambda c: c.detokenize([101, 102], model="minilm"),
    "send": lambda c: c.send(EmbeddingRequest(model="minilm", input=("a cat",))),
    "servers": lambda c: c.servers(),
}

CHECKS: dict[str, Callable[[Any], bool]] = {
    "embed": lambda found: found.vectors.shape == (2, 384) and np.isfinite(found.vectors).all(),
    "embed_iter": lambda found: [len(batch) for batch in found] == [1, 1],
    "embed_tokens": lambda found: found.lengths.tolist() == [4, 5] and found.vectors.any(),
    "token_classify": lambda found: found.vectors.ravel().tolist() == WEIGHTS,
    "embed_sparse": lambda found: sorted(found.weights.tolist()) == sorted(WEIGHTS),
    "rerank": lambda found: [one.index for one in found] == [0],
    "score": lambda found: found.scores.argmax() == 0,
    "classify": lambda found: found.probs.shape == (2, 3),
    "transcribe": lambda found: found.text.startswith("This is a simulated transcript"),
    "translate": lambda found: found.text.startswith("This is a simulated transcript"),
    "stream_transcription": lambda found: "".join(found).startswith(
        "This is a simulated transcript"
    ),
    "ocr": lambda found: found.pages[0].finish_reason == "stop" and len(found.pages[0].blocks) == 3,
    "ocr_iter": lambda found: [(one.source, len(one.blocks)) for one in found] == [(0, 3), (1, 3)],
    "tokenize": lambda found: found.counts == (4, 5) and found.max_model_len > 0,
    "detokenize": lambda found: isinstance(found[0], str),
    "send": lambda found: found.status == 200,
    "servers": lambda found: len(found) == len(SERVERS) and all(server.healthy for server in found),
}
"""Whether what came back is what the simulator says."""

BESIDE = {"close", "with_options"}
"""Methods that ask no server for anything."""
WEBSOCKETS = {"realtime_transcription"}
"""Methods that talk while they listen, which the simulator does not; see tests/_realtime.py."""


@pytest.fixture(scope="module", params=releases(*SERVERS))
def servers(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    with simulate(version=request.param, tasks=SERVERS) as running:
        yield running


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Any], Any]]:
    with asyncio.Runner() as runner:

        async def awaited(call: Any) -> Any:
            return [one async for one in call] if hasattr(call, "__aiter__") else await call

        yield lambda call: runner.run(awaited(call))


def urls_of(servers: Simulator) -> object:
    """Before 0.21 a server does whatever its model can, which its routes do not tell."""
    told = servers.version != "0.20.2"
    named = {task: servers[task] for task in SERVERS}
    return servers.urls if told else {**named, "tokenize": servers["embed"]}


def test_every_method_has_a_call() -> None:
    methods = {name for name, _ in inspect.getmembers(Client, inspect.isfunction)}
    assert {
        name for name in methods if not name.startswith("_")
    } == CALLS.keys() | BESIDE | WEBSOCKETS
    assert CALLS.keys() == CHECKS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_method_of_the_client_works(servers: Simulator, name: str) -> None:
    with Client(urls_of(servers), max_retries=0) as client:
        assert CHECKS[name](CALLS[name](client))


@pytest.mark.parametrize("name", CALLS)
def test_the_same_method_of_the_async_client_works(
    servers: Simulator, run: Callable[[Any], Any], name: str
) -> None:
    client = AsyncClient(urls_of(servers), max_retries=0)
    try:
        assert CHECKS[name](run(CALLS[name](client)))
    finally:
        run(client.close())


RANKED: dict[str, Callable[[Any], Any]] = {
    "top_n": lambda c: c.rerank("a cat", TEXTS, top_n=2),
    "max_tokens_per_doc": lambda c: c.rerank("a cat", TEXTS, max_tokens_per_doc=9),
    "max_tokens_per_query": lambda c: c.rerank("a cat", TEXTS, max_tokens_per_query=9),
    "pairs": lambda c: c.score(TEXTS, TEXTS),
    "each with each": lambda c: c.score(TEXTS, TEXTS, pairs=False),
}


@pytest.mark.parametrize("name", RANKED)
@pytest.mark.parametrize("task", ["rerank", "embed"])
def test_whatever_ranks_is_asked_with_the_same_options(
    servers: Simulator, task: str, name: str
) -> None:
    url = servers[task]
    with Client({"rerank": url, "score": url}, max_retries=0) as client:
        assert len(RANKED[name](client)) == 2
