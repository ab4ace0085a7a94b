"""The precision of vectors on the wire: what is asked for, and how it reads."""

import numpy as np
import pytest
from _script import URL, FakeVLLM, body, vectors_of, written

from vllm_modalities import InvalidRequestError, ResponseError
from vllm_modalities.vectors.precision import PRECISIONS

TEXTS = ["first", "second", "third"]
EMBEDDINGS = "/v1/embeddings"
E4M3 = {0x00: 0, 0x01: 2**-9, 0x07: 7 * 2**-9, 0x08: 2**-6, 0x38: 1, 0x3C: 1.5, 0xC0: -2, 0x7E: 448}
E5M2 = {0x00: 0, 0x01: 2**-16, 0x04: 2**-14, 0x3C: 1, 0x3E: 1.5, 0xC0: -2, 0x7B: 57344}
# As torch 2.9 reads them, `torch.uint8` viewed as `torch.float8_e4m3fn` and `torch.float8_e5m2`.
SPECIAL = {"fp8_e4m3": {0x7F: np.nan, 0xFF: np.nan}, "fp8_e5m2": {0x7C: np.inf, 0xFC: -np.inf}}


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("fp8_e4m3", E4M3 | SPECIAL["fp8_e4m3"]), ("fp8_e5m2", E5M2 | SPECIAL["fp8_e5m2"])],
)
def test_a_byte_reads_as_the_number_it_is(name, numbers) -> None:
    found = PRECISIONS[name].numbers(bytes(numbers))
    np.testing.assert_array_equal(found, np.array(list(numbers.values()), np.float32))
    assert found.dtype == np.float32


def test_bfloat16_is_the_upper_half_of_a_float32() -> None:
    numbers = np.array([1, -1.5, 3.0e38, 2.0**-126, np.inf, np.nan], np.float32)
    upper = (numbers.view(np.uint32) >> 16).astype("<u2")
    found = PRECISIONS["bfloat16"].numbers(upper.tobytes())
    np.testing.assert_array_equal(found.view(np.uint32) >> 16, upper)
    np.testing.assert_allclose(found, numbers, rtol=2**-7)


@pytest.mark.parametrize("transport", ["auto", "bytes", "base64"])
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_vectors_are_what_was_written_bit_for_bit(talk, transport, dtype) -> None:
    server = FakeVLLM()
    client = talk(server, transport=transport)
    result = client.embed(TEXTS, dtype=dtype, batch_size=2)
    raw = written(vectors_of(TEXTS, 4), dtype)
    expected = PRECISIONS[dtype].numbers(raw.tobytes()).reshape(3, 4)
    np.testing.assert_array_equal(result.vectors, expected)
    assert result.vectors.dtype == (np.float16 if dtype == "float16" else np.float32)
    asked = {post.body.get("embed_dtype", "float32") for post in server.posts[dtype != "float32" :]}
    assert asked == {dtype}


def test_the_usual_precision_is_not_asked_for(talk) -> None:
    server = FakeVLLM()
    talk(server).embed("a", dtype="float32")
    assert "embed_dtype" not in server.posts[0].body


def test_numbers_are_read_where_a_server_writes_nothing_else(talk) -> None:
    server = FakeVLLM()
    client = talk(server)
    client.embed("learn the width")
    rows = [{"index": i, "embedding": vectors_of(TEXTS, 4)[i].tolist()} for i in range(3)]
    server.always(EMBEDDINGS, body({"data": rows}))
    result = client.embed(TEXTS, dtype="bfloat16")
    np.testing.assert_array_equal(result.vectors, vectors_of(TEXTS, 4))
    assert result.transport == "float"
    half = client.embed(TEXTS, dtype="float16")
    np.testing.assert_array_equal(half.vectors, vectors_of(TEXTS, 4).astype(np.float16))


@pytest.mark.parametrize("transport", ["base64", "bytes"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"])
def test_a_server_that_ignores_the_precision_is_an_error(talk, transport, dtype) -> None:
    """Its float32 would read as two or four times as many numbers."""
    server = FakeVLLM()

    def as_float32(answer):
        asked = dict(server.sent[-1].body)
        asked.pop("embed_dtype", None)
        return server._embed(asked)

    server.always(EMBEDDINGS, as_float32)
    with pytest.raises(ResponseError, match=r"numbers wide, not 4|the body has") as caught:
        talk(server, transport=transport).embed(TEXTS, dtype=dtype)
    assert caught.value.server == URL


def test_a_precision_that_no_server_knows_is_refused(talk) -> None:
    server = FakeVLLM()
    with pytest.raises(InvalidRequestError, match="dtype must be 'float32' or 'float16' or"):
        talk(server).embed("a", dtype="float64")
    assert server.sent == []


def test_a_precision_has_no_effect_on_decimal_numbers_and_is_refused(talk) -> None:
    server = FakeVLLM()
    with pytest.raises(InvalidRequestError, match=r"dtype='float16' has no effect"):
        talk(server, transport="float").embed("a", dtype="float16")
    assert [post.texts for post in server.posts if "embed_dtype" in post.body] == []


def test_a_precision_is_refused_where_the_server_puts_the_words(talk) -> None:
    server = FakeVLLM(prompts={"query": "Q: "})
    with pytest.raises(InvalidRequestError, match=r"dtype='float16' cannot be asked for"):
        talk(server).embed("a", dtype="float16", input_type="query")


def test_no_input_gives_no_row_of_the_precision(talk) -> None:
    assert talk(FakeVLLM()).embed([], dtype="float16").vectors.dtype == np.float16


def unit(text: str, width: int) -> np.ndarray:
    vector = vectors_of([text], width)[0]
    return vector / np.linalg.norm(vector) * np.float32(0.5 if "long" in text else 1)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_unit_length_is_restored_where_more_than_rounding_is_missing(talk, dtype) -> None:
    server = FakeVLLM(version="0.30.0", vector=unit, width=64)
    result = talk(server).embed(["short", "long"], dtype=dtype)
    raw = PRECISIONS[dtype].numbers(written(unit("short", 64)[np.newaxis], dtype).tobytes())
    np.testing.assert_array_equal(result.vectors[0], raw)
    assert abs(np.linalg.norm(result.vectors[1].astype(np.float32)) - 1) < 2e-3
    assert len(result.warnings) == 1
