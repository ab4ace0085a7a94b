"""`/v2/embed` asked directly: every type of vector, several at once, and what is refused."""

import numpy as np
import pytest
from _script import FakeVLLM, body, edited, vectors_of

from vllm_modalities import (
    CohereEmbedRequest,
    InvalidRequestError,
    ResponseError,
    ServerInfo,
    Usage,
)

TEXTS = ("first", "second", "third")
VECTORS = vectors_of(TEXTS, 8)
COHERE = "/v2/embed"


def ask(client, **fields):
    request = CohereEmbedRequest(**({"texts": TEXTS} | fields))
    return request.read(client.send(request))


@pytest.mark.parametrize("kinds", [None, ("float",), ("base64",), ("base64", "float")])
def test_numbers_come_as_embeddings(talk, kinds) -> None:
    found = ask(talk(FakeVLLM(width=8)), embedding_types=kinds)
    for kind in kinds or ("float",):
        result = getattr(found, kind)
        np.testing.assert_array_equal(result.vectors, VECTORS)
        assert (result.vectors.dtype, result.usage) == (np.float32, Usage(16, 16))
    assert found.binary is found.ubinary is None


def test_bits_come_packed_and_unpack_to_the_signs(talk) -> None:
    found = ask(talk(FakeVLLM(width=16)), embedding_types=("binary", "ubinary"))
    signs = np.where(vectors_of(TEXTS, 16) >= 0, 1, -1)
    assert (found.binary.vectors.dtype, found.ubinary.vectors.dtype) == (np.int8, np.uint8)
    for packed in (found.binary, found.ubinary):
        assert (packed.vectors.shape, packed.dimensions) == ((3, 2), 16)
        np.testing.assert_array_equal(packed.unpack(), signs)
    assert found.float is found.base64 is None


def test_all_types_at_once_agree_with_each_other(talk) -> None:
    found = ask(talk(FakeVLLM(width=8)), embedding_types=("ubinary", "float", "binary", "base64"))
    np.testing.assert_array_equal(found.float.vectors, found.base64.vectors)
    for kind in ("binary", "ubinary"):
        np.testing.assert_array_equal(
            getattr(found, kind).vectors, found.float.quantize(kind).vectors
        )


def test_images_and_content_are_counted_too(talk) -> None:
    client = talk(FakeVLLM(width=8))
    content = {"content": [{"type": "text", "text": "a"}]}
    for fields in ({"images": ("data:,a", "https://x/b")}, {"inputs": (content, content)}):
        found = ask(client, texts=None, **fields)
        assert len(found.float) == 2
        assert found.float.usage.prompt_tokens > 0


def test_the_width_and_the_cut_may_be_asked_for(talk) -> None:
    server = FakeVLLM(width=8, matryoshka=True)
    found = ask(talk(server), output_dimension=4, truncate="START", max_tokens=9)
    np.testing.assert_array_equal(found.float.vectors, VECTORS[:, :4])
    sent = server.asked(COHERE)[-1].body
    assert (sent["truncate"], sent["max_tokens"]) == ("START", 9)


WRONG = {
    "a vector missing": edited(lambda answer: answer["embeddings"]["float"].pop()),
    "another type": edited(lambda answer: answer["embeddings"].pop("float")),
    "unequal widths": edited(lambda answer: answer["embeddings"]["float"][0].pop()),
    "not finite": edited(lambda answer: answer["embeddings"]["float"][1].__setitem__(0, None)),
    "a byte too big": edited(lambda answer: answer["embeddings"]["ubinary"][0].__setitem__(0, 256)),
    "an error": body({"error": {"message": "out of memory"}}),
}


@pytest.mark.parametrize("fault", WRONG.values(), ids=WRONG)
def test_an_answer_that_is_not_what_it_claims_is_an_error(talk, fault) -> None:
    server = FakeVLLM(width=8)
    server.always(COHERE, fault)
    with pytest.raises(ResponseError):
        ask(talk(server), embedding_types=("float", "ubinary"))


PART = {"type": "text", "text": "a"}
REFUSED = {
    "no URL": ({"images": ("cat.png",)}, "image 0 is no URL: 'cat.png'"),
    "content of a text": ({"inputs": ({"content": "a"},)}, "input 0 must be"),
    "no content": ({"inputs": ({"content": [PART]}, {"text": "a"})}, "input 1 must be"),
    "a part of words": ({"inputs": ({"content": ["a"]},)}, "input 0 must be"),
    "a text without": ({"inputs": ({"content": [{"type": "text"}]},)}, "input 0 must be"),
    "an image without": (
        {"inputs": ({"content": [{"type": "image_url", "image_url": {}}]},)},
        "input 0 must be",
    ),
    "another type": ({"inputs": ({"content": [{"type": "audio"}]},)}, "input 0 must be"),
    "bits of 12": (
        {"texts": ("a",), "output_dimension": 12, "embedding_types": ("binary",)},
        "12 is no multiple of 8",
    ),
}


@pytest.mark.parametrize(("fields", "words"), REFUSED.values(), ids=REFUSED)
def test_what_every_release_drops_or_refuses_is_said(fields, words) -> None:
    errors = [
        finding.message
        for finding in CohereEmbedRequest(**fields).validate_for(ServerInfo())
        if finding.severity == "error"
    ]
    assert len(errors) == 1
    assert words in errors[0]


def test_what_is_whole_is_not_refused() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    for fields in (
        {"inputs": ({"content": [PART, image]}, {"content": (PART,)})},
        {"images": ("data:,", "http://x/y", "https://x/y", "file:///x")},
        {"texts": ("a",), "output_dimension": 16, "embedding_types": ("ubinary", "float")},
    ):
        assert CohereEmbedRequest(**fields).validate_for(ServerInfo()) == []


def test_bits_of_a_model_whose_width_is_no_multiple_of_8_are_never_asked_for(talk) -> None:
    server = FakeVLLM(width=12)
    client = talk(server)
    client.embed("learn the width")
    with pytest.raises(InvalidRequestError, match="12 is no multiple of 8"):
        ask(client, embedding_types=("ubinary",))
    assert server.asked(COHERE) == []


@pytest.mark.parametrize("tokens", [0, -1])
def test_a_cut_to_nothing_is_refused(tokens) -> None:
    with pytest.raises(InvalidRequestError, match="max_tokens"):
        CohereEmbedRequest(texts=("a",), max_tokens=tokens)
