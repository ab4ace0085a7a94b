"""The transports' own connections, against servers on real sockets."""

import contextlib
import itertools
import math
import os
import select
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import httpx
import pytest
import trustme
from _script import ASYNCIO, BLOCKING, KINDS
from _sockets import Heard, Sender, answer, serving

from vllm_modalities import (
    APIConnectionError,
    APITimeoutError,
    BadRequestError,
    InvalidRequestError,
    ResponseError,
    VLLMModalitiesError,
)
from vllm_modalities._flow import Form, Request
from vllm_modalities._transport import connection, pool, waiting
from vllm_modalities._transport import library as borrowed
from vllm_modalities._transport.heads import head_of
from vllm_modalities._transport.http1 import ToolsReader


@pytest.fixture(params=KINDS)
def send(request: pytest.FixtureRequest) -> Iterator[Sender]:
    sender = Sender(request.param)
    yield sender
    sender.run(sender.transport.close)


def failing(send: Sender, url: str, **fields: object) -> VLLMModalitiesError:
    with pytest.raises(VLLMModalitiesError) as caught:
        send(url, **fields)
    return caught.value


def chunked(*parts: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))


def test_a_request_arrives_as_it_was_meant(send) -> None:
    with serving() as server:
        url = f"{server.url}/a b/\u00e9"
        found = send(
            url, "/v1/x?a=b", json={"text": "\u00e9"}, headers={"accept": "x/y", "X-A": "b"}
        )
        assert (found.status, found.content, found.headers) == (200, b"{}", {"content-length": "2"})
        (heard,) = server.heard
        assert heard.head.startswith("POST /a%20b/%C3%A9/v1/x?a=b HTTP/1.1\r\n")
        assert heard.body == '{"text":"\u00e9"}'.encode()
        headers = {name.lower(): value for name, value in heard.headers.items()}
        assert headers.pop("user-agent").startswith("vllm-modalities/")
        assert headers == {
            "host": server.url.removeprefix("http://"),
            "accept": "x/y",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "content-length": "13",
            "x-a": "b",
        }


def test_a_body_comes_whole_however_it_is_cut_up(send) -> None:
    body = bytes(range(256)) * 1200
    rows = chunked(*(body[i : i + 4096] for i in range(0, len(body), 4096)))
    cuts = {"length": answer(body), "rows": rows, "closing": b"HTTP/1.1 200 OK\r\n\r\n" + body}
    for name, data in cuts.items():
        for size in (len(data), 100_000, 7001):
            parts = [data[i : i + size] for i in range(0, len(data), size)]

            def respond(heard: Heard, parts=parts, name=name):
                yield from parts
                if name == "closing":
                    raise OSError

            with serving(respond) as server:
                assert send(server.url).content == body


def test_a_large_body_lets_others_run() -> None:
    """An event loop is not held up for as long as bytes are there to read."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async def main(url: str) -> None:
        transport = Sender(ASYNCIO).transport
        async with anyio.create_task_group() as group:
            group.start_soon(count)
            await transport.send(Request("POST", "/x", server=url))
            group.cancel_scope.cancel()
        await transport.close()

    with serving(lambda _: [answer(bytes(8 * 2**20))]) as server:
        anyio.run(main, server.url)
    assert turns > 3


def test_a_body_that_never_lets_others_run_still_ends_at_the_timeout() -> None:
    """What always has bytes to read never waits; the clock is looked at all the same."""
    one, other = socket.socketpair()
    with one, other:
        one.setblocking(False)
        reading = connection.Connection(one).exchange(b"x", b"", ToolsReader(), math.inf)
        other.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
        wanted = next(reading)
        with pytest.raises(connection.LateError):
            for _ in range(connection.TURNS):
                other.sendall(b"x")
                wanted = reading.send(wanted.event != 0)


def test_a_connection_is_used_again(send) -> None:
    with serving() as server:
        for _ in range(3):
            send(server.url)
        assert [(heard.connection, heard.number) for heard in server.heard] == [
            (0, 0),
            (0, 1),
            (0, 2),
        ]


def test_the_one_used_last_is_taken_first_and_no_more_than_asked_are_kept(send) -> None:
    both = threading.Barrier(3)

    def respond(heard: Heard):
        if heard.body == b"{}":
            both.wait(10)
        return [answer()]

    send = Sender(send.kind, connections=2)
    with serving(respond) as server:
        send.together(server.url, 3, json={})
        send.together(server.url, 3, json={})
        assert server.accepted == 4
        send(server.url)
        last = server.heard[-1].connection
        send(server.url)
        assert server.heard[-1].connection == last
    send.run(send.transport.close)


def test_a_connection_that_the_server_closes_or_will_is_not_used_again(send) -> None:
    def respond(heard: Heard):
        return [answer(b"{}", "Connection: close")]

    with serving(respond) as server:
        send(server.url)
        send(server.url)
        assert server.accepted == 2


def test_an_idle_connection_is_dropped_before_the_server_would(send, monkeypatch) -> None:
    with serving() as server:
        send(server.url)
        monkeypatch.setattr(pool, "KEEPALIVE", 0.0)
        time.sleep(0.01)
        send(server.url)
        assert server.accepted == 2
    assert pool.KEEPALIVE < 5


def test_what_is_idle_where_nobody_goes_any_more_is_closed_too(send, monkeypatch) -> None:
    """Images come from any number of hosts, each asked once."""
    monkeypatch.setattr(pool, "KEEPALIVE", -1.0)
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            server = stack.enter_context(serving())
            send(server.url)
        kept = send.transport._own.pool._idle
        assert [(origin.port, len(all_)) for origin, all_ in kept.items()] == [
            (int(server.url.rpartition(":")[2]), 1)
        ]


def test_what_closed_while_it_was_idle_is_replaced_without_a_word(send) -> None:
    with serving() as server:
        send(server.url)
        server.open[0].shutdown(socket.SHUT_RDWR)
        time.sleep(0.05)
        assert send(server.url).status == 200
        assert (server.accepted, len(server.heard)) == (2, 2)


RESET = b"\1\0\0\0\0\0\0\0"  # to linger for no time


def test_what_was_reset_while_it_was_idle_is_replaced_too(send) -> None:
    with serving() as server:
        send(server.url)
        server.open[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        server.open[0].close()
        time.sleep(0.05)
        assert send(server.url).status == 200


def test_what_closes_as_the_request_comes_is_replaced_once(send) -> None:
    """A server that closes an idle connection just then has done nothing with the request."""

    def respond(heard: Heard):
        return None if heard.number else [answer()]

    with serving(respond) as server:
        send(server.url)
        assert send(server.url).status == 200
        assert [heard.connection for heard in server.heard] == [0, 0, 1]


def test_a_new_connection_that_closes_is_an_error_and_not_tried_again(send) -> None:
    with serving(lambda _: None) as server:
        error = failing(send, server.url)
        assert type(error) is APIConnectionError
        assert "POST /x" in str(error)
        assert len(server.heard) == 1


def test_an_answer_that_has_begun_is_not_asked_for_again(send) -> None:
    def respond(heard: Heard):
        yield answer() if heard.number == 0 else b"HTTP/1.1 200 OK\r\n"
        if heard.number:
            raise OSError

    with serving(respond) as server:
        send(server.url)
        assert type(failing(send, server.url)) is APIConnectionError
        assert len(server.heard) == 2


CUT = {"length": answer(b"12345")[:-1], "chunk": chunked(b"12345")[:-8], "last": chunked(b"1")[:-5]}


@pytest.mark.parametrize("data", CUT.values(), ids=CUT)
def test_a_cut_body_is_an_error_that_says_so(send, data: bytes) -> None:
    def respond(heard: Heard):
        yield data
        raise OSError

    with serving(respond) as server:
        error = failing(send, server.url)
        assert isinstance(error, ResponseError)
        assert error.cut


def test_a_reset_is_an_error(send) -> None:
    with serving() as server:

        def respond(heard: Heard):
            server.open[heard.connection].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            server.open[heard.connection].close()
            raise OSError

        server.respond = respond
        assert type(failing(send, server.url)) is APIConnectionError


def test_what_is_no_http_is_an_error_with_its_words(send) -> None:
    with serving(lambda _: [b"SSH-2.0-OpenSSH\r\n\r\n"]) as server:
        assert type(failing(send, server.url)) is APIConnectionError


def test_an_early_refusal_of_a_large_request_is_heard(send) -> None:
    """A gateway says 413 and closes before it has read all of the request."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        stream, _ = listener.accept()
        stream.recv(1000)
        stream.sendall(answer(b'{"detail":"too large"}', first="HTTP/1.1 413 no"))
        stream.shutdown(socket.SHUT_WR)
        stream.settimeout(0.3)
        with contextlib.suppress(TimeoutError):
            while stream.recv(65536):
                pass
        stream.close()

    thread = threading.Thread(target=serve)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    error = failing(send, url, json={"text": "x" * 20_000_000}, timeout=20)
    thread.join()
    listener.close()
    assert isinstance(error, BadRequestError)
    assert error.message == "too large"


def test_a_server_that_stops_reading_and_hangs_up_is_an_error(send) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        stream, _ = listener.accept()
        stream.recv(1000)
        stream.close()

    thread = threading.Thread(target=serve)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    error = failing(send, url, json={"text": "x" * 20_000_000}, timeout=20)
    thread.join()
    listener.close()
    assert type(error) is APIConnectionError


def trickle(first: bytes, then: bytes):
    def respond(heard: Heard):
        yield first
        for _ in range(400):
            time.sleep(0.02)
            yield then

    return respond


def flood(heard: Heard):
    return itertools.chain([b"HTTP/1.1 200 OK\r\n\r\n"], itertools.repeat(bytes(20_000)))


TRICKLES = {
    "flood": flood,
    "nothing": trickle(b"", b""),
    "head": trickle(b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    "headers": trickle(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "interim": trickle(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "length": trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"),
    "chunks": trickle(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "trailers": trickle(chunked(b"x")[:-2], b"X: y\r\n"),
}


@pytest.mark.parametrize("respond", TRICKLES.values(), ids=TRICKLES)
def test_whatever_trickles_in_for_ever_ends_at_the_timeout(send, respond) -> None:
    with serving(respond) as server:
        began = time.monotonic()
        error = failing(send, server.url, timeout=0.15)
        assert isinstance(error, APITimeoutError)
        assert time.monotonic() - began < 6


def test_a_request_that_nobody_reads_ends_at_the_timeout(send) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    error = failing(send, url, json={"text": "x" * 20_000_000}, timeout=0.2)
    listener.close()
    assert isinstance(error, APITimeoutError)


def test_connecting_is_bounded_by_itself(send, monkeypatch) -> None:
    """Nobody takes the connection: the listener's queue is full."""
    monkeypatch.setattr(pool, "CONNECT", 0.1)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = listener.getsockname()
        for _ in range(8):
            full = stack.enter_context(socket.socket())
            full.setblocking(False)
            full.connect_ex(address)
        error = failing(send, f"http://127.0.0.1:{address[1]}", timeout=60)
        assert isinstance(error, APITimeoutError)
        assert str(error).startswith("connecting")


def test_a_refused_connection_names_the_server(send) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = failing(send, f"http://127.0.0.1:{port}")
    assert type(error) is APIConnectionError
    assert "refused" in str(error)


def resolver(
    monkeypatch, *addresses: tuple[str, int], slow: bool = False, strange: int = 0
) -> None:
    """`host` has these addresses, the first `strange` of which are of a kind the system has not."""
    kinds = itertools.chain([31_999] * strange, itertools.repeat(socket.AF_INET))
    found = [
        (kind, socket.SOCK_STREAM, 6, "", address)
        for kind, address in zip(kinds, addresses, strict=False)
    ]

    def blocking(host: str, *_: object, **__: object):
        if slow:
            threading.Event().wait(5)
        return found

    async def waiting_for(host: str, *_: object, **__: object):
        if slow:
            await anyio.sleep_forever()
        return found

    monkeypatch.setattr(socket, "getaddrinfo", blocking)
    monkeypatch.setattr(anyio, "getaddrinfo", waiting_for)


def test_every_address_of_a_host_is_tried(send, monkeypatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()
    with serving() as server:
        port = int(server.url.rpartition(":")[2])
        resolver(monkeypatch, closed, ("255.255.255.255", port), ("127.0.0.1", port))
        assert send("http://host").status == 200


def test_an_address_of_a_kind_that_the_system_has_not_is_passed_over(send, monkeypatch) -> None:
    with serving() as server:
        port = int(server.url.rpartition(":")[2])
        resolver(monkeypatch, ("a", 1), ("b", 2), ("127.0.0.1", port), strange=2)
        assert send("http://host").status == 200
    resolver(monkeypatch, ("a", 1), strange=1)
    assert "family" in str(failing(send, "http://host")).lower()


def test_a_host_without_address_is_an_error(send, monkeypatch) -> None:
    resolver(monkeypatch)
    assert "host has no address" in str(failing(send, "http://host"))


def test_a_name_that_no_host_has_is_an_error(send, monkeypatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def unknown_too(*_: object, **__: object) -> object:
        return unknown()

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(anyio, "getaddrinfo", unknown_too)
    error = failing(send, "http://host")
    assert type(error) is APIConnectionError
    assert "not known" in str(error)


def test_a_resolver_that_never_answers_ends_at_the_timeout(send, monkeypatch) -> None:
    resolver(monkeypatch, slow=True)
    error = failing(send, "http://host", timeout=0.1)
    assert isinstance(error, APITimeoutError)
    assert str(error).startswith("connecting")


@pytest.mark.parametrize("host", ["a..b", "x" * 70, "."])
def test_a_name_that_no_host_can_have_is_one_of_our_errors(send, host: str) -> None:
    assert isinstance(failing(send, f"http://{host}"), InvalidRequestError | APIConnectionError)


def test_the_host_header_is_that_of_the_address() -> None:
    for server, host in {
        "http://a": "a",
        "http://a:80": "a",
        "https://a:443": "a",
        "https://a:80": "a:80",
        "http://[::1]:8000": "[::1]:8000",
        "http://b\u00fccher": "xn--bcher-kva",
    }.items():
        assert f"\r\nHost: {host}\r\n".encode() in head_of("GET", server, "/").start


@pytest.mark.parametrize("name", ["Host", "host", "USER-AGENT", "authorization", "x-own"])
def test_a_header_is_sent_once_however_its_name_is_written(send, name: str) -> None:
    given = {"Authorization": "one", "X-Own": "one", name: "two"}
    with serving() as server:
        send(server.url, headers=given)
        (heard,) = server.heard
    sent = [line.partition(": ") for line in heard.head.split("\r\n")[1:]]
    assert [value for one, _, value in sent if one.lower() == name.lower()] == ["two"]
    assert sorted({one.lower() for one, _, _ in sent}) == sorted(one.lower() for one, _, _ in sent)


@pytest.mark.parametrize("name", ["a b", "a:", "", "Content-Length", "transfer-encoding", "é"])
def test_a_header_that_cannot_be_is_refused(send, name: str) -> None:
    for sender in (send, Sender(send.kind, client_of(send.kind))):
        with pytest.raises(InvalidRequestError):
            sender("http://127.0.0.1:1", headers={name: "x"})


def client_of(kind: str, content: bytes = b"", headers: dict[str, str] | None = None):
    """The user's own client, which is answered so without a socket."""
    answers = httpx.MockTransport(lambda _: httpx.Response(200, content=content, headers=headers))
    make = httpx.Client if kind == BLOCKING else httpx.AsyncClient
    return make(transport=answers)


def test_a_form_is_sent_as_multipart(send) -> None:
    form = Form({"model": "m", "list[]": ["a", "b"]}, {"file": ("a.wav", b"RIFF", "audio/wav")})
    with serving() as server:
        send(server.url, form=form)
        (heard,) = server.heard
        for part in (b'name="model"', b'name="list[]"', b'filename="a.wav"', b"audio/wav", b"RIFF"):
            assert part in heard.body
        assert heard.headers["Content-Type"].startswith("multipart/form-data; boundary=")


class Unread(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that must not be looked at."""


def test_a_packed_answer_is_refused(send) -> None:
    with serving(lambda _: [answer(b"\x1f\x8b", "Content-Encoding: gzip")]) as server:
        packed = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=Unread())
        answers = httpx.MockTransport(lambda _: packed)
        make = httpx.Client if send.kind == BLOCKING else httpx.AsyncClient
        for sender in (send, Sender(send.kind, make(transport=answers))):
            error = failing(sender, server.url)
            assert isinstance(error, ResponseError)
            assert "packed (gzip)" in str(error)


def test_an_answer_without_end_is_refused(send, monkeypatch) -> None:
    monkeypatch.setattr("vllm_modalities._transport.http1.LARGEST", 100_000)
    monkeypatch.setattr(borrowed, "LARGEST", 100_000)

    def respond(heard: Heard):
        return itertools.chain([b"HTTP/1.1 200 OK\r\n\r\n"], itertools.repeat(b"x" * 1000))

    with serving(respond) as server:
        for sender in (send, Sender(send.kind, client_of(send.kind, b"x" * 100_001))):
            assert "more than 100,000 bytes" in str(failing(sender, server.url))


AUTHORITY = trustme.CA()


def tls_server(*names: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert(*names).configure_cert(context)
    return context


@pytest.fixture
def trusted(monkeypatch, tmp_path) -> None:
    AUTHORITY.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


def test_a_trusted_server_is_spoken_to_by_tls(send, trusted) -> None:
    body = bytes(range(256)) * 8000
    with serving(lambda heard: [answer(heard.body or body)], tls_server("localhost")) as server:
        assert send(server.url).content == body
        big = {"text": "x" * 20_000_000}
        assert send(server.url, json=big).json() == big
        assert server.accepted == 1
        assert len(send.together(server.url, 2)) == 2


def test_a_server_that_is_not_trusted_or_another_is_not_spoken_to(
    send, trusted, monkeypatch
) -> None:
    with serving(tls=tls_server("elsewhere")) as server:
        assert "CERTIFICATE_VERIFY_FAILED" in str(failing(send, server.url))
    monkeypatch.delenv("SSL_CERT_FILE")
    with serving(tls=tls_server("localhost")) as server:
        assert "CERTIFICATE_VERIFY_FAILED" in str(failing(Sender(send.kind), server.url))
        assert server.heard == []


def test_a_tls_handshake_that_never_ends_is_bounded(send, monkeypatch) -> None:
    monkeypatch.setattr(pool, "CONNECT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        error = failing(send, f"https://localhost:{listener.getsockname()[1]}", timeout=60)
    assert isinstance(error, APITimeoutError)


def test_what_is_read_after_an_interruption_is_no_cipher(trusted) -> None:
    """`SSLSocket.shutdown` would have what is left to read come as it is on the wire."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with tls_server("localhost").wrap_socket(theirs, server_side=True) as stream:
            stream.sendall(b"hello")

    serving = threading.Thread(target=serve)
    serving.start()
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    with context.wrap_socket(ours, server_hostname="localhost") as stream:
        serving.join()
        connection.Connection(stream).interrupt()
        assert stream.recv(100) == b"hello"


def test_a_cancelled_call_leaves_no_connection_behind() -> None:
    async def main(url: str) -> None:
        transport = Sender(ASYNCIO).transport
        with anyio.move_on_after(0.1):
            await transport.send(Request("POST", "/x", server=url))
        server.respond = lambda _: [answer()]
        assert (await transport.send(Request("POST", "/x", server=url))).status == 200
        await transport.close()

    for kind in KINDS[1:]:
        with serving() as server:
            server.respond = lambda _, server=server: [b""] if server.wait(5) else []
            anyio.run(main, server.url, backend=kind)
            assert server.accepted == 2


@pytest.fixture
def blocking() -> Iterator[Sender]:
    sender = Sender(BLOCKING)
    yield sender
    sender.transport.close()


def test_an_interrupted_call_leaves_no_connection_behind(monkeypatch, blocking) -> None:
    send = blocking
    with serving() as server:
        with monkeypatch.context() as patch:
            patch.setattr(waiting, "_ready", interrupt)
            with pytest.raises(KeyboardInterrupt):
                send(server.url)
        send(server.url)
        assert server.accepted == 2


def interrupt(*_: object) -> bool:
    raise KeyboardInterrupt


def test_an_async_client_outlives_its_event_loop() -> None:
    """Each call of a `Sender` has a loop of its own, and the connection is kept all the same."""
    for kind in KINDS[1:]:
        send = Sender(kind)
        with serving() as server:
            send(server.url)
            send(server.url)
            assert server.accepted == 1
        send.run(send.transport.close)


def test_what_is_in_use_when_the_client_is_closed_ends_and_nothing_begins_any_more() -> None:
    send = Sender(BLOCKING)

    def respond(heard: Heard):
        send.transport.close()
        return [answer()]

    with serving(respond) as server:
        for _ in range(2):
            with pytest.raises(APIConnectionError, match="the client is closed"):
                send(server.url)


def test_closing_closes_what_is_idle(send) -> None:
    with serving() as server:
        send(server.url)
        (kept,) = server.open
        send.run(send.transport.close)
        deadline = time.monotonic() + 5
        while kept.fileno() >= 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert kept.fileno() < 0


def test_without_poll_select_waits(monkeypatch, blocking) -> None:
    monkeypatch.setattr(waiting, "_ready", waiting._selected)
    send = blocking
    with serving() as server:
        assert send(server.url, json={"text": "x" * 9_000_000}).status == 200
        server.respond = lambda _: [b""] if server.wait(5) else []
        assert isinstance(failing(send, server.url, timeout=0.1), APITimeoutError)
    assert waiting._ready is waiting._selected
    assert hasattr(select, "poll")


def test_a_deadline_that_passes_between_two_waits_counts() -> None:
    async def main() -> bool:
        one, other = socket.socketpair()
        watch = waiting._Watch()
        with one, other, anyio.fail_after(5):
            watch.begin(connection.Wait(one, selectors.EVENT_READ, time.monotonic()))
            await anyio.sleep(0.05)
            try:
                return await watch.readable()
            finally:
                watch.stop()

    assert anyio.run(main) is False


def test_a_loop_that_watches_no_sockets_is_helped_by_anyio(monkeypatch) -> None:
    """Such as the usual one of Windows."""
    monkeypatch.setattr(waiting._Watch, "begin", lambda *_: False)
    with serving() as server:
        assert Sender(ASYNCIO).once(server.url).status == 200


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_gone_through(send, monkeypatch, name) -> None:
    with serving() as proxy:
        monkeypatch.setenv(name, proxy.url)
        sender = Sender(send.kind)
        assert sender.transport._borrowed is not None
        if name != "https_proxy":
            assert sender.once("http://elsewhere").status == 200
            assert proxy.heard[0].head.startswith("POST http://elsewhere/x HTTP/1.1\r\n")


def test_a_proxy_of_the_system_s_settings_counts(monkeypatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    for found, expected in (({"http": "http://proxy"}, True), ({"no": "x"}, False)):
        monkeypatch.setattr("urllib.request.getproxies", lambda found=found: found)
        assert (Sender(BLOCKING).transport._borrowed is not None) == expected


def test_connections_lead_nowhere_but_where_they_were_opened(send) -> None:
    with serving(lambda _: [answer(b"1")]) as one, serving(lambda _: [answer(b"2")]) as other:
        found = [send(server.url).content for server in (one, other, one, other)]
        assert found == [b"1", b"2", b"1", b"2"]
        assert (one.accepted, other.accepted) == (1, 1)


def test_requests_side_by_side_each_get_their_own_answer(send) -> None:
    with serving(lambda heard: [chunked(heard.body)]) as server:
        for number in range(4):
            found = send.together(server.url, 8, json={"n": number})
            assert [one.json() for one in found] == [{"n": number}] * 8
        assert server.accepted <= 8


def test_a_client_that_is_closed_while_it_connects_sends_nothing() -> None:
    with serving() as server:
        port = urlsplit(server.url).port
        kept = pool.Pool(1, ssl.create_default_context)
        origin = pool.Origin("127.0.0.1", port, False)
        sending = kept.send(pool.Exchange(origin, b"", b"", time.monotonic() + 5))
        next(sending)
        wanted = sending.send(socket.getaddrinfo("127.0.0.1", port, type=socket.SOCK_STREAM))
        assert waiting._ready(wanted.socket, wanted.event, 5)
        kept.close()
        with pytest.raises(pool.ClosedError):
            sending.send(True)
