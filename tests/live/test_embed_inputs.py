"""Every input, precision and type of vector that a real server takes, and what it makes of it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _both import ask
from PIL import Image

import vllm_modalities
from vllm_modalities import (
    AsyncClient,
    BadRequestError,
    Client,
    CohereEmbedRequest,
    PartialFailureError,
    TokenizeRequest,
)
from vllm_modalities._rig import Rig
from vllm_modalities._rig.environment import provision

TEXTS = ["The train to Berlin leaves from platform seven.", "Bread rises.", "", "Straße, 東京"]
USER = [{"role": "user", "content": "cats"}]
TEMPLATED = "<|im_start|>user\ncats<|im_end|>\n"
PRECISIONS = ["float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"]
SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}

pytestmark = pytest.mark.servers("embed", "qwen3-embed")


def numbers(raw: bytes, dtype: str) -> list[float]:
    """The numbers of a raw answer, one bit pattern at a time, without this package."""
    size = SIZES[dtype]
    words = [int.from_bytes(raw[i : i + size], "little") for i in range(0, len(raw), size)]
    exponent_bits, fraction_bits = {
        "float32": (8, 23),
        "float16": (5, 10),
        "bfloat16": (8, 7),
        "fp8_e4m3": (4, 3),
        "fp8_e5m2": (5, 2),
    }[dtype]
    bias = 2 ** (exponent_bits - 1) - 1
    found = []
    for word in words:
        fraction = word & (2**fraction_bits - 1)
        exponent = word >> fraction_bits & (2**exponent_bits - 1)
        whole = fraction / 2**fraction_bits + (exponent > 0)
        size_ = whole * 2.0 ** (max(exponent, 1) - bias)
        found.append(-size_ if word >> (exponent_bits + fraction_bits) else size_)
    return found


def told(answer: bytes, dtype: str) -> list[float]:
    """The numbers of any answer of /v1/embeddings, without this package."""
    if not answer.startswith(b"{"):
        return numbers(answer, dtype)
    rows = [row["embedding"] for row in json.loads(answer)["data"]]
    if isinstance(rows[0], str):
        return numbers(b"".join(map(base64.b64decode, rows)), dtype)
    return [number for row in rows for number in row]


@pytest.mark.parametrize("transport", ["bytes", "base64", "float"])
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_vectors_are_the_server_s_own_answer_bit_for_bit(
    servers: Rig, transport: Any, dtype: Any
) -> None:
    if transport == "float":
        dtype = "float32"  # decimal numbers have no other
    with Client(servers["embed"].base_url, transport=transport, keep_raw=True) as client:
        client.embed("learn the width")
        result = client.embed(TEXTS, dtype=dtype)
    assert result.raw is not None
    (answer,) = result.raw
    expected = np.array(told(answer, dtype)).astype(result.vectors.dtype).reshape(4, 384)
    np.testing.assert_array_equal(result.vectors, expected)
    assert result.transport == transport
    assert result.vectors.dtype == (np.float16 if dtype == "float16" else np.float32)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_precisions_differ_by_rounding_alone(servers: Rig, dtype: Any) -> None:
    url = servers["embed"].base_url
    exact, rounded = ask(url, "embed", TEXTS), ask(url, "embed", TEXTS, dtype=dtype)
    assert np.diag(exact.similarity(rounded)).min() > 0.99
    error = np.abs(exact.vectors - rounded.vectors.astype(np.float32)).max()
    assert error <= {4: 1e-5, 2: 1e-3, 1: 4e-2}[SIZES[dtype]]


def test_token_ids_give_the_vector_of_their_text(servers: Rig) -> None:
    url = servers["embed"].base_url
    with Client(url) as client:
        ids = [client.send(TokenizeRequest(prompt=text)).json()["tokens"] for text in TEXTS[:2]]
    by_text = ask(url, "embed", TEXTS[:2])
    np.testing.assert_allclose(ask(url, "embed", ids), by_text, atol=1e-6)
    np.testing.assert_allclose(ask(url, "embed", ids[0]), by_text[:1], atol=1e-5)
    np.testing.assert_allclose(ask(url, "embed", np.array(ids[1])), by_text[1:], atol=1e-5)


def test_a_conversation_gives_the_vector_of_its_templated_text(servers: Rig) -> None:
    url = servers["qwen3-embed"].base_url
    by_text = ask(url, "embed", TEMPLATED)
    np.testing.assert_allclose(ask(url, "embed", USER), by_text, atol=1e-5)
    np.testing.assert_allclose(ask(url, "embed", {"content": "cats"}), by_text, atol=1e-5)
    parts = [{"role": "user", "content": ["cats"]}]
    np.testing.assert_allclose(ask(url, "embed", parts), by_text, atol=1e-5)
    asked = {"add_special_tokens": False}
    bare = ask(url, "embed", USER, extra_body=asked)
    np.testing.assert_allclose(bare, ask(url, "embed", TEMPLATED, extra_body=asked), atol=1e-5)
    assert np.abs(bare.vectors - by_text.vectors).max() > 0.01


def test_conversations_in_one_request_give_what_each_gives_alone(servers: Rig) -> None:
    url = servers["qwen3-embed"].base_url
    brief = [{"role": "system", "content": "Be brief."}, *USER]
    both = ask(url, "embed", [USER, brief])
    np.testing.assert_allclose(both[:1], ask(url, "embed", USER), atol=1e-5)
    np.testing.assert_allclose(both[1:], ask(url, "embed", brief), atol=1e-5)


def test_words_by_the_server_are_those_in_a_system_message(servers: Rig) -> None:
    """`/v2/embed` writes them there, where the model has a chat template."""
    from vllm_modalities import Profile

    nobody = Profile(name="nobody", pattern="qwen3")  # hides the built-in profile
    url = servers["qwen3-embed"].base_url
    prompt = (
        "Instruct: Given a web search query, retrieve relevant passages that answer the query"
        "\nQuery:"
    )
    with Client(url, profiles=[nobody]) as client:
        asked = client.embed({"content": "cats"}, input_type="query")
        system = [{"role": "system", "content": prompt}, *USER]
        written = client.embed(system, extra_body={"add_special_tokens": False})
    np.testing.assert_allclose(asked, written, atol=1e-5)


def test_a_model_without_a_template_refuses_messages_and_images(servers: Rig) -> None:
    with Client(servers["embed"].base_url) as client:
        for given in (USER, Image.new("RGB", (32, 32))):
            with pytest.raises(BadRequestError):
                client.embed(given)


@pytest.mark.parametrize("name", ["embed", "qwen3-embed"])
def test_over_long_texts_are_named_with_both_lengths(servers: Rig, name: str) -> None:
    limit = {"embed": 256, "qwen3-embed": 2048}[name]
    long = "word " * (limit + 100)
    with Client(servers[name].base_url) as client:
        tokens = client.send(TokenizeRequest(prompt=long)).json()["count"]
        with pytest.raises(PartialFailureError) as caught:
            client.embed(["fine", long, "fine"])
        ((place, error),) = caught.value.failures
        with pytest.raises(PartialFailureError) as ids:
            client.embed([[7], [7] * (limit + 9)])
    served = servers[name].spec.served_name
    assert place == 1
    assert f"item 1 of inputs has {tokens} tokens, and {served!r} reads {limit} tokens" in str(
        error
    )
    assert f"item 1 of inputs has {limit + 9} tokens" in str(ids.value)


@pytest.mark.parametrize("name", ["embed", "qwen3-embed"])
def test_every_type_of_v2_embed_agrees_with_the_others(servers: Rig, name: str) -> None:
    kinds = ("float", "base64", "binary", "ubinary")
    request = CohereEmbedRequest(texts=("cats", "dogs"), embedding_types=kinds)
    with Client(servers[name].base_url) as client:
        found = request.read(client.send(request))
        texts = client.embed(["cats", "dogs"])
    assert found.float is not None
    assert found.base64 is not None
    assert found.binary is not None
    assert found.ubinary is not None
    np.testing.assert_array_equal(found.float, found.base64)
    np.testing.assert_allclose(found.float, texts, atol=1e-5)
    np.testing.assert_array_equal(found.binary, found.float.quantize("binary"))
    np.testing.assert_array_equal(found.ubinary, found.float.quantize("ubinary"))
    np.testing.assert_array_equal(found.binary.unpack(), np.where(found.float.vectors >= 0, 1, -1))
    assert found.float.usage == texts.usage


def test_content_of_v2_embed_goes_through_the_template(servers: Rig) -> None:
    content = {"content": [{"type": "text", "text": "cats"}]}
    request = CohereEmbedRequest(inputs=(content,), embedding_types=("base64",), truncate="NONE")
    url = servers["qwen3-embed"].base_url
    with Client(url) as client:
        found = request.read(client.send(request))
    plain = ask(url, "embed", USER, extra_body={"add_special_tokens": False})
    assert found.base64 is not None
    np.testing.assert_allclose(found.base64, plain, atol=1e-5)


def test_a_stream_gives_what_one_call_gives(servers: Rig, tmp_path: Path) -> None:
    url = servers["embed"].base_url
    texts = [f"Number {number} of a list." for number in range(500)]
    done: list[tuple[int, int | None]] = []
    with Client(url) as client:
        out = np.memmap(tmp_path / "vectors", np.float32, "w+", shape=(500, 384))
        whole = client.embed(texts, out=out, progress=lambda n, of: done.append((n, of)))
        batches = list(client.embed_iter(iter(texts), batch_size=32))

    async def streamed() -> list[Any]:
        async with AsyncClient(url) as client:
            return [batch async for batch in client.embed_iter(texts, batch_size=32)]

    assert [len(batch) for batch in batches] == [32] * 15 + [20]
    assert done[-1] == (500, 500)
    for found in (batches, asyncio.run(streamed())):
        np.testing.assert_allclose(np.vstack([b.vectors for b in found]), whole, atol=1e-4)
    np.testing.assert_array_equal(
        np.fromfile(tmp_path / "vectors", np.float32), whole.vectors.ravel()
    )


def test_a_stream_that_is_left_leaves_the_server_free(servers: Rig) -> None:
    url = servers["embed"].base_url
    with Client(url) as client:
        batches = client.embed_iter((f"text {i}" for i in range(10**9)), batch_size=8)
        first = next(batches)
        batches.close()
    assert len(first) == 8
    with urllib.request.urlopen(f"{url}/health", timeout=30) as answer:
        assert answer.status == 200


TORCH = """
import numpy as np, torch
from vllm_modalities import Embeddings
vectors = Embeddings(np.ones((3, 4), np.float32))
tensor = torch.from_numpy(vectors.vectors)
tensor[1, 2] = 7
print(vectors[1][2], tensor.dtype, torch.from_numpy(np.asarray(vectors.quantize("int8"))).dtype)
"""


def test_torch_takes_vectors_without_a_copy() -> None:
    """In the environment of the servers, which has torch."""
    ran = subprocess.run(
        [provision(), "-W", "error", "-c", TORCH],
        env={**os.environ, "PYTHONPATH": str(Path(vllm_modalities.__file__).parents[1])},
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout.split() == ["7.0", "torch.float32", "torch.int8"]
