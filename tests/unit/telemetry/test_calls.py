"""A call is one span and one measurement, with the names that the conventions give."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from dataclasses import replace
from typing import Any
from unittest import mock

import anyio
import numpy as np
import pytest
from _script import (
    ASYNCIO,
    BLOCKING,
    KINDS,
    URL,
    Answer,
    FakeVLLM,
    SparseVLLM,
    Talker,
    as_is,
    status,
)
from opentelemetry.semconv._incubating import attributes as conventions
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import SpanKind, StatusCode
from PIL import Image

from vllm_modalities import (
    AsyncClient,
    BadRequestError,
    EmbeddingRequest,
    InvalidRequestError,
    PartialFailureError,
)

DURATION, TOKENS = "gen_ai.client.operation.duration", "gen_ai.client.token.usage"
SOUND = ((0.5 * np.sin(np.arange(4_000)) * 32_767).astype(np.int16), 16_000)
MINUTE = (np.tile(SOUND[0], 240), 16_000)  # two pieces
PAGE = Image.new("RGB", (40, 40), "white")

# method, its arguments, what the server is for, what the span is called
CALLS = [
    ("embed", ("a text",), "embed", "embeddings m"),
    ("embed_tokens", ("a text",), "late-interaction", "embeddings m"),
    ("embed_sparse", ("a text",), "weights", "embeddings m"),
    ("rerank", ("q", ["a", "b"]), "cross-encoder", "rerank m"),
    ("score", ("q", ["a", "b"]), "cross-encoder", "score m"),
    ("classify", ("a text",), "cross-encoder", "classify m"),
    ("token_classify", ("a text",), "weights", "token_classify m"),
    ("transcribe", (SOUND,), "speech", "transcribe m"),
    ("translate", (SOUND,), "speech", "translate m"),
    ("ocr", (PAGE,), "chat", "ocr m"),
    ("send", (EmbeddingRequest(input=["a"]),), "embed", "send m"),
    ("servers", (), "embed", "servers"),
]
STREAMS = [
    ("embed_iter", (["a", "b"],), "embed", "embeddings m"),
    ("ocr_iter", ([PAGE],), "chat", "ocr m"),
    ("stream_transcription", (SOUND,), "speech", "transcribe m"),
]
quiet = pytest.mark.filterwarnings("ignore::vllm_modalities.VLLMModalitiesWarning")


def server_for(task: str) -> FakeVLLM:
    if task == "weights":
        return SparseVLLM(routes=("/pooling", "/tokenize", "/detokenize"))
    return FakeVLLM(task)


def given_to(task: str) -> dict[str, Any]:
    """Options of a client of such a server, the model of which has no profile."""
    return {"base_url": {"ocr": URL}} if task == "chat" else {}


def known() -> set[str]:
    """Every attribute that the conventions name."""
    modules = (
        importlib.import_module(f"{conventions.__name__}.{found.name}")
        for found in pkgutil.iter_modules(conventions.__path__)
    )
    return {
        value
        for module in modules
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str)
    }


@quiet
@pytest.mark.parametrize(("method", "given", "task", "name"), CALLS, ids=[c[0] for c in CALLS])
def test_a_call_is_one_span_by_the_name_of_the_conventions(
    telling, kept, method, given, task, name
) -> None:
    getattr(telling(server_for(task), **given_to(task)), method)(*given)
    assert kept.call.name == name
    assert kept.call.kind is SpanKind.CLIENT
    assert kept.call.status.status_code is StatusCode.UNSET
    assert {span.parent.span_id for span in kept.spans if span.parent} == {
        kept.call.context.span_id
    }
    if method != "servers":
        assert kept.call.attributes["gen_ai.request.model"] == "m"
    assert kept.call.attributes["gen_ai.provider.name"] == "vllm"
    assert kept.call.attributes["server.address"] == "server"
    assert kept.call.attributes["server.port"] == 80


@quiet
@pytest.mark.parametrize(("method", "given", "task", "name"), STREAMS, ids=[s[0] for s in STREAMS])
def test_a_stream_is_one_span_over_its_life(telling, kept, method, given, task, name) -> None:
    found = telling(server_for(task), **given_to(task)).every(method, *given)
    assert found
    assert not isinstance(found[-1], Exception)
    assert kept.call.name == name
    assert kept.call.status.status_code is StatusCode.UNSET
    assert all(kept.call.start_time <= s.start_time for s in kept.posts)
    assert all(s.end_time <= kept.call.end_time for s in kept.posts)
    assert kept.posts


@quiet
def test_every_name_is_one_of_the_conventions(telling, kept) -> None:
    for method, given, task, _ in CALLS:
        server = server_for(task)
        server.once(
            "*", lambda answer: Answer(answer.status, answer.content, {"x-request-id": "r"})
        )
        getattr(telling(server, contents=True, **given_to(task)), method)(*given)
    for method, given, task, _ in STREAMS:
        telling(server_for(task), contents=True, **given_to(task)).every(method, *given)
    failing = FakeVLLM()
    failing.always("/v1/embeddings", status(400))
    with pytest.raises(BadRequestError):
        telling(failing).embed("a")
    points = [*kept.points(DURATION), *kept.points(TOKENS)]
    told = {key for one in (*kept.spans, *points) for key in one.attributes}
    assert len(told) > 15
    assert told - known() == {"http.response.header.x-request-id"}  # "http.response.header.<key>"


def test_the_metrics_are_those_of_the_conventions(telling, kept) -> None:
    assert gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION == DURATION
    assert gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE == TOKENS
    telling(FakeVLLM(), transport="float").embed(["a", "bb"])
    (seconds,) = kept.points(DURATION)
    (tokens,) = kept.points(TOKENS)
    assert seconds.count == tokens.count == 1
    assert seconds.sum > 0
    assert tokens.sum == 3
    assert tokens.attributes == {**seconds.attributes, "gen_ai.token.type": "input"}
    assert seconds.attributes == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m",
        "server.address": "server",
        "server.port": 80,
    }
    assert list(seconds.explicit_bounds[:3]) == [0.01, 0.02, 0.04]
    assert seconds.explicit_bounds[-1] == 81.92
    assert list(tokens.explicit_bounds) == [4**n for n in range(14)]


def test_what_the_model_wrote_is_counted_apart(telling, kept) -> None:
    server = FakeVLLM("cross-encoder")

    def written(answer: Answer) -> Answer:
        return Answer(200, answer.content.replace(b'"total_tokens": 2', b'"total_tokens": 5'))

    server.always("/v1/rerank", written)
    server.always("/rerank", written)
    telling(server).rerank("q", ["a", "b"])
    assert kept.call.attributes["gen_ai.usage.input_tokens"] == 2
    assert kept.call.attributes["gen_ai.usage.output_tokens"] == 3
    types = {point.attributes["gen_ai.token.type"]: point.sum for point in kept.points(TOKENS)}
    assert types == {"input": 2, "output": 3}


def test_width_and_tokens_are_of_the_result(telling, kept) -> None:
    telling(FakeVLLM(width=6), transport="float").every("embed_iter", ["ab", "c"], batch_size=1)
    assert kept.call.attributes["gen_ai.embeddings.dimension.count"] == 6
    assert kept.call.attributes["gen_ai.usage.input_tokens"] == 3


def test_the_model_that_is_asked_for_is_known_from_the_beginning(telling, kept) -> None:
    client = telling(FakeVLLM())
    client.embed("a", model="m")
    client.with_options(model="m").embed("a")
    client.embed("a")
    calls = [begun for begun in kept.begun if "gen_ai.operation.name" in begun]
    assert [call.get("gen_ai.request.model") for call in calls] == ["m", "m", None]
    assert [call.name for call in kept.calls] == ["embeddings m"] * 3


def test_several_servers_are_told_by_the_requests_alone(telling, kept) -> None:
    network = {f"http://{name}:8000": FakeVLLM() for name in "abc"}
    telling(network).embed([str(n) for n in range(30)], batch_size=1)
    assert "server.address" not in kept.call.attributes
    told = [span.attributes["server.address"] for span in kept.posts]
    assert {name: told.count(name) for name in "abc"} == {
        name: len(network[f"http://{name}:8000"].posts) for name in "abc"
    }
    assert len(told) == 30
    assert {span.context.trace_id for span in kept.spans} == {kept.call.context.trace_id}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("method", "given", "task"),
    [("embed", (["a", "b"],), "embed"), *(stream[:3] for stream in STREAMS)],
)
@quiet
def test_a_call_stands_under_the_span_where_it_was_made(kind, kept, method, given, task) -> None:
    talker = Talker(kind, server_for(task), **given_to(task))
    kept.of(talker.client)
    with kept.tracer.start_as_current_span("above") as above:
        if method == "embed":
            talker.embed(*given)
        else:
            talker.every(method, *given)
    assert kept.call.parent.span_id == above.get_span_context().span_id
    assert {span.parent.span_id for span in kept.posts} == {kept.call.context.span_id}


def test_calls_side_by_side_are_not_mixed_up(kept) -> None:
    talker = Talker(ASYNCIO, FakeVLLM(), transport="float")
    kept.of(talker.client)
    client: AsyncClient = talker.client

    async def one(number: int) -> None:
        with kept.tracer.start_as_current_span(f"above {number}"):
            await client.embed([f"{number}"] * (number + 1), batch_size=1)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(one, number)

    anyio.run(main)
    above = {s.context.span_id: s for s in kept.spans if s.name.startswith("above")}
    for call in kept.calls:
        number = int(above[call.parent.span_id].name.removeprefix("above "))
        posts = [post for post in kept.posts if post.parent.span_id == call.context.span_id]
        assert len(posts) == number + 1
        assert call.attributes["gen_ai.usage.input_tokens"] == number + 1


def test_a_refused_call_is_a_failed_span_without_its_words(telling, kept) -> None:
    with pytest.raises(InvalidRequestError):
        telling(FakeVLLM()).embed([3.5])
    assert kept.call.attributes["error.type"] == "InvalidRequestError"
    assert kept.call.status.status_code is StatusCode.ERROR
    assert kept.call.status.description is None
    assert kept.call.events == ()
    (seconds,) = kept.points(DURATION)
    assert seconds.attributes["error.type"] == "InvalidRequestError"


def test_an_error_says_more_where_contents_are_wanted(telling, kept) -> None:
    server = FakeVLLM(refuses=lambda text: f"{text} is too long")
    with pytest.raises(BadRequestError):
        telling(server, contents=True).send(EmbeddingRequest(input=["the plan"]))
    assert "the plan is too long" in kept.call.status.description
    assert "the plan is too long" in kept.posts[-1].status.description


def test_a_call_of_which_a_part_failed_tells_the_tokens_of_the_rest(telling, kept) -> None:
    server = FakeVLLM(refuses=lambda text: "no" if text == "bad" else None)
    with pytest.raises(PartialFailureError):
        telling(server, transport="float").embed(["aa", "bad", "bb"])
    assert kept.call.attributes["error.type"] == "PartialFailureError"
    assert kept.call.attributes["gen_ai.usage.input_tokens"] == 4


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != BLOCKING])
def test_a_call_that_is_cancelled_says_so(kind, kept) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", lambda _: Answer(silent=True))
    talker = Talker(kind, server)
    kept.of(talker.client)

    async def main() -> None:
        with anyio.move_on_after(0.2):
            await talker.client.embed("a")

    anyio.run(main, backend=kind)
    assert kept.call.attributes["error.type"] == "cancelled"
    assert kept.posts[0].attributes["error.type"] == "cancelled"


def left_after_one(talker: Talker, method: str, *given: Any) -> None:
    """Take one result of a stream, and leave."""
    stream = getattr(talker.client, method)(*given)

    async def main() -> None:
        await anext(stream)
        await stream.aclose()

    if talker.kind == BLOCKING:
        next(stream)
        stream.close()
    else:
        anyio.run(main, backend=talker.kind)


def test_leaving_a_stream_early_ends_its_span_and_is_no_error(telling, kept) -> None:
    texts = (str(n) for n in range(1_000_000))
    client = telling(FakeVLLM())
    left_after_one(client, "embed_iter", texts)
    assert kept.call.status.status_code is StatusCode.UNSET
    assert "error.type" not in kept.call.attributes


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_a_live_text_early_is_no_error_either(kind, kept) -> None:
    """The blocking client's flow ends by itself, a moment later, with half an answer."""
    going = threading.Event()

    def endless(answer: Answer) -> Answer:
        return replace(answer, endless=lambda: going.wait(0.01))

    server = FakeVLLM("speech")
    server.once("/v1/audio/transcriptions", as_is, endless)
    talker = Talker(kind, server)
    kept.of(talker.client)
    left_after_one(talker, "stream_transcription", MINUTE)
    while not kept.calls:
        going.wait(0.01)
    assert kept.call.status.status_code is StatusCode.UNSET
    assert kept.call.attributes["gen_ai.response.time_to_first_chunk"] > 0


def test_a_stream_that_nobody_reads_has_no_span(telling, kept) -> None:
    client = telling(FakeVLLM()).client
    client.embed_iter(["a"])
    client.stream_transcription(SOUND)
    assert kept.spans == []


def test_an_error_of_the_items_is_the_stream_s(telling, kept) -> None:
    def texts():
        yield "a"
        raise KeyError("mine")

    found = telling(FakeVLLM()).every("embed_iter", texts())
    assert isinstance(found[-1], KeyError)
    assert kept.call.attributes["error.type"] == "KeyError"


def test_a_stream_that_cannot_begin_is_a_failed_span(telling, kept) -> None:
    server = FakeVLLM("cross-encoder")
    found = telling(server).every("embed_iter", ["a"])
    assert kept.call.attributes["error.type"] == type(found[-1]).__name__


def test_text_that_comes_live_tells_when_it_began(telling, kept) -> None:
    client = telling(FakeVLLM("speech"))
    words = client.every("stream_transcription", MINUTE)
    assert len(words) > 1
    attributes = kept.call.attributes
    assert attributes["gen_ai.request.stream"] is True
    assert attributes["gen_ai.response.time_to_first_chunk"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_options_of_a_client_do_not_turn_it_off(kind, kept) -> None:
    talker = Talker(kind, FakeVLLM())
    before = talker.with_options(timeout=5)
    kept.of(talker.client)
    before.embed("a")
    assert kept.spans == []
    talker.with_options(timeout=5).embed("a")
    assert len(kept.calls) == len(kept.posts) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_time_replaces_the_first(kind, kept) -> None:
    talker = Talker(kind, FakeVLLM())
    other = type(kept)()
    other.of(talker.client)
    kept.of(talker.client)
    talker.embed("a")
    assert other.spans == []
    assert len(kept.posts) == 1


def test_contents_are_recorded_only_where_they_are_wanted(telling, kept) -> None:
    for contents in (False, True):
        kept.forget()
        server = FakeVLLM("chat", says="What the page says.")
        telling(server, contents=contents, **given_to("chat")).ocr(PAGE, prompt="the words of mine")
        telling(FakeVLLM("speech"), contents=contents).transcribe(SOUND)
        telling(FakeVLLM("embed"), contents=contents).embed(["the words of mine", "and more"])
        told = "".join(span.to_json() for span in kept.spans)
        assert ("the words of mine" in told) is contents
        assert ("What the page says." in told) is contents
        assert "base64" not in told
    ocr, heard, embedded = kept.calls
    assert "A word." in heard.attributes["gen_ai.output.messages"]
    assert "gen_ai.output.messages" not in embedded.attributes
    assert ocr.attributes["gen_ai.output.messages"] == (
        '[{"role": "assistant", "parts": [{"type": "text", "content": "What the page says."}],'
        ' "finish_reason": "stop"}]'
    )
    sent = kept.posts[-1].attributes["gen_ai.input.messages"]
    assert sent == (
        '[{"role": "user", "parts": [{"type": "text", "content": "the words of mine"},'
        ' {"type": "text", "content": "and more"}]}]'
    )


@pytest.mark.parametrize("kind", KINDS)
def test_closing_closes_what_is_underneath(kind, kept) -> None:
    client = Talker(kind, FakeVLLM()).client
    underneath = client._driver.transport
    kept.of(client)
    with mock.patch.object(underneath, "close", autospec=True) as closed:
        client.close() if kind == BLOCKING else anyio.run(client.close, backend=kind)
    closed.assert_called_once_with()
