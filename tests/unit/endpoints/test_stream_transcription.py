"""`stream_transcription` through either client: words as they come, and the whole at the end."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import anyio
import numpy as np
import pytest
from _script import BLOCKING, Answer, FakeVLLM, Talker, body, cut
from _sockets import Heard, serving
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import (
    AsyncClient,
    BadRequestError,
    Client,
    InvalidRequestError,
    MediaError,
    ResponseError,
    Transcript,
)
from vllm_modalities.audio.reading import Waveform, encode, read_audio
from vllm_modalities.endpoints._listening import Telling

TONE = (0.5 * np.sin(np.arange(4_000)) * 32_767).astype(np.int16)
SOUND = (TONE, 16_000)  # a quarter of a second
PATH, CHAT = "/v1/audio/transcriptions", "/v1/chat/completions"


def event(content: str | None = None, reason: str | None = None) -> bytes:
    """As vLLM 0.32.0 writes it: what is unset is left out."""
    delta = {} if content is None else {"content": content}
    choice: dict[str, Any] = {"delta": delta}
    if reason:
        choice |= {"finish_reason": reason, "stop_reason": None}
    chunk = {"id": "t-1", "object": "transcription.chunk", "choices": [choice]}
    return b"data: %b\n\n" % json.dumps(chunk, ensure_ascii=False).encode()


END = b"data: [DONE]\n\n"
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":4}}\n\n'
TWO_CHUNKS = (
    event(" The")
    + event(" mu")
    + event("seum.", "stop")
    + event(" Grüß")
    + event(" dich 语.", "stop")
    + USAGE
    + END
)


def streaming(content: bytes = TWO_CHUNKS, *, model: str = "listener", **told: Any) -> FakeVLLM:
    server = FakeVLLM("speech", model=model, **told)
    server.always(PATH, body(content, content_type="text/event-stream; charset=utf-8"))
    return server


def read(talker: Talker, audio: Any = SOUND, **options: Any) -> tuple[list[str], Transcript]:
    """The pieces, and the whole; raises what the stream raises."""
    stream = talker.client.stream_transcription(audio, **options)
    if talker.kind == BLOCKING:
        return list(stream), stream.result

    async def collect() -> list[str]:
        return [text async for text in stream]

    return anyio.run(collect, backend=talker.kind), stream.result


def test_the_pieces_are_the_text_and_the_result_is_the_whole(talk) -> None:
    server = streaming()
    pieces, whole = read(talk(server), language="de", prompt="p", hotwords=["a", "b"])
    assert "".join(pieces) == whole.text == "The museum. Grüß dich 语."
    assert (whole.language, whole.duration, whole.model) == ("de", 0.25, "listener")
    assert [(s.start, s.end, s.text) for s in whole.segments] == [(0.0, 0.25, whole.text)]
    assert whole.warnings == ()
    assert server.posts[0].fields == {
        "model": ["listener"],
        "stream": ["true"],
        "response_format": ["json"],
        "language": ["de"],
        "prompt": ["p"],
        "hotwords": ["a,b"],
    }


def test_each_chunk_s_own_end_is_not_the_end(talk) -> None:
    content = event(" One", "length") + event(" two", "stop") + event(" three", "length") + END
    _, whole = read(talk(streaming(content)))
    assert whole.text == "One two three"
    assert [warning for warning in whole.warnings if "cut" in warning] == [
        "0.0 to 0.2 s: the text is cut: the model did not end chunk 1 of 3 by itself ('length')",
        "0.0 to 0.2 s: the text is cut: the model did not end chunk 3 of 3 by itself ('length')",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [(" again" * 40, "again and again"), (" abcdefgh" * 12, "abcdefgh"), ("x" * 90, "0.2 s")],
)
def test_what_is_doubtful_is_told_though_it_is_not_asked_for_again(talk, words, said) -> None:
    server = streaming(event(words, "stop") + END)
    _, whole = read(talk(server))
    (warning,) = whole.warnings
    assert warning.startswith("0.0 to 0.2 s: ")
    assert said in warning
    assert len(server.posts) == 1


def test_silence_is_no_piece(talk) -> None:
    pieces, whole = read(talk(streaming(event("", "stop") + END)))
    assert (pieces, whole.text, whole.segments) == ([], "", ())


BROKEN = {
    "an error in it": (
        event(" The") + b'data: {"error":{"message":"engine died","code":500}}\n\n' + END,
        "engine died",
    ),
    "an error with a secret end": (b'data: {"error": "no"}\n\n', "no"),
    "no end": (event(" The", "stop"), "before its end"),
    "nothing": (b"", "before its end"),
    "no JSON": (b"data: {]\n\n" + END, "cannot be read"),
    "another JSON": (b'data: {"choices": 3}\n\n' + END, "cannot be read"),
    "no stream": (b'{"text": "whole"}', "before its end"),
    "broken characters": (b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n', "cannot be"),
}


@pytest.mark.parametrize(("content", "told"), BROKEN.values(), ids=BROKEN)
def test_a_stream_that_is_not_whole_is_an_error_with_its_bytes(talk, content, told) -> None:
    server = streaming(content)
    with pytest.raises(ResponseError, match=told) as caught:
        read(talk(server))
    assert caught.value.body == content
    assert len(server.posts) == 1


def test_no_part_of_a_key_stays_where_an_error_is_cut(talk) -> None:
    key = "tops3cret-" * 4
    content = b'data: {"error": "%b%b"}\n\n' % (b"x" * 480, key.encode())
    with pytest.raises(ResponseError) as caught:
        read(talk(streaming(content), api_key=key))
    assert "tops3cret" not in str(caught.value)


def half(answer: Answer) -> Answer:
    return cut(body(TWO_CHUNKS)(answer))


def test_a_stream_that_is_cut_is_tried_again_and_nothing_is_told_twice(talk, pauses) -> None:
    server = FakeVLLM("speech")
    server.once(PATH, half, half, body(TWO_CHUNKS))
    pieces, whole = read(talk(server))
    assert "".join(pieces) == whole.text == "The museum. Grüß dich 语."
    assert len(server.posts) == 3


def test_a_stream_that_is_always_cut_is_an_error(talk, pauses) -> None:
    server = FakeVLLM("speech")
    server.always(PATH, half)
    with pytest.raises(ResponseError, match="half-way"):
        read(talk(server))
    assert len(server.posts) == 3


def test_another_try_that_says_other_words_is_an_error(talk, pauses) -> None:
    """What was told cannot be taken back."""
    server = FakeVLLM("speech")
    server.once(PATH, half, body(event(" A museum.", "stop") + END))
    with pytest.raises(ResponseError, match="other words"):
        read(talk(server))


def test_a_refusal_is_the_server_s_own(talk) -> None:
    server = streaming()
    server.always(PATH, body({"error": {"message": "no sound"}}, 400))
    with pytest.raises(BadRequestError, match="no sound"):
        read(talk(server))


def test_what_holds_no_sound_is_an_error_before_any_request(talk) -> None:
    server = streaming()
    with pytest.raises(MediaError):
        read(talk(server), b"no sound")
    assert server.posts == []


@pytest.mark.parametrize("name", ["stream", "response_format"])
def test_what_makes_it_a_stream_is_not_the_caller_s(talk, name) -> None:
    with pytest.raises(InvalidRequestError, match=name):
        read(talk(streaming()), extra_body={name: "json"})


def test_the_result_is_there_when_the_text_has_been_read(talk) -> None:
    talker = talk(streaming())
    stream = talker.client.stream_transcription(SOUND)
    with pytest.raises(RuntimeError, match="read to its end"):
        _ = stream.result


def test_tags_are_held_back_and_never_told(talk) -> None:
    content = b"".join(map(event, ["lang", "uage Eng", "lish<asr", "_text>", "The ", "museum."]))
    server = streaming(content + END, model="Qwen/Qwen3-ASR-1.7B")
    pieces, whole = read(talk(server), language="en")
    assert "".join(pieces) == whole.text == "The museum."


def test_speakers_are_told_apart_at_the_end(talk) -> None:
    content = b"".join(map(event, ["[0.01][S0", "1] One", ". [0.1]", "[0.12][S02] Two. [0.2]"]))
    server = streaming(content + END, model="MOSS-Transcribe-Diarize")
    pieces, whole = read(talk(server))
    assert "".join(pieces) == whole.text == "One. Two."
    assert [(s.start, s.end, s.speaker) for s in whole.segments] == [
        (0.01, 0.1, "S01"),
        (0.12, 0.2, "S02"),
    ]


def test_a_model_that_hears_in_chats_is_streamed_too(talk) -> None:
    server = FakeVLLM("chat", model="google/gemma-4-E4B-it")
    opening = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
    server.always(CHAT, body(opening + TWO_CHUNKS))
    pieces, whole = read(talk(server))
    assert "".join(pieces) == whole.text == "The museum. Grüß dich 语."
    assert server.posts[0].body["stream"] is True


def test_the_server_s_own_answer_is_kept_when_asked_for(talk) -> None:
    _, whole = read(talk(streaming(), keep_raw=True))
    assert whole.raw == (TWO_CHUNKS,)


FLAC = {"part": 100}


def parts_of_a_file() -> Iterator[bytes]:
    content = encode(read_audio(SOUND))
    for start in range(0, len(content), FLAC["part"]):
        yield content[start : start + FLAC["part"]]


def test_samples_that_are_clipped_are_counted(talk) -> None:
    _, whole = read(talk(streaming()), (np.array([0.1, 2.0] * 2_000, np.float32), 16_000))
    assert any("2000 samples were louder" in warning for warning in whole.warnings)


TALK = np.tile(np.concatenate([np.tile(TONE, 60), np.zeros(16_000, np.int16)]), 4)
"""A minute of sound with four pauses."""


def test_a_long_recording_is_told_piece_by_piece(talk) -> None:
    server = FakeVLLM("speech", says="One two.")
    pieces, whole = read(talk(server), (TALK, 16_000), language="en")
    count = len(server.posts)
    assert count > 2
    assert "".join(pieces) == whole.text == " ".join(["One two."] * count)
    starts = [segment.start for segment in whole.segments]
    assert len(starts) == count
    assert starts == sorted(set(starts))
    assert all(a.end <= b.start for a, b in pairwise(whole.segments))


def test_where_nobody_pauses_no_sound_is_sent_twice(talk) -> None:
    server = FakeVLLM("speech", says="One.")
    _, whole = read(talk(server), (np.tile(TONE, 200), 16_000), language="en")
    assert len(server.posts) > 1
    ends = [segment.end for segment in whole.segments]
    assert [0.0, *ends[:-1]] == pytest.approx([segment.start for segment in whole.segments])


def test_a_recording_is_sent_whole_when_that_is_asked_for(talk) -> None:
    server = streaming()
    _, whole = read(talk(server), (TALK, 16_000), chunking="server")
    assert len(server.posts) == 1
    assert whole.segments[0].end == whole.duration == 64.0
    with pytest.raises(InvalidRequestError, match="chunking"):
        read(talk(server), chunking="nobody")


def test_silence_is_not_sent(talk) -> None:
    server = streaming()
    pieces, whole = read(talk(server), (np.zeros(16_000, np.int16), 16_000))
    assert (pieces, whole.text, server.posts) == ([], "", [])
    assert any("nothing was sent" in warning for warning in whole.warnings)


def test_what_comes_before_the_fault_of_a_file_is_told_first() -> None:
    content = encode(Waveform(TALK / np.float32(32_768), 16_000))
    told: list[str] = []
    talker = Talker(BLOCKING, FakeVLLM("speech", says="One."))
    with pytest.raises(MediaError):
        told.extend(talker.client.stream_transcription(content[: len(content) * 3 // 4]))
    assert told[0] == "One."


def test_a_file_may_come_part_by_part(talk) -> None:
    server = streaming()
    _, whole = read(talk(server), parts_of_a_file())
    assert whole.duration == 0.25


def test_an_async_iterable_is_for_async_client_alone(talk) -> None:
    async def parts():
        for part in parts_of_a_file():
            yield part

    talker = talk(streaming())
    if talker.kind == BLOCKING:
        with pytest.raises(InvalidRequestError, match="only AsyncClient"):
            read(talker, parts())
    else:
        assert read(talker, parts())[1].duration == 0.25


KNOWN: dict[str, Any] = {"model": "m", "server_version": "0.32.0"}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part)


class Endless:
    """A server on a socket that says one more word whenever it may, and notes when it is left."""

    def __init__(self) -> None:
        self.left, self.talks = threading.Event(), threading.Event()
        self.more = threading.Semaphore(1)

    def __call__(self, heard: Heard) -> Iterator[bytes]:
        if heard.head.startswith("GET"):
            yield b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"
            return
        yield HEAD
        try:
            while self.talks.is_set() or self.more.acquire(timeout=10):
                yield chunk(event(" word"))
        finally:
            self.left.set()


def leaving(how: Callable[[Any], None], url: str, server: Endless) -> None:
    with Client({"transcribe": url}, **KNOWN) as client:
        stream = client.stream_transcription(SOUND)
        assert next(stream) == "word"
        how(stream)
        del stream
        gc.collect()
        server.talks.set()
        server.more.release()
        assert server.left.wait(10)


@pytest.mark.parametrize("how", [lambda stream: stream.close(), lambda _: None])
def test_leaving_early_hangs_up_on_the_server(how) -> None:
    endless = Endless()
    with serving(endless) as server:
        leaving(how, server.url, endless)


def test_leaving_a_with_block_hangs_up_too() -> None:
    endless = Endless()
    with serving(endless) as server, Client({"transcribe": server.url}, **KNOWN) as client:
        with client.stream_transcription(SOUND) as stream:
            assert next(stream) == "word"
        endless.talks.set()
        endless.more.release()
        assert endless.left.wait(10)


def test_a_stream_that_was_left_is_not_tried_again() -> None:
    telling = Telling(lambda text: text != "", None)
    with pytest.raises(ResponseError, match="left"):
        telling.begin()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("way", ["aclose", "with", "cancel"])
def test_leaving_early_hangs_up_at_once_where_it_is_awaited(backend, way) -> None:
    endless = Endless()

    async def main(url: str) -> None:
        async with AsyncClient({"transcribe": url}, **KNOWN) as client:
            stream = client.stream_transcription(SOUND)
            if way == "with":
                async with stream:
                    assert await anext(stream) == "word"
            else:
                assert await anext(stream) == "word"
                if way == "cancel":
                    with anyio.move_on_after(0.05):
                        await anext(stream)
                else:
                    await stream.aclose()
            endless.talks.set()
            endless.more.release()
            assert await anyio.to_thread.run_sync(endless.left.wait, 10)

    with serving(endless) as server:
        anyio.run(main, server.url, backend=backend)


def test_a_word_is_told_before_the_next_is_written() -> None:
    """The server says a word only when the last one has been told, so this ends if they are."""
    endless = Endless()
    with serving(endless) as server, Client({"transcribe": server.url}, **KNOWN) as client:
        with client.stream_transcription(SOUND) as stream:
            for number, word in enumerate(stream):
                assert word == (" word" if number else "word")
                if number == 5:
                    break
                endless.more.release()
        endless.talks.set()
        endless.more.release()


@given(
    words=st.lists(st.text("ab é语\n", max_size=4), max_size=8),
    reads=st.lists(st.integers(0, 300), max_size=8),
)
def test_what_is_told_is_the_text_however_the_stream_is_cut(words, reads) -> None:
    content = b"".join(map(event, words)) + END
    places = sorted({0, len(content), *(place % len(content) for place in reads)})
    told: list[str] = []
    telling = Telling(lambda text: told.append(text) or True, None)
    listener = telling.begin()
    for begin, end in pairwise(places):
        assert listener(content[begin:end])
    assert listener.done
    assert "".join(told) == "".join(words).strip() == telling.text
    assert "" not in told[1:]  # the first asks whether anything is wanted
