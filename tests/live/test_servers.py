"""One client, several real servers: it finds out who does what, and a dead one is routed around."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from _both import KEY, ask

from vllm_modalities import APIConnectionError, Client, UnsupportedTaskError
from vllm_modalities._rig import Report, Rig, Running, running

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
FOUR = ("embed", "rerank", "whisper-base", "deepseek-ocr")

pytestmark = pytest.mark.servers(*FOUR)


@pytest.fixture
def second_embedder(report: Report) -> Iterator[Running]:
    with running(["embed"], report=report) as rig:
        yield rig["embed"]


def urls(servers: Rig) -> list[str]:
    return [servers[name].base_url for name in FOUR]


def test_four_servers_are_found_by_themselves(servers: Rig) -> None:
    infos = ask(urls(servers), "servers")
    assert [info.url for info in infos] == urls(servers)
    assert {info.version for info in infos} == {"0.32.0"}
    assert [info.models[0].id for info in infos] == [
        servers[name].spec.served_name for name in FOUR
    ]
    tasks = [info.tasks for info in infos]
    assert {"embed", "rerank", "score"} <= tasks[0]
    assert {"rerank", "score", "classify"} - {"classify"} <= tasks[1]
    assert {"transcribe", "translate"} <= tasks[2]
    assert "ocr" in tasks[3]
    assert "ocr" not in tasks[0] | tasks[1] | tasks[2]


def test_each_job_goes_to_the_server_that_does_it(servers: Rig) -> None:
    with Client(urls(servers)) as client:
        assert client.embed("a text").model == "minilm"
        assert client.rerank("a", ["b"]).model == "cross-encoder"
        assert client.transcribe(ASSETS / "speech-en-us.flac", language="en").model == (
            "whisper-base"
        )
        assert client.ocr(ASSETS / "invoice.png", max_tokens=8).model == "deepseek-ocr"


def test_a_job_that_nobody_does_says_who_does_what(servers: Rig) -> None:
    with (
        Client(servers["rerank"].base_url) as client,
        pytest.raises(UnsupportedTaskError, match=r"cross-encoder.*rerank"),
    ):
        client.embed("a text")


def test_a_server_that_was_down_is_found_again(servers: Rig) -> None:
    server = servers["rerank"]
    with Client(urls(servers), api_key=KEY, max_retries=0) as client:
        before = client.rerank("a", ["b", "c"])
        server.stop()
        with pytest.raises(APIConnectionError):
            client.rerank("a", ["b", "c"], model="cross-encoder")
        assert [info.healthy for info in client.servers()] == [True, False, True, True]
        server.restart()
        assert all(info.healthy for info in client.servers())
        after = client.rerank("a", ["b", "c"])
    assert [found.index for found in after] == [found.index for found in before]


def test_a_replica_killed_in_the_middle_of_10000_texts_loses_none(
    servers: Rig, second_embedder: Running
) -> None:
    texts = [f"Number {number} of a long list." for number in range(10_000)]
    replicas = [servers["embed"].base_url, second_embedder.base_url]
    threading.Timer(1.0, second_embedder.kill).start()
    with Client(replicas, max_concurrency=8) as client:
        many = client.embed(texts, batch_size=32)
        alone = client.embed(texts[::501], batch_size=32)
    assert many.vectors.shape == (10_000, 384)
    assert np.isfinite(many.vectors).all()
    np.testing.assert_allclose(many.vectors[::501], alone, atol=1e-4)
