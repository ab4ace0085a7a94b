"""Answers that are heard as they come, by connections of our own and by httpx's."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise

import anyio
import httpx
import pytest
from _script import BLOCKING, FakeVLLM, cut
from _sockets import Heard, Sender, answer, serving
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import BadRequestError
from vllm_modalities._flow import Hear, Request, Response
from vllm_modalities._transport import AsyncTransport, SyncTransport
from vllm_modalities._transport.http1 import H11Reader, ToolsReader
from vllm_modalities.endpoints.embeddings import EmbeddingRequest

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part)


async def _awaited(request: Request, borrowed: bool) -> Response:
    client = httpx.AsyncClient() if borrowed else None
    transport = AsyncTransport(client, api_key=None, connections=1)
    try:
        return await transport.send(request)
    finally:
        await transport.close()
        if client is not None:
            await client.aclose()


def _blocking(request: Request, borrowed: bool) -> Response:
    client = httpx.Client() if borrowed else None
    transport = SyncTransport(client, api_key=None, connections=1)
    try:
        return transport.send(request)
    finally:
        transport.close()
        if client is not None:
            client.close()


@pytest.fixture(params=["blocking", "asyncio", "trio", "blocking httpx", "asyncio httpx"])
def send(request: pytest.FixtureRequest) -> Callable[..., Response]:
    """Sends one request, by connections of our own or by a client of the user's."""
    kind, _, library = request.param.partition(" ")

    def send(url: str, hear: Hear) -> Response:
        wanted = Request("POST", "/x", server=url, hear=hear)
        if kind == BLOCKING:
            return _blocking(wanted, bool(library))
        return anyio.run(_awaited, wanted, bool(library), backend=kind)

    return send


def test_a_part_is_heard_before_the_next_is_sent(send) -> None:
    """The server waits for each part to be heard, so this ends only if they are."""
    heard, went_on = [], threading.Semaphore(0)

    def hear(part: bytes) -> bool:
        heard.append(part)
        went_on.release()
        return True

    def respond(_: Heard) -> Iterator[bytes]:
        yield HEAD
        for part in (b"one", b"two"):
            yield chunk(part)
            assert went_on.acquire(timeout=10)
        yield chunk(b"")

    with serving(respond) as server:
        found = send(server.url, hear=hear)
    assert heard == [b"one", b"two"]
    assert found.content == b"onetwo"


def test_hanging_up_ends_the_answer_and_the_connection(send) -> None:
    """The answer has no end, so this ends only if the connection is closed."""
    closed = threading.Event()

    def respond(_: Heard) -> Iterator[bytes]:
        yield HEAD
        try:
            while True:
                yield chunk(b"loop")
        finally:
            closed.set()

    with serving(respond) as server:
        heard: list[bytes] = []

        def hear(part: bytes) -> bool:
            heard.append(part)
            return False

        found = send(server.url, hear=hear)
        assert closed.wait(10)
        assert found.status == 200
        assert heard == [found.content]
        assert set(found.content.split(b"loop")) == {b""}


def test_an_error_s_body_is_not_heard(send) -> None:
    refusal = answer(b'{"error": "no"}', first="HTTP/1.1 400 Bad Request")
    heard: list[bytes] = []
    with serving(lambda _: [refusal]) as server, pytest.raises(BadRequestError, match="no"):
        send(server.url, hear=lambda part: bool(heard.append(part)))
    assert heard == []


def test_hanging_up_with_the_last_part_keeps_the_connection() -> None:
    sender = Sender(BLOCKING)
    with serving() as server, contextlib.closing(sender.transport):
        for _ in range(2):
            assert sender(server.url, hear=lambda _: False).content == b"{}"
        assert server.accepted == 1


@given(body=st.binary(max_size=60), cuts=st.lists(st.integers(0, 120), max_size=6))
def test_what_is_heard_is_the_body_however_it_is_cut_up(body: bytes, cuts: list[int]) -> None:
    data = HEAD + (chunk(body) if body else b"") + chunk(b"")
    places = sorted({0, len(data), *(place % len(data) for place in cuts)})
    for kind in (H11Reader, ToolsReader):
        heard: list[bytes] = []
        reader = kind(lambda part, heard=heard: heard.append(part) or True)
        for begin, end in pairwise(places):
            reader.came(memoryview(data[begin:end]))
        assert reader.done
        assert b"".join(heard) == body == bytes(reader.body)
        assert b"" not in heard


def test_each_try_has_its_own_listener(talk, pauses) -> None:
    """A body that was cut begins anew, so what was heard of it must not stay."""
    server = FakeVLLM()
    server.once("/v1/embeddings", cut)
    tries: list[list[bytes]] = []

    def listen():
        tries.append([])
        return lambda part: tries[-1].append(part) or True

    def flow(context):
        target = yield from context.find(EmbeddingRequest, None)
        return (yield from target.post(EmbeddingRequest(model="m", input="a"), listen=listen))

    found = talk(server)._call(flow)
    assert len(tries) == 2
    assert b"".join(tries[1]) == found.content
    assert found.content.startswith(b"".join(tries[0]))
    assert tries[0] != tries[1]
