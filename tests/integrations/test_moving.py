"""The same calls with the openai, cohere and litellm clients, and `from_openai` with a real one."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import QUERY, TEXTS
from docs._pages import ROOT, blocks, run

from vllm_modalities import AsyncClient, Client, InvalidRequestError
from vllm_modalities.simulator import Served, Simulator, simulate

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it asks GitHub when it is imported

import cohere
import litellm
from openai import AsyncOpenAI, OpenAI

PAGE = ROOT / "docs" / "moving-in.md"
KEY = "sk-of-the-servers"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Simulator]:
    with simulate(tasks=[Served(task="embed", api_key=KEY)]) as running:
        yield running


@pytest.fixture
def openai(servers: Simulator) -> OpenAI:
    return OpenAI(base_url=f"{servers['embed']}/v1", api_key="none", max_retries=0)


def test_the_blocks_of_the_page_do_what_they_say(recording, tmp_path, monkeypatch) -> None:
    shutil.copy(recording, tmp_path / "talk.wav")
    monkeypatch.chdir(tmp_path)
    embedder = Served(task="embed", prompts=("search_query", "search_document"))
    with simulate(tasks=[embedder, "rerank", "transcribe"]) as running:
        rewrite = {f"http://gpu{at}:8000": url for at, url in enumerate(running.urls, 1)}
        namespace: dict[str, Any] = {}
        assert sum(run(block, namespace, rewrite) for block in blocks(PAGE)) == 5


@pytest.mark.parametrize("key", [KEY, lambda: KEY])
def test_a_client_of_ours_asks_with_the_key_of_the_openai_client(guarded, key) -> None:
    theirs = OpenAI(base_url=f"{guarded.url}/v1", api_key=key, default_headers={"X-Team": "s"})
    with Client.from_openai(theirs) as client:
        found = client.embed(TEXTS)
        assert KEY not in repr(client)
    answer = theirs.embeddings.create(model="minilm", input=TEXTS)
    assert np.array_equal(found, np.float32([row.embedding for row in answer.data]))
    ours, *_ = [one for one in guarded.requests if one.path == "/v1/embeddings"][-2:]
    assert ours.headers["x-team"] == "s"
    assert not any(name.startswith(("x-stainless", "openai-")) for name in ours.headers)


def test_a_function_that_is_awaited_for_the_key_is_taken_over(guarded: Simulator) -> None:
    async def key() -> str:
        return KEY

    async def main() -> Any:
        theirs = AsyncOpenAI(base_url=f"{guarded.url}/v1", api_key=key)
        async with theirs, AsyncClient.from_openai(theirs) as client:
            return await client.embed(TEXTS)

    with Client(guarded.url, api_key=KEY) as client:
        assert np.array_equal(asyncio.run(main()), client.embed(TEXTS))


def test_settings_of_a_real_client_are_taken_over() -> None:
    theirs = OpenAI(base_url="http://gpu1:8000/v1", api_key=KEY, timeout=7, max_retries=5)
    options = Client.from_openai(theirs)._options
    assert (options.timeout, options.max_retries, options.headers) == (7, 5, {})
    assert Client.from_openai(OpenAI(api_key=KEY))._options.timeout == 600
    with pytest.raises(InvalidRequestError, match="default_query"):
        Client.from_openai(OpenAI(api_key=KEY, default_query={"a": "b"}))


def test_a_field_by_a_wrong_name_is_ignored_by_the_server(servers, openai, client) -> None:
    answer = openai.embeddings.create(model="minilm", input=TEXTS, extra_body={"dimension": 5})
    assert len(answer.data[0].embedding) == 384
    answer = litellm.embedding(
        model="hosted_vllm/minilm",
        input=TEXTS,
        api_base=f"{servers['embed']}/v1",
        api_key="none",
        dimension=5,
    )
    assert len(answer.data[0]["embedding"]) == 384
    with pytest.raises(TypeError, match="dimension"):
        client.embed(TEXTS, dimension=5)
    ours = client.embed(TEXTS, extra_body={"dimension": 5})
    assert "'dimension' is passed on unchecked" in " ".join(ours.warnings)


def test_shortening_what_cannot_be_shortened_is_refused_before_or_after(
    servers, openai, client
) -> None:
    import openai as openai_package

    with pytest.raises(openai_package.BadRequestError, match="Matryoshka"):
        openai.embeddings.create(model="minilm", input=TEXTS, dimensions=5)
    with pytest.raises(litellm.BadRequestError, match="Matryoshka"):
        litellm.embedding(
            model="hosted_vllm/minilm",
            input=TEXTS,
            api_base=f"{servers['embed']}/v1",
            api_key="none",
            dimensions=5,
        )
    with pytest.raises(InvalidRequestError, match="Matryoshka"):
        client.embed(TEXTS, dimensions=5)
    sent = [one for one in servers.requests if one.fields.get("input") == TEXTS]
    assert [one.fields["dimensions"] for one in sent if "dimensions" in one.fields][-2:] == [5, 5]


def test_cohere_s_client_embeds_with_no_model_that_has_no_input_types(servers: Simulator) -> None:
    theirs = cohere.ClientV2(base_url=servers["embed"], api_key="none")
    with pytest.raises(TypeError, match="input_type"):
        theirs.embed(model="minilm", texts=TEXTS)  # type: ignore[call-arg]
    with pytest.raises(cohere.BadRequestError, match="input_type"):
        theirs.embed(model="minilm", texts=TEXTS, input_type="search_document")


def test_cohere_s_client_asks_for_speech_where_vllm_has_no_route(servers, recording) -> None:
    theirs = cohere.ClientV2(base_url=servers["transcribe"], api_key="none")
    with recording.open("rb") as file, pytest.raises(cohere.NotFoundError):
        theirs.audio.transcriptions.create(model="whisper-base", language="en", file=file)
    assert servers.requests[-1].path == "/v2/audio/transcriptions"


def test_times_of_words_do_not_come(servers, client, recording) -> None:
    asked: dict[str, Any] = {
        "response_format": "verbose_json",
        "timestamp_granularities": ["word"],
    }
    url = f"{servers['transcribe']}/v1"
    theirs = OpenAI(base_url=url, api_key="none")
    heard = theirs.audio.transcriptions.create(model="whisper-base", file=recording, **asked)
    assert heard.words is None
    with recording.open("rb") as file:
        heard = litellm.transcription(
            model="hosted_vllm/whisper-base", file=file, api_base=url, api_key="none", **asked
        )
    assert heard["words"] is None
    assert client.transcribe(recording).words == ()


def test_hotwords_that_a_model_does_not_read_are_told_of_here_alone(
    servers, client, recording: Path
) -> None:
    theirs = OpenAI(base_url=f"{servers['transcribe']}/v1", api_key="none")
    heard = theirs.audio.transcriptions.create(
        model="whisper-base", file=recording, extra_body={"hotwords": QUERY}
    )
    ours = client.transcribe(recording, hotwords=QUERY)
    assert heard.text == f" {ours.text}"
    assert "hotwords" in " ".join(ours.warnings)
