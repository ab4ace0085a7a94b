"""Sliced out of the body or read by a JSON parser: the same vectors, usage and errors."""

import base64
import json
import sys

import numpy as np
import pybase64
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vllm_modalities import Response, ResponseError
from vllm_modalities.endpoints import embeddings
from vllm_modalities.vectors import decode
from vllm_modalities.vectors.listing import sliced


def as_vllm(vectors: np.ndarray, **fields: object) -> bytes:
    """The body as vLLM 0.32.0 writes it (starlette's JSONResponse)."""
    data = [
        {
            "index": index,
            "object": "embedding",
            "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode(),
        }
        for index, row in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 3, "total_tokens": 3, "prompt_tokens_details": None}
    said = {"id": "e", "object": "list", "created": 1, "model": "é", "data": data, "usage": usage}
    return compact(said | fields)


def compact(said: object) -> bytes:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


def outcome(body: bytes | bytearray, count: int) -> object:
    try:
        read = embeddings.read_vectors(Response(200, {}, body), count, None)
    except ResponseError as error:
        return str(error)
    return read.vectors.shape, read.vectors.tobytes(), read.usage


def parsed(body: bytes | bytearray, count: int) -> object:
    """What comes of it without slicing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embeddings, "sliced", lambda *_: None)
        return outcome(body, count)


SMALL = np.arange(12, dtype=np.float32).reshape(3, 4)
BODY = as_vllm(SMALL)
ODD = [
    BODY.replace(b'"usage"', b'"data":[],"usage"'),
    BODY.replace(b'"usage"', b'"d\\u0061ta":[],"usage"'),
    BODY.replace(b'"usage"', b'"usag"'),
    BODY.replace(b'"prompt_tokens":3', b'"prompt_tokens":"many"'),
    BODY.replace(b'"id":"e"', b'"id":"\\"data\\":["'),
    BODY.replace(b'"id":"e"', b'"id":{"data":[]}'),
    BODY.replace(b'"id":"e"', b'"x\\"data":[]'),
    BODY.replace(b'"created":1', b'"created":01'),
    BODY.replace(b'"created":1', b'"created":1e3'),
    BODY.replace(b"\xc3\xa9", b"\xe9"),
    BODY.replace(b'"index":1', b'"index":2'),
    BODY.replace(b'"index":1', b'"index":1.0'),
    BODY.replace(b":", b": "),
    BODY.replace(b"A", b"\\u0041"),
    BODY.replace(b"A", b"\n"),
    BODY.replace(b"}]", b"},]"),
    BODY + b" ",
    BODY + b"}",
    BODY[:-1],
    as_vllm(SMALL[:, :0]),
    as_vllm(SMALL[:2]),
    as_vllm(np.zeros((4, 4))),
    compact(json.loads(as_vllm(SMALL)) | {"data": []}),
    compact({"error": {"message": "out of memory"}}),
    BODY.replace(base64.b64encode(SMALL[1].tobytes()), b"AAAA"),
    BODY.replace(base64.b64encode(SMALL[1].tobytes()), b"AA=="),
    BODY.replace(base64.b64encode(SMALL[1].tobytes()), b"A" * 23 + b"="),
    b"",
]


def test_the_usual_layout_is_sliced_and_gives_the_vectors_bit_for_bit() -> None:
    for body in (BODY, bytearray(BODY)):
        raw, rest = sliced(body, 3)
        assert raw == SMALL.tobytes()
        assert (rest.data, rest.usage.prompt_tokens) == ([], 3)
        assert (
            outcome(body, 3)
            == parsed(body, 3)
            == (SMALL.shape, SMALL.tobytes(), rest.usage.result())
        )


@pytest.mark.parametrize("body", ODD)
def test_an_odd_layout_gives_what_the_parser_gives(body: bytes) -> None:
    assert outcome(body, 3) == parsed(body, 3)


TOKENS = rb"""" \ , { } [ ] : = A 0 \u "data":[ "data" "index":1 "embedding":" "error":1""".split()
PIECES = st.sampled_from([*TOKENS, b" ", b"\n", b"\xff", b'"usage":{}', b',"data":[]'])


@given(data=st.data(), rows=st.integers(1, 3), width=st.integers(0, 5), edits=st.integers(0, 3))
def test_any_change_to_a_body_gives_what_the_parser_gives(data, rows, width, edits) -> None:
    body = as_vllm(np.ones((rows, width)))
    for _ in range(edits):
        start = data.draw(st.integers(0, len(body)))
        end = data.draw(st.integers(start, min(start + 12, len(body))))
        body = body[:start] + data.draw(PIECES | st.binary(max_size=3)) + body[end:]
    assert outcome(body, rows) == parsed(body, rows)


@given(body=st.binary(max_size=80) | st.text(max_size=40).map(str.encode), count=st.integers(1, 3))
def test_any_bytes_give_what_the_parser_gives(body: bytes, count: int) -> None:
    assert outcome(body, count) == parsed(body, count)


def decoded(text: str) -> bytes | str:
    try:
        return decode.base64_decoded(text)
    except ValueError as error:
        return str(error)


@given(text=st.text("AB+/=\n -_", max_size=12) | st.text(max_size=6))
@example("AAAA====")
@example("AAAA=")
@example("AB==")
@example("AAB=")
def test_both_base64_decoders_give_the_same(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode, "_fast", lambda: pybase64.b64decode)
        fast = decoded(text)
        patch.setattr(decode, "_fast", lambda: None)
        assert fast == decoded(text)


def test_base64_is_read_without_pybase64_too(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pybase64", None)
    assert decode._fast.__wrapped__() is None
    monkeypatch.undo()
    assert decode._fast.__wrapped__() is pybase64.b64decode


@given(rows=st.lists(st.lists(st.floats(width=32), min_size=2, max_size=2), max_size=5))
@example([[3e38, 3e38]])
@example([[np.inf, -np.inf], [0, 0]])
def test_rows_that_are_not_finite_are_all_found(rows) -> None:
    vectors = np.array(rows, np.float32).reshape(-1, 2)
    expected = [place for place, row in enumerate(vectors) if not np.isfinite(row).all()]
    for few in (decode.FEW, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(decode, "FEW", few)
            assert decode.not_finite(vectors) == expected


@given(rows=st.lists(st.lists(st.sampled_from([0, 1, np.nan]), min_size=2, max_size=2), max_size=5))
def test_rows_of_zeros_alone_are_all_found(rows) -> None:
    vectors = np.array(rows, np.float32).reshape(-1, 2)
    assert decode.zeros(vectors) == [place for place, row in enumerate(rows) if row == [0, 0]]
