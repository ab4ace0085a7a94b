"""`realtime_transcription` through either client, against a server that follows vLLM's source."""

from __future__ import annotations

import gc
import json
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import anyio
import anyio.to_thread
import numpy as np
import pytest
import trustme
from _realtime import MODEL, Realtime, realtime, send
from _script import BLOCKING
from _sockets import Heard, answer, serving
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import (
    APIConnectionError,
    APITimeoutError,
    AsyncClient,
    AuthenticationError,
    Client,
    InternalServerError,
    InvalidRequestError,
    MediaError,
    ResponseError,
    ServerDefectWarning,
    Transcript,
    UnsupportedTaskError,
)
from vllm_modalities._transport import library
from vllm_modalities._transport.connection import Waiting
from vllm_modalities._transport.websocket import WebSocket
from vllm_modalities.audio.pcm import PCM

ONE = np.full(1_600, 1_000, np.int16)  # a tenth of a second
Told = tuple[list[str], Transcript]
Listen = Callable[..., Told]


@pytest.fixture
def listen(kind: str) -> Listen:
    """The texts that one of the clients tells, and the whole."""

    def listen(
        url: Any, blocks: Any, *, rate: int = 16_000, model: str | None = None, **options: Any
    ) -> Told:
        if kind == BLOCKING:
            with Client(url, **options) as client:
                stream = client.realtime_transcription(blocks, rate=rate, model=model)
                return list(stream), stream.result

        async def collect() -> Told:
            async with AsyncClient(url, **options) as client:
                stream = client.realtime_transcription(blocks, rate=rate, model=model)
                return [text async for text in stream], stream.result

        return anyio.run(collect, backend=kind)

    return listen


def test_words_come_as_they_are_written_and_the_whole_at_the_end(listen) -> None:
    with realtime() as server:
        texts, whole = listen(server.url, [ONE, ONE[:800].tobytes()], keep_raw=True)
    assert texts == ["1600", " 800"]
    assert (whole.text, whole.model) == ("1600 800", MODEL)
    assert [(one.start, one.end, one.text) for one in whole.segments] == [(0.0, 0.15, "1600 800")]
    assert whole.duration == 0.15
    assert whole.warnings == ()
    assert [json.loads(one)["type"] for one in whole.raw] == ["transcription.done"]
    kinds = [event if isinstance(event, dict) else len(event) for event in server.events]
    assert kinds == [
        {"type": "session.update", "model": MODEL},
        {"type": "input_audio_buffer.commit"},
        1600,
        800,
        {"type": "input_audio_buffer.commit", "final": True},
    ]
    assert np.array_equal(server.sound, np.concatenate([ONE, ONE[:800]]))


def test_a_word_is_told_before_the_next_block_is_there(kind) -> None:
    """So it is no recording that is gathered first."""
    heard = threading.Event()

    def blocks() -> Iterator[np.ndarray]:
        yield ONE
        assert heard.wait(20)
        yield ONE

    async def async_blocks() -> Any:
        yield ONE
        assert await anyio.to_thread.run_sync(heard.wait, 20)
        yield ONE

    def first(text: str) -> str:
        heard.set()
        return text

    async def collect(given: Any) -> list[str]:
        async with AsyncClient(server.url) as client:
            return [first(text) async for text in client.realtime_transcription(given)]

    with realtime() as server:
        if kind == BLOCKING:
            with Client(server.url) as client:
                texts = [first(text) for text in client.realtime_transcription(blocks())]
            assert texts == ["1600", " 1600"]
        else:
            for given in (blocks(), async_blocks()):
                heard.clear()
                assert anyio.run(collect, given, backend=kind) == ["1600", " 1600"]


def test_a_long_block_is_many_messages_and_one_of_nothing_is_none(listen) -> None:
    with realtime() as server:
        _, whole = listen(server.url, [b"", np.zeros(40_000), np.zeros((0, 2))])
    assert [len(one) for one in server.events if isinstance(one, np.ndarray)] == [
        *(16_000, 16_000, 8_000)
    ]
    assert whole.duration == 2.5


def test_blocks_of_another_rate_and_of_two_channels_are_made_what_the_server_takes(listen) -> None:
    tone = np.sin(np.arange(48_000) / 20).astype(np.float32)
    blocks = [np.stack([part, part], axis=1) for part in np.array_split(tone, 7)]
    with realtime() as server:
        _, whole = listen(server.url, blocks, rate=48_000)
    assert len(server.sound) == 16_000
    assert whole.duration == 1.0
    expected = np.sin(np.arange(16_000) * 3 / 20)
    assert np.abs(server.sound / 32_768 - expected)[200:-200].max() < 0.01


def test_what_is_doubtful_about_the_blocks_is_told(listen) -> None:
    loud = [np.full(1_600, 1.5), ONE.tobytes() + b"\x01"]
    with realtime() as server:
        _, whole = listen(server.url, loud)
    assert set(whole.warnings) == {
        "the last block ended inside a sample, which is left out",
        "1600 samples were louder than full scale and are clipped",
    }


def test_blocks_with_nothing_in_them_begin_nothing(listen) -> None:
    with realtime() as server:
        texts, whole = listen(server.url, [b""])
    assert (texts, whole.text, whole.segments, whole.duration) == ([], "", (), 0.0)
    assert whole.warnings == ("nothing was sent: there was no sound in the blocks",)
    assert server.closed.wait(20)
    # The server may learn that the session is over before it reads how it began.
    assert server.events in ([], [{"type": "session.update", "model": MODEL}])


def test_a_server_that_ends_before_all_is_said_is_told_of(listen) -> None:
    def ends(server: Realtime, ws: Any) -> None:
        for _ in range(3):
            server.take(ws)
        send(ws, "transcription.delta", delta="so far")
        send(ws, "transcription.done", text="so far")
        server.take(ws)

    more = threading.Event()

    def blocks() -> Iterator[np.ndarray]:
        yield ONE
        more.wait(20)

    with realtime(behave=ends) as server:
        _, whole = listen(server.url, blocks())
        more.set()
    assert whole.text == "so far"
    assert whole.warnings == (
        "the server ended by itself after 0.1 s; what came then was not heard",
    )


def raising(error: Exception) -> Iterator[np.ndarray]:
    yield ONE
    raise error


@pytest.mark.parametrize(
    "error",
    [
        OSError("the microphone is gone"),
        KeyError("mine"),
        APIConnectionError("of another client", server="elsewhere"),
    ],
)
def test_an_error_of_the_caller_s_own_blocks_is_the_caller_s(listen, error) -> None:
    with realtime() as server:
        with pytest.raises(type(error)) as caught:
            listen(server.url, raising(error))
        assert server.closed.wait(20)
        assert len(server.headers) == 1  # no second session, which would have none of the sound
    assert caught.value is error


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("a text", "not str"),
        (np.array([np.nan, 0.0]), "not a finite number"),
        (np.zeros((2, 2, 2)), "shape (2, 2, 2)"),
        (np.array([True]), "bool"),
    ],
)
def test_what_is_no_sound_is_refused(listen, block, said) -> None:
    with realtime() as server, pytest.raises(MediaError) as caught:
        listen(server.url, [ONE, block])
    assert said in str(caught.value)


@pytest.mark.parametrize("rate", [0, 16_000.5, "16000"])
def test_a_rate_that_no_sound_has_is_refused_before_anything_is_sent(listen, rate) -> None:
    with pytest.raises(MediaError, match="rate"):
        listen("http://127.0.0.1:9", [ONE], rate=rate)


@pytest.mark.parametrize("blocks", [b"\0\0", "talk.wav", 3, None])
def test_blocks_that_are_no_blocks_are_refused(listen, blocks) -> None:
    with pytest.raises(InvalidRequestError, match="iterable of blocks"):
        listen("http://127.0.0.1:9", blocks)


def test_only_the_async_client_takes_an_async_iterable() -> None:
    async def blocks() -> Any:
        yield ONE

    with Client("http://127.0.0.1:9") as client:
        stream = client.realtime_transcription(blocks())
        with pytest.raises(InvalidRequestError, match="only AsyncClient"):
            next(stream)


def telling(*events: dict[str, Any] | str) -> Callable[[Realtime, Any], None]:
    """Tell these once sound has come, and listen on."""

    def behave(server: Realtime, ws: Any) -> None:
        while not isinstance(server.take(ws), np.ndarray):
            pass
        for event in events:
            ws.send(event if isinstance(event, str) else json.dumps(event))
        while True:
            server.take(ws)

    return behave


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (({"type": "error", "error": "Engine is dead", "code": "processing_error"},), "is dead"),
        (("{]",), "cannot be read"),
        (("{}",), "cannot be read"),
        (('{"type": "transcription.delta", "delta": 3}',), "cannot be read"),
    ],
)
def test_a_session_that_goes_wrong_is_our_error(listen, events, said) -> None:
    with realtime(behave=telling(*events)) as server:
        with pytest.raises(ResponseError) as caught:
            listen(server.url, [ONE])
        assert server.closed.wait(20)
    assert said in str(caught.value)
    assert caught.value.server == server.url


def test_an_error_of_the_server_shows_no_secret(listen) -> None:
    event = {"type": "error", "error": "no key such-a-secret here"}
    with realtime(behave=telling(event)) as server, pytest.raises(ResponseError) as caught:
        listen(server.url, [ONE], api_key="such-a-secret")
    assert "such-a-secret" not in str(caught.value)
    assert "no key" in str(caught.value)


def test_a_model_that_the_server_has_not_is_its_error(listen) -> None:
    with realtime(serves="other") as server, pytest.raises(ResponseError) as caught:
        listen(server.url, [ONE])
    assert f"The model `{MODEL}` does not exist." in str(caught.value)


def test_a_server_that_hangs_up_is_no_end(listen) -> None:
    def hangs_up(server: Realtime, ws: Any) -> None:
        server.take(ws)
        ws.close(1011, "the engine is gone")

    with realtime(behave=hangs_up) as server, pytest.raises(ResponseError) as caught:
        listen(server.url, [ONE])
    assert "the engine is gone" in str(caught.value)
    assert len(server.headers) == 1  # nothing can be said a second time


def test_a_connection_that_breaks_is_no_end(listen) -> None:
    def breaks(server: Realtime, ws: Any) -> None:
        server.take(ws)
        ws.socket.shutdown(2)

    with realtime(behave=breaks) as server, pytest.raises(ResponseError, match="half-way"):
        listen(server.url, [ONE])
    assert len(server.headers) == 1


def test_no_more_is_said_over_a_connection_that_breaks_while_it_is_spoken_to(
    listen, monkeypatch
) -> None:
    tried: list[str] = []
    say = WebSocket.say

    def breaking(self: WebSocket, message: str, ends: float) -> Waiting[None]:
        if "input_audio_buffer.append" in message:
            tried.append(message)
            self.connection.interrupt()
            raise BrokenPipeError
        yield from say(self, message, ends)

    monkeypatch.setattr(WebSocket, "say", breaking)
    with realtime() as server, pytest.raises(ResponseError, match="half-way"):
        listen(server.url, [ONE] * 3)
    assert len(tried) == 1


def test_no_more_is_taken_of_the_blocks_once_the_session_is_over(kind) -> None:
    """Or a microphone would be listened to for ever."""
    let_go = threading.Event()

    def blocks() -> Iterator[np.ndarray]:
        try:
            while True:
                yield ONE
                time.sleep(0.001)
        finally:
            let_go.set()

    def leave() -> None:
        with Client(server.url) as client, client.realtime_transcription(blocks()) as texts:
            next(texts)

    async def leave_async() -> None:
        client = AsyncClient(server.url)
        async with client, client.realtime_transcription(blocks()) as texts:
            await anext(texts)

    with realtime() as server:
        leave() if kind == BLOCKING else anyio.run(leave_async, backend=kind)
        ends = time.monotonic() + 20
        while not let_go.wait(0.01) and time.monotonic() < ends:
            gc.collect()
    assert let_go.is_set()


def test_messages_in_parts_and_pings_are_read(listen) -> None:
    def in_parts(server: Realtime, ws: Any) -> None:
        while not isinstance(server.take(ws), np.ndarray):
            pass
        ws.ping().wait(20)
        ws.send(iter(['{"type": "transcription.del', 'ta", "delta"', ': "one"}']))
        send(ws, "transcription.done", text="one")

    with realtime(behave=in_parts) as server:
        texts, _ = listen(server.url, [ONE])
    assert texts == ["one"]


def test_the_key_and_the_headers_go_with_the_handshake(listen) -> None:
    with realtime(key="k") as server:
        listen(server.url, [ONE], api_key="k", headers={"X-Mine": "1"})
        with pytest.raises(AuthenticationError):
            listen(server.url, [ONE], api_key="wrong")
    (headers,) = server.headers
    assert headers["Authorization"] == "Bearer k"
    assert headers["X-Mine"] == "1"
    assert headers["User-Agent"].startswith("vllm-modalities/")


@pytest.mark.parametrize("status", [403, 404])
def test_a_server_without_the_route_does_not_do_it(listen, status) -> None:
    with realtime(refuses=(status, b"")) as server, pytest.raises(UnsupportedTaskError) as caught:
        listen(server.url, [ONE])
    assert "/v1/realtime" in str(caught.value)


def test_other_refusals_are_what_they_are(listen) -> None:
    with realtime() as server:
        server.refuses = (500, b'{"error": {"message": "KeyError"}}')
        with pytest.raises(InternalServerError, match="KeyError"):
            listen(server.url, [ONE])
        server.refuses = (200, b"hello")
        with pytest.raises(ResponseError, match="no websocket"):
            listen(server.url, [ONE])


def shaken(heard: Heard, hand: bytes) -> list[bytes]:
    """What a server tells of itself, and to a handshake."""
    path = heard.head.split()[1]
    told = {
        "/version": {"version": "0.32.0"},
        "/v1/models": {"data": [{"id": MODEL}]},
        "/openapi.json": {"paths": {}},
    }
    return [answer(json.dumps(told[path]).encode()) if path in told else hand]


WRONG_KEY = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: bm90IHRoZSBrZXk=\r\n\r\n"
)


@pytest.mark.parametrize("hand", [WRONG_KEY, b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 101 S\r\n\r\n"])
def test_a_handshake_that_is_none_is_our_error(listen, hand) -> None:
    failing = pytest.raises((ResponseError, APIConnectionError))
    with serving(lambda heard: shaken(heard, hand)) as server, failing as caught:
        listen(server.url, [ONE], max_retries=0)
    assert caught.value.server == server.url


def test_a_model_that_is_not_known_to_do_it_is_asked_if_a_mapping_says_so(listen) -> None:
    with realtime(model="mine") as server:
        with pytest.raises(UnsupportedTaskError, match=r"Client\({'realtime'"):
            listen(server.url, [ONE])
        texts, _ = listen({"realtime": server.url}, [ONE])
    assert texts == ["1600"]


def test_another_replica_is_taken_while_nothing_has_been_said(listen) -> None:
    with realtime(refuses=(503, b"busy")) as busy, realtime() as server:
        texts, _ = listen([busy.url, server.url], iter([ONE]), max_retries=0)
        more, _ = listen([server.url, busy.url], iter([ONE]), max_retries=0)
    assert texts == more == ["1600"]


def test_silence_on_both_sides_is_bounded(listen) -> None:
    def silent(server: Realtime, ws: Any) -> None:
        while True:
            server.take(ws)

    with realtime(behave=silent) as server:
        for bound in ({"timeout": 0.3}, {"deadline": 0.3}):
            with pytest.raises(APITimeoutError):
                listen(server.url, [ONE], max_retries=0, **bound)


def test_a_session_may_last_longer_than_the_timeout_but_no_longer_than_the_deadline(listen) -> None:
    def blocks() -> Iterator[np.ndarray]:
        for _ in range(40):
            time.sleep(0.02)
            yield ONE

    with realtime() as server:
        texts, _ = listen(server.url, blocks(), timeout=0.5)
        assert len(texts) == 40
        with pytest.raises(APITimeoutError):
            listen(server.url, blocks(), deadline=0.4, max_retries=0)


def test_a_handshake_is_bounded(listen) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as quiet, pytest.raises(APITimeoutError):
        url = f"http://127.0.0.1:{quiet.getsockname()[1]}"
        listen({"realtime": url}, [ONE], server_version="0.32.0", timeout=0.2, max_retries=0)


def test_leaving_ends_the_session(kind) -> None:
    forever = threading.Event()

    def blocks() -> Iterator[np.ndarray]:
        yield ONE
        forever.wait(20)

    async def leave() -> None:
        async with (
            AsyncClient(server.url) as client,
            client.realtime_transcription(blocks()) as texts,
        ):
            async for _ in texts:
                break

    with realtime() as server:
        if kind == BLOCKING:
            with Client(server.url) as client:
                with client.realtime_transcription(blocks()) as texts:
                    next(texts)
                assert server.closed.wait(20)
        else:
            anyio.run(leave, backend=kind)
            assert server.closed.wait(20)
        forever.set()


def test_closing_the_client_ends_what_is_under_way() -> None:
    forever = threading.Event()

    def blocks() -> Iterator[np.ndarray]:
        yield ONE
        forever.wait(20)

    with realtime() as server:
        client = Client(server.url)
        texts = client.realtime_transcription(blocks())
        next(texts)
        client.close()
        with pytest.raises(ResponseError, match="client is closed"):
            next(texts)
        with pytest.raises(APIConnectionError, match="client is closed"):
            list(client.realtime_transcription([ONE]))
        forever.set()


def test_older_servers_are_warned_of(listen) -> None:
    warned = pytest.warns(ServerDefectWarning, match="left before its end")
    with realtime(version="0.31.0") as server, warned:
        _, whole = listen(server.url, [ONE])
    assert any("left before its end" in one for one in whole.warnings)


def test_a_websocket_goes_over_connections_of_our_own_alone(library) -> None:
    async def main() -> None:
        async with (
            library.AsyncClient() as http,
            AsyncClient(server.url, http_client=http) as client,
        ):
            await anext(client.realtime_transcription([ONE]))

    refused = pytest.raises(InvalidRequestError, match="http_client")
    with (
        realtime() as server,
        library.Client() as http,
        Client(server.url, http_client=http) as client,
    ):
        with refused:
            next(client.realtime_transcription([ONE]))
        with refused:
            anyio.run(main)


def test_a_missing_library_names_its_extra(listen, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "websockets.client", None)
    with realtime() as server, pytest.raises(ImportError, match=r"vllm-modalities\[realtime\]"):
        listen(server.url, [ONE])


def test_tags_that_a_model_writes_before_each_stretch_are_not_told(listen) -> None:
    written = iter(
        ["language Eng", "lish<asr_text>Good", " day.language English<asr_text>", "Bye."]
    )
    with realtime(model="Qwen3-ASR-0.6B", word=lambda _: next(written)) as server:
        texts, whole = listen({"realtime": server.url}, [ONE] * 4)
    assert "".join(texts) == whole.text == "Good day. Bye."


def test_a_server_whose_models_are_not_listed_needs_a_name(listen) -> None:
    with realtime(is_shy=True) as server:
        with pytest.raises(InvalidRequestError, match="say which"):
            listen({"realtime": server.url}, [ONE])
        texts, _ = listen({"realtime": server.url}, [ONE], model=MODEL)
    assert texts == ["1600"]


def test_the_log_tells_of_the_request_that_was_made(listen, caplog) -> None:
    caplog.set_level("DEBUG", "vllm_modalities")
    with realtime() as server:
        listen({"realtime": server.url}, [ONE])
    assert any("GET /v1/realtime: HTTP 101" in line for line in caplog.messages)
    assert not any("POST" in line for line in caplog.messages)


AUTHORITY = trustme.CA()


def test_tls_carries_it_too(listen, monkeypatch) -> None:
    def trusting() -> ssl.SSLContext:
        context = ssl.create_default_context()
        AUTHORITY.configure_trust(context)
        return context

    monkeypatch.setattr(library, "tls_context", trusting)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert("localhost").configure_cert(context)
    with realtime(context) as server:
        texts, _ = listen(server.url, [np.zeros(160_000)] * 2)
    assert server.url.startswith("https://")
    assert len(texts) == 20


@given(
    samples=st.lists(st.integers(-32_768, 32_767), max_size=200),
    cuts=st.lists(st.integers(0, 400), max_size=5),
)
def test_blocks_cut_anywhere_are_the_same_sound(samples, cuts) -> None:
    content = np.array(samples, "<i2").tobytes()
    edges = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    pcm = PCM(16_000)
    parts = [pcm.add(content[a:b]) for a, b in pairwise(edges)]
    assert b"".join([*parts, pcm.rest()]) == content
    assert pcm.count == len(samples)
    assert pcm.warnings == {}
