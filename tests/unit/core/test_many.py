"""Many texts in one call: the bad ones are found, the rest is kept, a shared cause ends it all."""

import numpy as np
import pytest
from _script import FakeVLLM, body, broken, edited, status, vector_of, vectors_of

from vllm_modalities import (
    APIConnectionError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    PartialFailureError,
    ResponseError,
    VLLMModalitiesError,
)
from vllm_modalities._many import IN_A_ROW

EMBEDDINGS = "/v1/embeddings"
TEXTS = [f"text {i}" for i in range(40)]


def picky(*bad: int, texts: list[str] = TEXTS, same_words: bool = True) -> FakeVLLM:
    refused = {texts[i] for i in bad}
    return FakeVLLM(
        refuses=lambda t: f"too long{'' if same_words else t}" if t in refused else None
    )


def assert_kept_but(result, bad: set[int]) -> None:
    expected = vectors_of(TEXTS, 4)
    expected[list(bad)] = np.nan
    np.testing.assert_array_equal(result.vectors, expected)
    assert [place for place, _ in result.failures] == sorted(bad)


@pytest.mark.parametrize("same_words", [True, False])
@pytest.mark.parametrize("batch_size", [40, 16, 3, 1])
@pytest.mark.parametrize(
    "bad", [{0}, {39}, {17}, {3, 30}, {0, 20, 39}, {18, 19, 20, 21}, set(range(20)), {5, 6}]
)
def test_bad_texts_are_found_and_the_rest_is_kept(talk, bad, batch_size, same_words) -> None:
    client = talk(picky(*bad, same_words=same_words))
    result = client.embed(TEXTS, batch_size=batch_size, on_error="return")
    assert_kept_but(result, bad)
    for _, error in result.failures:
        assert isinstance(error, BadRequestError)
        assert "too long" in str(error)


@pytest.mark.parametrize("code", [400, 413, 422])
def test_bisection_takes_a_logarithm_of_requests(talk, code: int) -> None:
    server = FakeVLLM()
    server.always(TEXTS[17], status(code))
    result = talk(server).embed(TEXTS, on_error="return")
    assert_kept_but(result, {17})
    assert len(server.posts) <= 1 + 2 * 6


@pytest.mark.parametrize("code", [500, 505, 418])
def test_only_a_refusal_is_looked_into(talk, code: int) -> None:
    server = FakeVLLM()
    server.always(TEXTS[1], status(code))
    result = talk(server).embed(TEXTS, batch_size=4, on_error="return")
    assert_kept_but(result, {0, 1, 2, 3})
    assert len(server.posts) == 10


@pytest.mark.parametrize("on_error", ["collect", "return", "raise"])
@pytest.mark.parametrize("count", [2, 3, 40])
def test_a_refusal_of_everything_is_raised_as_itself_after_few_requests(
    talk, on_error, count
) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, status(400, "no such option"))
    with pytest.raises(BadRequestError, match="no such option"):
        talk(server).embed(TEXTS[:count], on_error=on_error)
    assert len(server.posts) <= 6


SHARED = {
    "unreachable": (broken("ConnectError"), APIConnectionError),
    "401": (status(401), AuthenticationError),
    "404": (status(404), NotFoundError),
}


@pytest.mark.parametrize("on_error", ["collect", "return", "raise"])
@pytest.mark.parametrize(("fault", "kind"), SHARED.values(), ids=SHARED)
def test_a_cause_that_all_share_is_raised_as_itself(talk, fault, kind, on_error) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, fault)
    client = talk(server, max_retries=0, max_concurrency=2)
    with pytest.raises(kind):
        client.embed(TEXTS, batch_size=1, on_error=on_error)
    assert len(server.posts) <= 2


def test_a_cause_that_all_share_met_in_bisection_ends_it(talk) -> None:
    server = picky(3)
    server.once(TEXTS[3], lambda answer: answer, status(401))
    with pytest.raises(AuthenticationError):
        talk(server, max_concurrency=1).embed(TEXTS)
    assert len(server.posts) <= 3


@pytest.mark.parametrize("on_error", ["collect", "return", "raise"])
def test_a_single_text_raises_its_own_error(talk, on_error) -> None:
    with pytest.raises(BadRequestError, match="too long"):
        talk(picky(0)).embed(TEXTS[0], on_error=on_error)


def test_collect_finishes_the_rest_then_raises_with_the_results(talk) -> None:
    with pytest.raises(PartialFailureError) as caught:
        talk(picky(3, 30)).embed(TEXTS, batch_size=8)
    error = caught.value
    assert_kept_but(error.results, {3, 30})
    assert [place for place, _ in error.failures] == [3, 30]
    assert str(error).startswith("2 of 40 items failed; the first, item 3: HTTP 400: too long")
    assert "`.results`" in str(error)


def test_raise_stops_at_the_first_failure(talk) -> None:
    server = picky(1)
    with pytest.raises(BadRequestError, match="too long"):
        talk(server, max_concurrency=1).embed(TEXTS, batch_size=1, on_error="raise")
    assert len(server.posts) == 2


def test_raise_stops_at_a_vector_that_is_not_finite(talk) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, edited(lambda said: said["data"][1].update(embedding=[None] * 4)))
    with pytest.raises(ResponseError, match="item 1 is not finite"):
        talk(server, transport="float").embed(TEXTS[:3], on_error="raise")


def test_all_failing_for_reasons_of_their_own_is_a_partial_failure(talk) -> None:
    with pytest.raises(PartialFailureError) as caught:
        talk(picky(*range(4), same_words=False)).embed(TEXTS[:4])
    assert len(caught.value.failures) == 4
    assert np.isnan(caught.value.results.vectors).all()
    assert len({str(error) for _, error in caught.value.failures}) == 4


def test_a_timeout_of_one_batch_leaves_the_others(talk) -> None:
    server = FakeVLLM()
    server.always(TEXTS[5], broken("ReadTimeout"))
    result = talk(server, max_retries=0).embed(TEXTS, batch_size=4, on_error="return")
    assert_kept_but(result, {4, 5, 6, 7})
    assert all(isinstance(error, APITimeoutError) for _, error in result.failures)


def test_batches_are_bounded_by_count_and_by_characters(talk) -> None:
    server = FakeVLLM()
    texts = ["x" * 200_000, "y" * 200_000, *["z"] * 300, "w" * 900_000]
    np.testing.assert_array_equal(talk(server).embed(texts).vectors, vectors_of(texts, 4))
    sizes = [(len(post.texts), sum(map(len, post.texts))) for post in server.posts]
    assert all(count <= 128 for count, _ in sizes)
    assert all(size <= 262_144 or count == 1 for count, size in sizes)


def test_a_slice_of_a_result_keeps_its_failures(talk) -> None:
    result = talk(picky(3, 30)).embed(TEXTS, on_error="return")[2:20]
    assert [place for place, _ in result.failures] == [1]
    np.testing.assert_array_equal(result.vectors[0], vector_of(TEXTS[2], 4))
    assert "1 failed" in repr(result)


@pytest.mark.parametrize("code", [500, 503])
def test_an_error_of_the_server_for_everything_is_raised_as_itself(talk, code, pauses) -> None:
    server = FakeVLLM()
    server.always(EMBEDDINGS, status(code))
    with pytest.raises(InternalServerError):
        talk(server).embed(TEXTS, batch_size=20)


DOWN = {
    "503": status(503),
    "500": status(500),
    "late": broken("ReadTimeout"),
    "garbage": body(b"<html>"),
    "unreachable": broken("ConnectError"),
}


@pytest.mark.parametrize("on_error", ["collect", "return", "raise"])
@pytest.mark.parametrize("count", [100, 400])
@pytest.mark.parametrize("fault", DOWN.values(), ids=DOWN)
def test_a_server_that_is_down_gets_a_bounded_number_of_requests(
    talk, fault, count, on_error, pauses
) -> None:
    """As docs/reliability.md states it; the job is of many more batches than that."""
    server = FakeVLLM()
    server.always(EMBEDDINGS, fault)
    client = talk(server, max_retries=1, max_concurrency=4)
    texts = [f"text {i}" for i in range(count)]
    with pytest.raises(VLLMModalitiesError):
        client.embed(texts, batch_size=1, on_error=on_error)
    assert len(server.posts) <= (4 + IN_A_ROW - 1) * (1 + 1)


def test_what_is_done_when_the_server_goes_down_is_kept(talk, pauses) -> None:
    server = FakeVLLM()
    for text in TEXTS[20:]:
        server.always(text, status(503))
    result = talk(server, max_concurrency=1).embed(TEXTS, batch_size=1, on_error="return")
    assert_kept_but(result, set(range(20, 40)))
    assert len(server.posts) == 20 + 3 * IN_A_ROW


def test_failures_with_successes_between_them_end_nothing(talk, pauses) -> None:
    server = FakeVLLM()
    bad = set(range(0, 40, 2))
    for place in bad:
        server.always(TEXTS[place], status(503))
    client = talk(server, max_concurrency=1)
    assert_kept_but(client.embed(TEXTS, batch_size=1, on_error="return"), bad)


def test_any_number_of_refusals_in_a_row_ends_nothing(talk) -> None:
    bad = set(range(30))
    client = talk(picky(*bad), max_concurrency=1)
    assert_kept_but(client.embed(TEXTS, batch_size=1, on_error="return"), bad)


def test_a_harmless_text_that_fails_for_another_reason_proves_nothing(talk) -> None:
    server = picky(*range(39))
    server.always("a", status(500))
    result = talk(server).embed(TEXTS, on_error="return")
    assert_kept_but(result, set(range(39)))
    assert all("too long" in str(error) for _, error in result.failures)


def test_whether_a_harmless_text_is_taken_is_asked_once(talk) -> None:
    server = picky(*range(39))
    talk(server).embed(TEXTS, on_error="return")
    assert [post.texts for post in server.posts].count(("a",)) == 1
