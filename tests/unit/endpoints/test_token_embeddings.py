"""A vector a token on /v1/embeddings, from vLLM 0.33.0 on: who asks there, what is said of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from _script import ROUTES, FakeVLLM, Play, body, vectors_of

from vllm_modalities import (
    BadRequestError,
    EmbeddingRequest,
    InvalidRequestError,
    PartialFailureError,
    PoolingRequest,
    ResponseError,
    UnsupportedTaskError,
)
from vllm_modalities.endpoints._token_embeddings import TokenEmbeddingRequest
from vllm_modalities.endpoints.embed import embed
from vllm_modalities.endpoints.embed_tokens import embed_tokens
from vllm_modalities.endpoints.send import send

PATH = "/v1/embeddings"
POOLING = "/pooling"
TEXTS = ["one two three four five", "six"]
RERANKS = tuple(path for path in ROUTES["late-interaction"] if path != POOLING)
CHUNKS = {"late_chunking_params": {"chunk_size": 2}}
# What 0.33.0's Python files answered on 0.32.0's kernels: there is no build of it for CPUs.
SEEN = json.loads((Path(__file__).parent / "token_embeddings_0.33.json").read_text("utf-8"))


def server(*routes: str, **told) -> FakeVLLM:
    told = {"version": "0.33.0"} | told
    routes = routes or (*RERANKS, *ROUTES["tokens"], POOLING, PATH)
    return FakeVLLM("late-interaction", routes=routes, **told)


def hiding(**told) -> FakeVLLM:
    """Its routes are not known, so the client takes it for what the user says."""
    return FakeVLLM("late-interaction", version="0.33.0", routes=None, **told)


@pytest.fixture(autouse=True)
def all_routes_of_a_server_that_hides_them(monkeypatch) -> None:
    monkeypatch.setitem(ROUTES, "late-interaction", (*RERANKS, POOLING, PATH))


def test_raw_bytes_of_pooling_go_before_json(talk) -> None:
    fake = server()
    assert talk(fake).embed_tokens(TEXTS).transport == "bytes"
    assert [post.path for post in fake.posts] == [POOLING]


@pytest.mark.parametrize("transport", ["auto", "bytes", "base64", "float"])
def test_where_pooling_is_not_the_vectors_come_as_json(talk, transport) -> None:
    fake = server(*RERANKS, PATH)
    found = talk(fake, transport=transport).embed_tokens(TEXTS, normalize=False, truncate="end")
    for array, text in zip(found, TEXTS, strict=True):
        np.testing.assert_array_equal(array, vectors_of(text.split(), 4))
    assert (found.transport, found.usage.prompt_tokens) == ("json", 6)
    assert [(post.path, post.body) for post in fake.posts] == [
        (
            PATH,
            {
                "model": "m",
                "input": TEXTS,
                "use_activation": False,
                "truncate_prompt_tokens": -1,
                "truncation_side": "right",
                "encoding_format": "float",
            },
        )
    ]


def test_late_chunking_gives_the_mean_of_each_chunk_without_a_warning(talk) -> None:
    fake = server()
    found = talk(fake).embed_tokens(TEXTS, extra_body=CHUNKS)
    assert found.lengths.tolist() == [3, 1]
    words = vectors_of(TEXTS[0].split(), 4)
    means = [words[:2].mean(axis=0), words[2:4].mean(axis=0), words[4]]
    np.testing.assert_allclose(found[0], means, rtol=1e-6)
    assert found.warnings == ()
    assert [(post.path, post.body["late_chunking_params"]) for post in fake.posts] == [
        (PATH, CHUNKS["late_chunking_params"])
    ]


@pytest.mark.parametrize(
    ("texts", "answer", "extra"),
    [
        (SEEN["plain texts"], "plain", None),
        (SEEN["texts"], "late", {"late_chunking_params": {"chunk_size": 4}}),
    ],
)
def test_what_was_seen_is_read_in_full(talk, texts, answer, extra) -> None:
    fake = server(*RERANKS, PATH)
    fake.always(PATH, body(SEEN[answer]))
    client = talk(fake, keep_raw=True)
    found = client.embed_tokens(texts, extra_body=extra)
    rows = SEEN[answer]["data"]
    for array, row in zip(found, rows, strict=True):
        np.testing.assert_array_equal(array, np.float32(row["embedding"]))
    assert json.loads(found.raw[0])["data"] == rows  # where a chunk's characters are
    assert found.usage.prompt_tokens == SEEN[answer]["usage"]["prompt_tokens"]


def test_pooling_gave_the_same_vectors() -> None:
    for row, pooled in zip(SEEN["plain"]["data"], SEEN["pooling"]["data"], strict=True):
        np.testing.assert_array_equal(np.float32(row["embedding"]), np.float32(pooled["data"]))


def test_a_chunk_s_tokens_follow_from_its_size() -> None:
    for row in SEEN["late"]["data"]:
        told = row["late_chunking"]
        size, count = told["chunk_size"], told["input_tokens"]
        ranges = [[at, min(at + size, count)] for at in range(0, count, size)]
        assert [chunk["token_range"] for chunk in told["chunks"]] == ranges
        assert len(row["embedding"]) == len(ranges)


def test_the_one_bad_text_is_found(talk) -> None:
    fake = server(refuses=lambda text: "too long" if text == "six" else None)
    with pytest.raises(PartialFailureError) as caught:
        talk(fake).embed_tokens(TEXTS, extra_body=CHUNKS)
    assert [place for place, _ in caught.value.failures] == [1]
    assert caught.value.results.lengths.tolist() == [3, 0]


@pytest.mark.parametrize("path", [PATH, POOLING])
def test_a_vector_a_text_is_not_taken_for_tokens(talk, path) -> None:
    fake = server(*RERANKS, path)
    name = {PATH: "embedding", POOLING: "data"}[path]
    rows = [{"index": place, name: [1.0, 2.0]} for place in range(2)]
    fake.always(path, body({"data": rows}))
    with pytest.raises(ResponseError, match="a vector a text, not one a token"):
        talk(fake, transport="float").embed_tokens(TEXTS)


def test_an_item_without_tokens_is_one(talk) -> None:
    fake = server(*RERANKS, PATH)
    rows = [{"index": 0, "embedding": [[1.0, 2.0]]}, {"index": 1, "embedding": []}]
    fake.always(PATH, body({"data": rows}))
    found = talk(fake).embed_tokens(TEXTS)
    assert (found.lengths.tolist(), found.dimensions, found.failures) == ([1, 0], 2, ())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"truncate": "end"}, "chunks are of whole texts"),
        ({"extra_body": CHUNKS | {"padding": "max_length"}}, "chunks are of whole texts"),
        ({"inputs": [[1, 2], [3]]}, "chunks are of whole texts"),
        ({"inputs": [b"an image"]}, "texts and token ids alone"),
        ({"extra_body": CHUNKS | {"dimensions": 8}}, "cannot be shortened"),
        ({"extra_body": {"late_chunking_params": {"chunk_size": 0}}}, "greater than 0"),
        ({"extra_body": {"late_chunking_params": {"chunk_size": "4"}}}, "valid integer"),
        ({"extra_body": {"late_chunking_params": {}}}, "must not be empty"),
        ({"extra_body": {"late_chunking_params": {"size": 4}}}, "'chunk_size'"),
    ],
    ids=str,
)
def test_what_the_route_would_refuse_is_not_sent(asked, words, tmp_path) -> None:
    from PIL import Image

    picture = tmp_path / "p.png"
    Image.new("RGB", (2, 2)).save(picture)
    if asked.get("inputs") == [b"an image"]:
        asked = {"inputs": [picture]}
    fake = server()
    call = {"inputs": TEXTS, "extra_body": CHUNKS} | asked
    with pytest.raises(InvalidRequestError, match=words):
        Play(fake).call(embed_tokens, call.pop("inputs"), **call)
    assert fake.posts == []


def test_padding_that_adds_nothing_is_taken(talk) -> None:
    found = talk(server()).embed_tokens(TEXTS, extra_body=CHUNKS | {"padding": "do_not_pad"})
    assert found.lengths.tolist() == [3, 1]


def test_an_older_release_is_not_asked_for_chunks(talk) -> None:
    fake = server(*RERANKS, POOLING, version="0.32.0")
    with pytest.raises(InvalidRequestError, match="late chunking is unknown"):
        talk(fake).embed_tokens(TEXTS, extra_body=CHUNKS)
    assert fake.posts == []


def test_an_embedder_is_not_asked_for_chunks_which_it_would_drop(talk) -> None:
    fake = FakeVLLM(version="0.33.0", routes=(*ROUTES["embed"], POOLING))
    with pytest.raises(InvalidRequestError, match=r"pooler-config\.task token_embed"):
        talk(fake).embed_tokens(TEXTS, extra_body=CHUNKS)
    with pytest.raises(InvalidRequestError, match=r"extra_body of embed_tokens"):
        talk(fake).embed(TEXTS, extra_body=CHUNKS)
    assert fake.posts == []


@pytest.mark.parametrize("kind", [EmbeddingRequest, PoolingRequest])
@pytest.mark.parametrize("version", ["0.32.0", "0.33.0"])
def test_a_field_that_is_dropped_without_a_word_is_refused(kind, version) -> None:
    fake = FakeVLLM(version=version, routes=(*ROUTES["embed"], POOLING))
    request = kind(input="a", extra_body=CHUNKS)
    with pytest.raises(InvalidRequestError, match="drops the field without a word"):
        Play(fake).call(send, request)


def test_the_body_goes_only_to_servers_that_have_it() -> None:
    embedder = FakeVLLM(version="0.33.0", routes=(*ROUTES["embed"], POOLING))
    late = server(model="late")
    request = TokenEmbeddingRequest(input="a", extra_body=CHUNKS)
    answer = Play({"http://a": embedder, "http://b": late}).call(send, request)
    assert answer.server == "http://b"
    assert embedder.posts == []


@pytest.mark.parametrize("transport", ["auto", "bytes", "base64", "float"])
def test_embed_says_what_such_a_server_gives_and_names_the_method(talk, transport) -> None:
    fake = hiding()
    client = talk(fake, transport=transport)
    with pytest.raises(UnsupportedTaskError, match=r"a vector a token.* embed_tokens\(\)"):
        client.embed(TEXTS)
    assert len(fake.posts) == 1
    with pytest.raises(UnsupportedTaskError, match=r"a vector a token.* embed_tokens\(\)"):
        client.embed(TEXTS)  # whether it is asked again or not


@pytest.mark.parametrize("seen", ["base64", "plain", "late"])
def test_embed_understands_what_was_seen(seen) -> None:
    fake = hiding()
    fake.always(PATH, body(SEEN[seen], 400 if seen == "base64" else 200))
    transport = "base64" if seen == "base64" else "float"
    with pytest.raises(UnsupportedTaskError, match=r"embed_tokens\(\)"):
        Play(fake, transport=transport).call(embed, TEXTS)


def test_a_refusal_of_another_field_is_no_other_task() -> None:
    fake = FakeVLLM(version="0.33.0")
    words = "Input should be 'float', 'base64', 'bytes' or 'bytes_only'\""
    fake.always(PATH, body({"error": {"message": words, "code": 400}}, 400))
    with pytest.raises(BadRequestError, match="bytes_only"):
        Play(fake).call(embed, "a")
