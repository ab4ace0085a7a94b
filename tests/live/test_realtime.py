"""Sessions on `/v1/realtime`: the weights are random, but vLLM's own code takes the sound."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import anyio
import numpy as np
import pytest

from vllm_modalities import AsyncClient, Client, UnsupportedTaskError
from vllm_modalities._rig import Rig

pytestmark = pytest.mark.servers("realtime")
NOISE = np.random.default_rng(0).normal(0, 0.1, 12 * 16_000).astype(np.float32)
STRETCH = 5.0  # s that Qwen3-ASR hears at once


def url(servers: Rig) -> dict[str, str]:
    """A model that may be served either way, so that it must be said."""
    return {"realtime": servers["realtime"].base_url}


def test_both_clients_hear_the_same_words_while_the_sound_still_comes(servers: Rig) -> None:
    first = threading.Event()

    def blocks() -> Iterator[np.ndarray]:
        for number, block in enumerate(np.array_split(NOISE, 24)):
            if number == 2 * STRETCH + 2:
                assert first.wait(60)
            yield block

    with Client(url(servers)) as client:
        stream = client.realtime_transcription(blocks())
        texts = [next(stream)]
        first.set()
        texts += stream

    async def same() -> str:
        async with AsyncClient(url(servers)) as client:
            stream = client.realtime_transcription(blocks())
            async for _ in stream:
                pass
            return stream.result.text

    assert "".join(texts) == stream.result.text != ""
    assert (stream.result.duration, stream.result.warnings) == (12.0, ())
    assert anyio.run(same) == stream.result.text


def test_a_session_that_is_left_leaves_the_server_free(servers: Rig) -> None:
    over = threading.Event()

    def blocks() -> Iterator[np.ndarray]:
        yield NOISE
        over.wait(60)

    with Client(url(servers)) as client:
        for _ in range(6):  # and four are heard at once
            with client.realtime_transcription(blocks()) as texts:
                next(texts)
        assert list(client.realtime_transcription([NOISE])) != []
    over.set()


@pytest.mark.servers("whisper-base")
def test_a_server_without_the_route_is_found_out(servers: Rig) -> None:
    refused = pytest.raises(UnsupportedTaskError, match="has no route /v1/realtime")
    with Client({"realtime": servers["whisper-base"].base_url}) as client, refused:
        list(client.realtime_transcription([NOISE]))
