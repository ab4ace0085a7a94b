"""Pages that are heard as they are written: whole ones, broken ones, and loops cut short."""

from __future__ import annotations

import json
from collections.abc import Iterator

import anyio
import pytest
from _pages import Reader, document, spoken
from _script import BLOCKING, KINDS, URL, Answer
from _sockets import Heard, answer, serving
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import (
    AsyncClient,
    BadRequestError,
    Client,
    InternalServerError,
    Profile,
    ResponseError,
)
from vllm_modalities._flow import Response
from vllm_modalities.endpoints._writing import Watch
from vllm_modalities.profiles import OCRProfile

KIND = {"content-type": "text/event-stream; charset=utf-8"}
FACTS = Profile(
    name="Mine", pattern="mine", ocr=OCRProfile(prompts={"markdown": "Read."}, sources={})
)


def event(said: object) -> bytes:
    return b"data: " + json.dumps(said).encode() + b"\n\n"


def piece(text: str | None, finish: str | None = None) -> bytes:
    return event({"choices": [{"delta": {"content": text}, "finish_reason": finish}]})


def stream(text: str, finish: str = "stop", *, size: int = 5) -> bytes:
    """As vLLM writes it: a role, pieces, the reason, the tokens, the end."""
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    role = event({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
    tokens = event({"choices": [], "usage": {"total_tokens": 9}})
    end = piece("", finish) + tokens + b"data: [DONE]\n\n"
    return role + b"".join(map(piece, pieces)) + end


def streamed(content: bytes) -> Answer:
    return Answer(content=content, headers=KIND)


def test_a_page_is_what_its_events_say(talk) -> None:
    server = Reader(answers=lambda ask: streamed(stream(spoken(ask))))
    found = talk(server).ocr(document(3))
    whole = talk(Reader()).ocr(document(3))
    assert server.asks[0].fields["stream"] is True
    assert found.to_dict() == whole.to_dict()


@given(
    text=st.text(max_size=200),
    finish=st.sampled_from(["stop", "length", "repetition"]),
    size=st.integers(1, 9),
    cuts=st.lists(st.integers(0, 10_000), max_size=9),
)
def test_words_and_reason_do_not_depend_on_how_they_came(text, finish, size, cuts) -> None:
    content = stream(text, finish, size=size)
    watch, begin = Watch(), 0
    for end in [*sorted(cut % (len(content) + 1) for cut in cuts), len(content)]:
        assert watch(content[begin:end])
        begin = end
    assert watch.heard(Response(200, KIND, content)) == (text, finish)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "stopped before its end"),
        (piece("Words", "stop"), "stopped before its end"),
        (b"data: {\n\n", "cannot be read"),
        (b"data: [1]\n\n", "cannot be read"),
        (b"data: " + b"a" * 2**21, "cannot be read: an event of more than"),
    ],
    ids=["nothing", "no end", "no JSON", "no object", "an endless event"],
)
def test_a_stream_that_is_none_is_an_error_with_evidence(talk, content, words) -> None:
    with pytest.raises(ResponseError, match=words):
        talk(Reader(answers=lambda ask: streamed(content))).ocr(document(1))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "`ngram_size` has to be positive", "code": 400}, BadRequestError),
        ({"message": "`ngram_size` is out of memory", "code": 500}, InternalServerError),
        ({"message": "`ngram_size` is odd", "code": "odd"}, InternalServerError),
        ("`ngram_size`", InternalServerError),
    ],
    ids=str,
)
def test_an_error_in_a_stream_is_that_error(talk, error, kind) -> None:
    content = event({"error": error}) + b"data: [DONE]\n\n"
    with pytest.raises(kind, match="ngram_size") as caught:
        talk(Reader(answers=lambda ask: streamed(content))).ocr(document(1))
    assert (caught.value.server, caught.value.body) == (URL, content.partition(b"\n")[0][6:])


def test_a_gateway_that_answers_whole_is_understood(talk) -> None:
    assert talk(Reader()).ocr(document(1)).text.startswith("Page 1.")


def test_a_caller_may_have_it_whole(talk) -> None:
    server = Reader()
    talk(server).ocr(document(1), extra_body={"stream": False})
    assert server.asks[0].fields["stream"] is False


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LONG = "The same row, again and again, to the last token. "


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_is_hung_up_on_long_before_its_end(kind) -> None:
    """The server would write two million characters."""
    written = []

    def respond(heard: Heard) -> Iterator[bytes]:
        path = heard.head.split()[1]
        said = {
            "/version": {"version": "0.32.0"},
            "/v1/models": {"data": [{"id": "mine"}]},
            "/openapi.json": {"paths": {"/v1/chat/completions": {}}},
        }
        if path in said:
            yield answer(json.dumps(said[path]).encode())
            return
        written.append(0)
        yield HEAD
        for _ in range(40_000):
            one = piece(LONG)
            written[-1] += len(LONG)
            yield b"%x\r\n%b\r\n" % (len(one), one)

    async def awaited(url: str):
        async with AsyncClient(url, profiles=[FACTS]) as client:
            return await client.ocr(document(1))

    with serving(respond) as server:
        if kind == BLOCKING:
            with Client(server.url, profiles=[FACTS]) as client:
                page = client.ocr(document(1)).pages[0]
        else:
            page = anyio.run(awaited, server.url, backend=kind).pages[0]
        tries = list(written)
    assert len(tries) == 3
    assert page.finish_reason == "repetition"
    assert 4_000 <= len(page.text) < 1_000_000
    assert any("the text ends in a loop: 'The same row" in warning for warning in page.warnings)


def test_a_long_page_of_equal_rows_is_no_loop() -> None:
    watch = Watch()
    assert all(watch(piece("| 0 | 0 | 0 | 0 | 0 |\n")) for _ in range(120))
    assert all(watch(piece(f"Row {n}, which differs from all others.\n")) for n in range(400))


def test_loops_of_every_length_are_found() -> None:
    for unit in ("a", "ab ", "x" * 99 + "\n", "".join(map(str, range(130)))):
        watch = Watch()
        assert not all(watch(piece(unit)) for _ in range(12_000 // len(unit) + 30))


def test_a_try_that_was_cut_is_heard_anew(talk, pauses) -> None:
    cut = Answer(content=stream("Half of a page"), headers=KIND, cut=True)
    given = iter([cut, streamed(stream("The whole page."))])
    found = talk(Reader(answers=lambda ask: next(given))).ocr(document(1))
    assert found.text == "The whole page."
    assert any(pauses)
