"""`embed` through either client: what is sent, what is read, what is not believed."""

import base64
import random

import numpy as np
import pytest
from _script import (
    BLOCKING,
    URL,
    FakeVLLM,
    Talker,
    body,
    broken,
    cut,
    edited,
    status,
    vector_of,
    vectors_of,
)

from vllm_modalities import (
    APIConnectionError,
    AuthenticationError,
    InvalidRequestError,
    NotFoundError,
    ResponseError,
    Usage,
)

EMBEDDINGS = "/v1/embeddings"
TEXTS = ["first", "second", "", "a much longer text", "first"]
FORMATS = ["auto", "bytes", "base64", "float"]


@pytest.mark.parametrize("transport", FORMATS)
@pytest.mark.parametrize("batch_size", [1, 2, 5, 100, None])
def test_vectors_come_in_the_order_of_the_texts(talk, transport, batch_size) -> None:
    client = talk(FakeVLLM(), transport=transport)
    result = client.embed(TEXTS, batch_size=batch_size)
    np.testing.assert_array_equal(result.vectors, vectors_of(TEXTS, 4))
    assert result.vectors.dtype == np.float32
    assert result.model == "m"


def test_one_text_gives_one_row(talk) -> None:
    np.testing.assert_array_equal(talk(FakeVLLM()).embed("one").vectors, vectors_of(["one"], 4))


@pytest.mark.parametrize("texts", [iter(TEXTS), (text for text in TEXTS), tuple(TEXTS)])
def test_any_iterable_of_texts_will_do(texts) -> None:
    assert len(Talker(BLOCKING, FakeVLLM()).embed(texts)) == len(TEXTS)


@pytest.mark.parametrize("none", [[], (), iter([])])
@pytest.mark.parametrize("dimensions", [None, 7])
def test_no_text_makes_no_request(talk, none, dimensions) -> None:
    server = FakeVLLM()
    assert talk(server).embed(none, dimensions=dimensions).vectors.shape == (0, dimensions or 0)
    assert server.sent == []


def test_answers_are_put_in_order_by_their_index(talk) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, edited(lambda answer: random.shuffle(answer["data"])))
    np.testing.assert_array_equal(talk(server).embed(TEXTS).vectors, vectors_of(TEXTS, 4))


def test_the_width_is_learned_once_and_then_bytes_are_asked_for(talk) -> None:
    server = FakeVLLM()
    client = talk(server, max_concurrency=1)
    client.embed(TEXTS, batch_size=2)
    assert [post.body["encoding_format"] for post in server.posts] == [
        "base64",
        "bytes_only",
        "bytes_only",
    ]
    assert {post.body["endianness"] for post in server.posts} == {"little"}


@pytest.mark.parametrize("transport", FORMATS)
def test_floats_are_read_whatever_was_asked_for(talk, transport) -> None:
    server = FakeVLLM()

    def as_floats(answer):
        if answer.headers:
            return answer
        vectors = vectors_of("ab", 4).tolist()
        return body({"data": [{"index": i, "embedding": vectors[i]} for i in (0, 1)]})(answer)

    server.always(EMBEDDINGS, as_floats)
    result = talk(server, transport=transport).embed(["a", "b"])
    np.testing.assert_array_equal(result.vectors, vectors_of("ab", 4))


@pytest.mark.parametrize("transport", ["base64", "float"])
def test_tokens_are_added_up_over_the_batches(talk, transport) -> None:
    result = talk(FakeVLLM(), transport=transport).embed(TEXTS, batch_size=2)
    total = sum(map(len, TEXTS))
    assert result.usage == Usage(total, total)


def test_tokens_are_unknown_where_the_wire_carries_none(talk) -> None:
    client = talk(FakeVLLM(), transport="bytes")
    client.embed("learn the width")
    assert client.embed(TEXTS).usage is None


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({}, {}),
        ({"normalize": False}, {"use_activation": False}),
        ({"truncate": "end"}, {"truncate_prompt_tokens": -1, "truncation_side": "right"}),
        ({"truncate": "start"}, {"truncate_prompt_tokens": -1, "truncation_side": "left"}),
        ({"extra_body": {"user": "u"}}, {"user": "u"}),
        ({"extra_body": {"of_tomorrow": [1]}}, {"of_tomorrow": [1]}),
    ],
)
def test_arguments_are_sent_in_the_server_s_words(talk, arguments, sent) -> None:
    server = FakeVLLM()
    talk(server).embed("a", **arguments)
    always = {"model": "m", "input": ["a"], "encoding_format": "base64", "endianness": "little"}
    assert server.posts[0].body == always | sent


def test_truncation_is_refused_where_the_release_drops_it(talk) -> None:
    server = FakeVLLM(version="0.17.1")
    with pytest.raises(InvalidRequestError, match="truncation_side") as caught:
        talk(server).embed("a", truncate="end")
    assert server.posts == []
    assert {finding.until for finding in caught.value.findings} == {"0.18.0"}


BAD_INPUTS = [{"a": 1}, 5, None, 1.5, ["fine", b"bytes"], ["fine", None], [-1], [["a"]]]


@pytest.mark.parametrize("inputs", BAD_INPUTS, ids=repr)
def test_what_is_no_text_is_refused_in_words(talk, inputs) -> None:
    server = FakeVLLM()
    with pytest.raises(InvalidRequestError, match=r"inputs(:| must be)") as caught:
        talk(server).embed(inputs)
    assert caught.value.findings[0].field == "inputs"
    assert server.sent == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"batch_size": 0},
        {"batch_size": -1},
        {"batch_size": 2.5},
        {"batch_size": "3"},
        {"batch_size": True},
        {"dimensions": "4"},
        {"dimensions": 4.0},
        {"dimensions": True},
        {"truncate": "middle"},
        {"on_error": "ignore"},
        {"extra_body": {"dimensions": "many"}},
        {"extra_body": {"input": "again"}},
        {"extra_body": "dimensions=4"},
        {"normalize": "perhaps"},
    ],
    ids=repr,
)
def test_a_wrong_argument_is_refused_before_anything_is_posted(talk, arguments) -> None:
    server = FakeVLLM()
    with pytest.raises(InvalidRequestError) as caught:
        talk(server).embed("a", **arguments)
    assert caught.value.findings
    assert server.posts == []


def test_a_text_that_utf_8_cannot_carry_is_refused_in_words(talk) -> None:
    with pytest.raises(InvalidRequestError, match="item 1"):
        talk(FakeVLLM()).embed(["fine", "\ud800"])


def b64(text: str, width: int = 4) -> str:
    return base64.b64encode(vector_of(text, width).tobytes()).decode()


def row(**fields: object):
    """Change the first row."""
    return edited(lambda answer: answer["data"][0].update(fields))


NOT_WHAT_IT_CLAIMS = {
    "an index twice": row(index=1),
    "a negative index": row(index=-1),
    "an index too far": row(index=2),
    "a row missing": edited(lambda answer: answer["data"].pop()),
    "no rows": edited(lambda answer: answer["data"].clear()),
    "a row too many": edited(lambda answer: answer["data"].append({"index": 2, "embedding": ""})),
    "no data": edited(lambda answer: answer.pop("data")),
    "unequal widths": row(embedding=b64("a", 3)),
    "unequal numbers": body({"data": [{"index": i, "embedding": [0.5] * i} for i in (0, 1)]}),
    "a torn number": row(embedding=base64.b64encode(b"12345").decode()),
    "empty vectors": body({"data": [{"index": i, "embedding": ""} for i in (0, 1)]}),
    "not base64": row(embedding="$$$"),
    "base64 without its end": row(embedding=b64("a")[:-3]),
    "one of each": row(embedding=[0.0] * 4),
    "words for numbers": row(embedding=["a"]),
    "a nested list": row(embedding=[[0.0] * 4]),
    "an error object": body({"object": "error", "message": "out of memory", "code": 500}),
    "an error": body({"error": {"message": "out of memory"}}),
    "an error text": body({"error": "out of memory"}),
    "html": body(b"<html>out of memory</html>"),
    "nothing": body(b""),
    "null": body(None),
    "a list": body([]),
    "half a JSON": lambda answer: body(answer.content[:-9])(answer),
    "another octet stream": body(b"123", content_type="application/octet-stream"),
    "a redirect": body(b"", 307, location="https://elsewhere/v1/embeddings"),
    "no content": body(b"", 204),
}


@pytest.mark.parametrize("fault", NOT_WHAT_IT_CLAIMS.values(), ids=NOT_WHAT_IT_CLAIMS)
def test_a_200_that_is_not_what_it_claims_is_an_error_with_evidence(talk, fault, pauses) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, fault)
    with pytest.raises(ResponseError) as caught:
        talk(server).embed(["a", "b"])
    assert caught.value.server == URL
    assert URL in str(caught.value)
    assert len(server.posts) == 1


def test_what_the_server_said_stands_in_the_error(talk) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, body({"error": {"message": "out of memory"}}, x_request_id="r-7"))
    with pytest.raises(ResponseError, match=r"out of memory.*r-7") as caught:
        talk(server).embed("a")
    assert caught.value.request_id == "r-7"
    assert b"out of memory" in caught.value.body


@pytest.mark.parametrize("change", [-4, -1, 1, 4, -16, 16])
def test_a_raw_body_that_is_off_is_an_error(talk, change: int) -> None:
    server = FakeVLLM()
    client = talk(server, transport="bytes")
    client.embed("learn the width")

    def resized(answer):
        raw = (answer.content + bytes(16))[: len(answer.content) + change]
        return body(raw, content_type="application/octet-stream")(answer)

    server.always(EMBEDDINGS, resized)
    with pytest.raises(ResponseError, match="bytes"):
        client.embed(["a", "b"])


def test_a_server_that_ignores_dimensions_is_an_error(talk) -> None:
    server = FakeVLLM(matryoshka=True)
    client = talk(server)
    client.embed("a", dimensions=2)
    server.once(EMBEDDINGS, body({"data": [{"index": 0, "embedding": b64("a")}]}))
    with pytest.raises(ResponseError, match="4 numbers wide, not 2"):
        client.embed("a", dimensions=2)


@pytest.mark.parametrize("wrong", [0, 1])
def test_dimensions_ignored_for_one_batch_fail_that_batch_alone(talk, wrong: int) -> None:
    server = FakeVLLM(matryoshka=True)
    client = talk(server, transport="base64", max_concurrency=1)
    client.embed("warm up", dimensions=2)
    text = "ab"[wrong]
    server.once(text, body({"data": [{"index": 0, "embedding": b64(text)}]}))
    result = client.embed(["a", "b"], dimensions=2, batch_size=1, on_error="return")
    assert [place for place, _ in result.failures] == [wrong]
    np.testing.assert_array_equal(result.vectors[1 - wrong], vector_of("ab"[1 - wrong], 4)[:2])


def test_batches_of_unequal_width_are_an_error(talk) -> None:
    server = FakeVLLM()
    client = talk(server, transport="base64", max_concurrency=1)
    server.once("b", body({"data": [{"index": 0, "embedding": b64("b", 3)}]}))
    result = client.embed(["a", "b", "c"], batch_size=1, on_error="return")
    ((place, error),) = result.failures
    assert place == 1
    assert isinstance(error, ResponseError)
    np.testing.assert_array_equal(result.vectors[[0, 2]], vectors_of("ac", 4))


NAN = base64.b64encode(np.array([1, np.nan, 3, 4], "<f4").tobytes()).decode()
INF = base64.b64encode(np.array([1, -np.inf, 3, 4], "<f4").tobytes()).decode()
NOT_FINITE = {"null": [1, None, 3, 4], "NaN": [1, float("nan"), 3, 4], "base64": NAN, "inf": INF}


@pytest.mark.parametrize("vector", NOT_FINITE.values(), ids=NOT_FINITE)
def test_a_vector_that_is_not_finite_is_an_error(talk, vector) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, row(embedding=vector))
    with pytest.raises(ResponseError, match="item 0 is not finite"):
        talk(server).embed("a")


def test_a_raw_body_that_is_not_finite_fails_its_text_alone(talk) -> None:
    server = FakeVLLM()
    client = talk(server, transport="bytes")
    client.embed("learn the width")
    raw = np.vstack([vector_of("a", 4), [np.nan] * 4]).astype("<f4").tobytes()
    server.once(EMBEDDINGS, body(raw, content_type="application/octet-stream"))
    result = client.embed(["a", "b"], on_error="return")
    assert [place for place, _ in result.failures] == [1]
    np.testing.assert_array_equal(result.vectors, [vector_of("a", 4), [np.nan] * 4])


CURES = {
    "unreachable": (broken("ConnectError"), APIConnectionError, "Is the server up"),
    "too slow to connect": (broken("ConnectTimeout"), APIConnectionError, "raise `timeout`"),
    "too slow": (broken("ReadTimeout"), APIConnectionError, "raise `timeout`"),
    "reset": (broken("ReadError"), APIConnectionError, "Is the server up"),
    "401": (status(401, "Unauthorized"), AuthenticationError, "VLLM_API_KEY"),
    "403": (status(403, "Forbidden"), AuthenticationError, "VLLM_API_KEY"),
    "404": (status(404, "The model `m` does not exist."), NotFoundError, r"client\.servers\(\)"),
    "cut": (cut, ResponseError, "stopped half-way"),
}


@pytest.mark.parametrize(("fault", "kind", "cure"), CURES.values(), ids=CURES)
def test_every_fault_ends_in_an_error_that_names_its_cure(talk, fault, kind, cure, pauses) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, fault)
    with pytest.raises(kind, match=cure) as caught:
        talk(server).embed(["a", "b"])
    assert URL in str(caught.value)


def test_an_unreachable_server_is_found_when_it_is_up(talk, pauses) -> None:
    server = FakeVLLM()
    server.always("*", broken("ConnectError"))
    client = talk(server)
    with pytest.raises(APIConnectionError, match="Is the server up"):
        client.embed("a")
    server.well("*")
    assert len(client.embed("a")) == 1


def test_raw_answers_are_kept_only_when_asked_for(talk) -> None:
    assert talk(FakeVLLM()).embed("a").raw is None
    server = FakeVLLM()
    (raw,) = talk(server, keep_raw=True).embed("a").raw
    assert b'"embedding"' in raw


def test_a_field_of_tomorrow_is_passed_on_with_a_warning(talk) -> None:
    (warning,) = talk(FakeVLLM()).embed(["a", "b"], batch_size=1, extra_body={"new": 1}).warnings
    assert "'new' is passed on unchecked" in warning


@pytest.mark.parametrize("name", ["embed_dtype", "endianness", "encoding_format", "messages"])
def test_what_the_method_asks_for_itself_is_refused_in_extra_body(talk, name) -> None:
    """A precision that is not known of would be read as another: plausible, wrong numbers."""
    server = FakeVLLM()
    with pytest.raises(InvalidRequestError, match=name):
        talk(server).embed(["a", "b"], extra_body={name: "float16"})
    assert server.posts == []


def test_big_answers_are_read_like_small_ones(talk) -> None:
    server = FakeVLLM(width=1024)
    texts = [f"text {i}" for i in range(64)]
    np.testing.assert_array_equal(talk(server).embed(texts).vectors, vectors_of(texts, 1024))
