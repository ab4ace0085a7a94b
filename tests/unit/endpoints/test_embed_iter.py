"""`embed_iter`: batches of vectors in order, from inputs without end, by both clients."""

import base64
import threading
import weakref
from collections.abc import AsyncIterator, Iterator

import anyio
import numpy as np
import pytest
from _script import (
    ASYNCIO,
    BLOCKING,
    TRIO,
    Answer,
    FakeVLLM,
    Talker,
    body,
    broken,
    status,
    vectors_of,
    words_of,
)
from PIL import Image

from vllm_modalities import (
    APIConnectionError,
    BadRequestError,
    InternalServerError,
    InvalidRequestError,
    ModelUsageWarning,
    PartialFailureError,
)

EMBEDDINGS = "/v1/embeddings"
TEXTS = [f"text {i}" for i in range(10)]


def stacked(batches: list) -> np.ndarray:
    return np.vstack([batch.vectors for batch in batches])


@pytest.mark.parametrize("given", [list, iter, tuple, np.array])
@pytest.mark.parametrize(("batch_size", "sizes"), [(4, [4, 4, 2]), (10, [10]), (None, [10])])
def test_batches_come_in_the_order_of_the_inputs(talk, given, batch_size, sizes) -> None:
    batches = talk(FakeVLLM()).every("embed_iter", given(TEXTS), batch_size=batch_size)
    assert [len(batch) for batch in batches] == sizes
    np.testing.assert_array_equal(stacked(batches), vectors_of(TEXTS, 4))
    assert {batch.model for batch in batches} == {"m"}


@pytest.mark.parametrize("kind", [ASYNCIO, TRIO])
def test_an_async_iterable_is_read_by_the_async_client(kind) -> None:
    async def texts() -> AsyncIterator[str]:
        for text in TEXTS:
            await anyio.lowlevel.checkpoint()
            yield text

    batches = Talker(kind, FakeVLLM()).every("embed_iter", texts(), batch_size=3)
    np.testing.assert_array_equal(stacked(batches), vectors_of(TEXTS, 4))


def test_an_async_iterable_is_refused_by_the_blocking_client() -> None:
    async def texts() -> AsyncIterator[str]:
        yield "a"

    (error,) = Talker(BLOCKING, FakeVLLM()).every("embed_iter", texts())
    assert isinstance(error, InvalidRequestError)
    assert "only AsyncClient" in str(error)


def test_no_input_makes_no_request(talk) -> None:
    server = FakeVLLM()
    assert talk(server).every("embed_iter", []) == []
    assert server.sent == []


def test_all_kinds_of_inputs_are_taken(talk) -> None:
    hello = [{"role": "user", "content": "hello"}]
    for given, words in (
        ([[1, 2], [3]], ["[1, 2]", "[3]"]),
        ([hello, hello], [words_of(hello)] * 2),
    ):
        batches = talk(FakeVLLM()).every("embed_iter", given)
        np.testing.assert_array_equal(stacked(batches), vectors_of(words, 4))
    server = FakeVLLM()
    (batch,) = talk(server).every("embed_iter", [Image.new("RGB", (2, 2))] * 2)
    assert len(batch) == len(server.posts[0].body["messages"]) == 2


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ("one text", "got str"),
        (b"bytes", "got bytes"),
        (bytearray(b"bytes"), "got bytearray"),
        ({"content": "a"}, "got dict"),
        (5, "got int"),
        (None, "got None"),
        (type("Table", (), {"columns": 1})(), "got Table; give one column of it"),
    ],
)
def test_what_is_not_many_inputs_is_refused_at_once(talk, inputs, words) -> None:
    with pytest.raises(InvalidRequestError, match=f"embed_iter takes many inputs.*{words}"):
        talk(FakeVLLM()).client.embed_iter(inputs)


@pytest.mark.parametrize(
    "wrong",
    [{"batch_size": 0}, {"truncate": "middle"}, {"on_error": "ignore"}, {"dtype": "float64"}],
)
def test_a_wrong_option_is_refused_at_once(talk, wrong) -> None:
    with pytest.raises(InvalidRequestError):
        talk(FakeVLLM()).client.embed_iter(TEXTS, **wrong)


@pytest.mark.parametrize(
    ("bad", "words"), [(None, "item 6 of inputs must be"), ([1], "must be of one kind")]
)
def test_an_input_that_is_none_comes_after_the_vectors_of_those_before_it(talk, bad, words) -> None:
    *batches, error = talk(FakeVLLM()).every(
        "embed_iter", [*TEXTS[:6], bad, *TEXTS[6:]], batch_size=4
    )
    np.testing.assert_array_equal(stacked(batches), vectors_of(TEXTS[:6], 4))
    assert isinstance(error, InvalidRequestError)
    assert words in str(error)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_batch_says_which_inputs_it_has(talk, ordered) -> None:
    batches = talk(FakeVLLM()).every("embed_iter", TEXTS, batch_size=3, ordered=ordered)
    assert sorted(batch.start for batch in batches) == [0, 3, 6, 9]
    for batch in [*batches, *(batch[1:] for batch in batches), *(batch[::-2] for batch in batches)]:
        if len(batch):
            np.testing.assert_array_equal(batch[0], vectors_of(TEXTS, 4)[batch.start])


def test_a_slow_batch_holds_up_no_other_where_order_does_not_matter() -> None:
    server, others_are_there = FakeVLLM(), threading.Event()

    def slow(answer: Answer) -> Answer:
        assert others_are_there.wait(30)
        return answer

    def told(done: int, _: int | None) -> None:
        if done == 8:
            others_are_there.set()

    server.once("text 0", slow)
    client = Talker(BLOCKING, server, max_concurrency=2)
    batches = client.every("embed_iter", TEXTS, batch_size=2, ordered=False, progress=told)
    assert batches[0].start == 2
    in_order = sorted(batches, key=lambda batch: batch.start)
    np.testing.assert_array_equal(stacked(in_order), vectors_of(TEXTS, 4))


@pytest.mark.parametrize("transport", ["base64", "float"])
def test_all_batches_have_the_width_of_the_first_that_came(talk, transport) -> None:
    server = FakeVLLM()
    client = talk(server, transport=transport, max_concurrency=1)
    other = np.ones(3, "<f4")
    told = base64.b64encode(other).decode() if transport == "base64" else other.tolist()
    server.once("text 4", body({"data": [{"index": 0, "embedding": told}]}))
    *batches, error = client.every("embed_iter", TEXTS, batch_size=1)
    assert {batch.dimensions for batch in batches} == {4}
    ((place, failed),) = error.failures
    assert place == 4
    assert "vectors are 3 numbers wide, not 4" in str(failed)


def test_long_inputs_make_short_batches(talk) -> None:
    server = FakeVLLM()
    texts = ["x" * 100_000, "y" * 200_000, "z", "z", "x" * 300_000, "y"]
    batches = talk(server).every("embed_iter", texts)
    assert [len(batch) for batch in batches] == [1, 3, 1, 1]
    np.testing.assert_array_equal(stacked(batches), vectors_of(texts, 4))


def test_the_width_is_learned_and_then_bytes_are_asked_for(talk) -> None:
    server = FakeVLLM()
    batches = talk(server, max_concurrency=1).every("embed_iter", TEXTS, batch_size=2)
    assert [batch.transport for batch in batches][-1] == "bytes"
    assert server.posts[0].body["encoding_format"] == "base64"


def test_options_are_those_of_embed(talk) -> None:
    server = FakeVLLM(matryoshka=True)
    options = {"dimensions": 2, "normalize": False, "truncate": "end", "dtype": "float16"}
    batches = talk(server).every("embed_iter", TEXTS, batch_size=5, **options)
    expected = vectors_of(TEXTS, 4)[:, :2].astype(np.float16)
    np.testing.assert_array_equal(stacked(batches), expected)
    sent = server.posts[-1].body
    assert (sent["dimensions"], sent["use_activation"]) == (2, False)
    assert (sent["truncate_prompt_tokens"], sent["truncation_side"]) == (-1, "right")


@pytest.mark.parametrize(
    ("model", "path"), [("multilingual-e5-small", EMBEDDINGS), ("m", "/v2/embed")]
)
def test_words_are_put_before_texts_by_whoever_knows_them(talk, model, path) -> None:
    server = FakeVLLM(model=model, prompts={"query": "query: "})
    batches = talk(server).every("embed_iter", TEXTS, batch_size=4, input_type="query")
    expected = vectors_of([f"query: {text}" for text in TEXTS], 4)
    np.testing.assert_array_equal(stacked(batches), expected)
    assert {post.path for post in server.posts} == {path}


def test_missing_words_are_warned_of_once(talk) -> None:
    client = talk(FakeVLLM(model="multilingual-e5-small"))
    with pytest.warns(ModelUsageWarning) as caught:
        batches = client.every("embed_iter", TEXTS, batch_size=2)
    assert len(caught) == 1
    assert all("input_type" in batch.warnings[0] for batch in batches)


def picky(**told) -> FakeVLLM:
    return FakeVLLM(refuses=lambda text: "no" if text in ("text 3", "text 8") else None, **told)


def test_failures_are_nan_rows_of_their_batches_and_an_error_in_the_end(talk) -> None:
    *batches, error = talk(picky()).every("embed_iter", TEXTS, batch_size=4)
    vectors = stacked(batches)
    assert np.isnan(vectors[[3, 8]]).all()
    good = [i for i in range(10) if i not in (3, 8)]
    np.testing.assert_array_equal(vectors[good], vectors_of(TEXTS, 4)[good])
    assert [[place for place, _ in batch.failures] for batch in batches] == [[3], [], [0]]
    assert isinstance(error, PartialFailureError)
    assert [place for place, _ in error.failures] == [3, 8]
    assert "2 of 10 items failed; the first, item 3" in str(error)
    assert "the results before this error have the others" in str(error)
    assert len(error.results) == 0


def test_failures_may_be_returned(talk) -> None:
    batches = talk(picky()).every("embed_iter", TEXTS, batch_size=4, on_error="return")
    assert [len(batch.failures) for batch in batches] == [1, 0, 1]


def test_the_first_failure_may_end_it(talk) -> None:
    *batches, error = talk(picky()).every("embed_iter", TEXTS, batch_size=2, on_error="raise")
    assert isinstance(error, BadRequestError)
    np.testing.assert_array_equal(stacked(batches), vectors_of(TEXTS[:2], 4))


@pytest.mark.parametrize("on_error", ["collect", "raise", "return"])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [(broken("ConnectError"), APIConnectionError), (status(401), Exception)],
    ids=["unreachable", "wrong key"],
)
def test_a_cause_that_all_inputs_share_ends_it(talk, pauses, on_error, fault, kind) -> None:
    server = FakeVLLM()
    client = talk(server)
    client.embed("learn the width")
    server.always(EMBEDDINGS, fault)
    (error,) = client.every("embed_iter", TEXTS, batch_size=2, on_error=on_error)
    assert isinstance(error, kind)
    assert not isinstance(error, PartialFailureError)


@pytest.mark.parametrize("on_error", ["collect", "return"])
def test_servers_that_fail_batch_after_batch_are_asked_no_more(talk, pauses, on_error) -> None:
    server = FakeVLLM()
    client = talk(server, max_concurrency=2, max_retries=0)
    client.embed("learn the width")
    server.always(EMBEDDINGS, status(500))
    texts = (f"text {i}" for i in range(10_000))
    *batches, error = client.every("embed_iter", texts, batch_size=1, on_error=on_error)
    assert isinstance(error, InternalServerError)
    assert len(batches) <= 7 + 2  # two under way at once may be the eighth
    assert len(server.posts) <= 1 + 7 + 2 + 2 * 2


def test_a_batch_that_fails_now_and_then_does_not_end_it(talk, pauses) -> None:
    server = FakeVLLM()
    client = talk(server, max_concurrency=1, max_retries=0)
    client.embed("learn the width")
    for i in range(0, 60, 2):
        server.always(f"text {i}", status(500))
    texts = [f"text {i}" for i in range(60)]
    *batches, error = client.every("embed_iter", texts, batch_size=1)
    assert len(batches) == 60
    assert isinstance(error, PartialFailureError)
    assert len(error.failures) == 30


def test_over_long_inputs_are_named_by_their_place_among_all(talk) -> None:
    words = "This model's maximum context length is 1 tokens. However, you requested 2 tokens in"
    routes = (EMBEDDINGS, "/tokenize")
    server = FakeVLLM(refuses=lambda t: words if t == "text 8" else None, routes=routes)
    *_, error = talk(server).every("embed_iter", TEXTS, batch_size=3)
    ((place, failed),) = error.failures
    assert place == 8
    assert failed.message.startswith("item 8 of inputs has 2 tokens, and 'm' reads 1")


def test_an_image_that_cannot_be_read_is_named_by_its_place_among_all(talk) -> None:
    red = Image.new("RGB", (2, 2), "red")
    *_, error = talk(FakeVLLM()).every("embed_iter", [red, red, red, b"none"], batch_size=2)
    assert "item 3 of inputs: " in str(error)


def nan_for(text: str, width: int) -> np.ndarray:
    return np.full(width, np.nan) if text == "text 8" else vectors_of([text], width)[0]


def test_a_vector_that_is_not_finite_is_named_by_its_place_among_all(talk) -> None:
    *_, error = talk(FakeVLLM(vector=nan_for)).every("embed_iter", TEXTS, batch_size=3)
    assert "the vector of item 8 is not finite" in str(error)


@pytest.mark.parametrize(("given", "total"), [(TEXTS, 10), (iter(TEXTS), None)])
def test_progress_is_told_with_the_total_where_it_is_known(given, total) -> None:
    told = []
    client = Talker(BLOCKING, FakeVLLM(), max_concurrency=1)
    client.every(
        "embed_iter", given, batch_size=4, progress=lambda done, of: told.append((done, of))
    )
    assert told == [(4, total), (8, total), (10, total)]


def test_progress_does_not_tell_of_what_was_left(talk) -> None:
    told = []
    client = Talker(BLOCKING, FakeVLLM(), max_concurrency=1).client
    batches = client.embed_iter(TEXTS, batch_size=1, progress=lambda done, _: told.append(done))
    next(batches)
    batches.close()
    assert max(told) < 10


def test_a_bar_is_taken_away_when_the_stream_is_left(capsys) -> None:
    client = Talker(BLOCKING, FakeVLLM()).client
    batches = client.embed_iter(TEXTS, batch_size=1, progress=True)
    next(batches)
    batches.close()
    assert "inputs" in capsys.readouterr().out


class Message(dict):
    """A message that can be counted while it is alive."""


@pytest.mark.parametrize("kind", [BLOCKING, ASYNCIO])
def test_what_is_held_at_once_is_the_window_however_many_inputs_there_are(kind) -> None:
    alive, most = 0, 0

    def gone() -> None:
        nonlocal alive
        alive -= 1

    def conversations() -> Iterator[list[Message]]:
        nonlocal alive, most
        for i in range(1000):
            message = Message(role="user", content=f"text {i}")
            weakref.finalize(message, gone)
            alive += 1
            most = max(most, alive)
            yield [message]

    server = FakeVLLM()
    client = Talker(kind, server, max_concurrency=2)
    count = sum(map(len, client.every("embed_iter", conversations(), batch_size=5)))
    assert count == 1000
    assert 5 < most <= 5 * (2 * 2 + 2)


def test_a_deadline_holds_for_the_whole_stream(talk) -> None:
    (error,) = talk(FakeVLLM(), deadline=1e-9).every("embed_iter", TEXTS)
    assert "deadline" in str(error)
