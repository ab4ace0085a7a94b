"""Whatever bytes come back, what is raised is ours and what is returned is sound."""

import json

import httpx
import numpy as np
import pydantic
import pytest
from _script import BLOCKING, FakeVLLM, Play, Talker, body
from hypothesis import example, given
from hypothesis import strategies as st

from vllm_modalities import Client, InvalidRequestError, Response, VLLMModalitiesError
from vllm_modalities._flow import said
from vllm_modalities.endpoints.embed import embed
from vllm_modalities.endpoints.rerank import rerank

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["data", "index", "embedding", "usage", "error", "message", "results"])
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
DEEP = b"[" * 100_000
BYTES = st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode())


@given(content=BYTES)
@example(DEEP)
@example(b'{"error":' * 50_000)
def test_said_gives_a_bounded_text_for_any_bytes(content: bytes) -> None:
    assert len(said(content)) <= 500


class Row(pydantic.BaseModel):
    index: int


@given(content=BYTES)
@example(DEEP)
def test_any_bytes_are_parsed_or_a_response_error(content: bytes) -> None:
    for read in (Response.json, lambda one: one.parse(Row)):
        try:
            read(Response(200, {}, content))
        except VLLMModalitiesError as error:
            assert error.body == content  # noqa: PT017


@given(content=BYTES, code=st.sampled_from([200, 200, 200, 201, 400, 404, 500]))
@example(DEEP, 400)
def test_any_answer_to_embed_is_sound_or_one_of_our_errors(content: bytes, code: int) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", body(content, code))
    try:
        result = Play(server).call(embed, ["a", "b"])
    except VLLMModalitiesError:
        return
    assert len(result) == 2
    assert np.isfinite(result.vectors).all()


ROWS = st.fixed_dictionaries(
    {
        "index": st.integers(-1, 3),
        "embedding": st.lists(st.none() | st.floats(width=32) | st.integers(), max_size=3)
        | st.sampled_from(["AAAAAA==", "AAAAAAAAAAA=", "AAA", "", "\u00e9"]),
    }
)


@given(rows=st.lists(ROWS, max_size=4))
def test_any_rows_are_sound_or_one_of_our_errors(rows) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", body({"data": rows}))
    try:
        result = Play(server).call(embed, ["a", "b"])
    except VLLMModalitiesError:
        return
    assert sorted(row["index"] for row in rows) == [0, 1]
    assert result.vectors.shape == (2, len(result[0]))
    assert np.isfinite(result.vectors).all()


@given(
    results=st.lists(
        st.fixed_dictionaries(
            {"index": st.integers(-1, 3), "relevance_score": st.none() | st.floats()}
        ),
        max_size=4,
    ),
    top_n=st.none() | st.integers(0, 4),
)
def test_any_ranking_is_sound_or_one_of_our_errors(results, top_n) -> None:
    server = FakeVLLM()
    server.always("/v1/rerank", body({"results": results}))
    try:
        ranked = Play(server).call(rerank, "q", ["a", "b", "c"], top_n=top_n)
    except VLLMModalitiesError:
        return
    assert len({one.index for one in ranked}) == len(ranked) == min(top_n or 3, 3)
    scores = [one.score for one in ranked]
    assert scores == sorted(scores, reverse=True)
    assert np.isfinite(scores).all()


@given(value=st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=40))
@example("Mon, 01 Jan 2024 00:00:00 +999999999999999999999")
@example("Mon, 01 Jan 0000 00:00:00 GMT")
@example("inf")
@example("nan")
def test_any_retry_after_is_seconds_or_none(value: str) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", body(b"", 503, Retry_After=value))
    try:
        Talker(BLOCKING, server, max_retries=0).embed("a")
    except VLLMModalitiesError as error:
        assert error.retry_after is None or error.retry_after >= 0  # noqa: PT017


ANSWERS_404 = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(404)))


@given(url=st.text(max_size=20) | st.text(max_size=20).map("http://".__add__))
@example("http://\u2100")
@example("http://a:99999")
@example("http://a b")
@example("http://.")
@pytest.mark.filterwarnings("ignore::vllm_modalities.VLLMModalitiesWarning")
def test_any_address_is_used_or_refused_in_words(url: str) -> None:
    """And one that is taken never fails later with another library's error."""
    try:
        client = Client(url, max_retries=0, http_client=ANSWERS_404)
    except InvalidRequestError as error:
        assert "http://localhost:8000" in str(error)  # noqa: PT017
        return
    try:
        client.servers()
    except VLLMModalitiesError:
        return
