"""What both readers of HTTP/1.1 make of any bytes, in any pieces."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vllm_modalities._transport import http1
from vllm_modalities._transport.http1 import H11Reader, MalformedError, Reader, ToolsReader

READERS = (H11Reader, ToolsReader)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(places)]


def read(kind: Callable[[], Reader], parts: list[bytes]) -> Reader:
    """What a reader makes of these, and of the end of the stream after them."""
    reader = kind()
    for part in [*parts, b""]:
        reader.came(memoryview(part))
        if reader.done:
            break
    return reader


def outcome(kind: Callable[[], Reader], parts: list[bytes]) -> object:
    reader = read(kind, parts)
    headers = {k: v for k, v in reader.headers.items() if k not in NORMALIZED}
    return reader.status, headers, bytes(reader.body), reader.done


NORMALIZED = ("content-length", "transfer-encoding")  # by h11

FIRST = st.sampled_from(
    [f"HTTP/1.{v} {code} {reason}" for v in "01" for code, reason in ((200, "OK"), (404, ""))]
    + ["HTTP/1.1 200", "HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified", "HTTP/1.1 699 x y"]
)
SOME = """Server: uvicorn|x:|X: a  b|x:\tb \t|Vary: Origin|Connection: close|connection: Keep-Alive
|Connection: a, CLOSE|Content-Type: application/json"""
FIELDS = st.lists(st.sampled_from(SOME.replace("\n", "").split("|")), max_size=4)
BODY = st.binary(max_size=40)


@st.composite
def chunks(draw: st.DrawFn, body: bytes) -> bytes:
    ends = draw(st.lists(st.integers(0, 40), max_size=3))
    made = b""
    for part in filter(None, pieces(body, ends)):
        size = draw(st.sampled_from(["%x", "%X", "00%x", "%x;name=value"])) % len(part)
        made += size.encode() + b"\r\n" + part + b"\r\n"
    return made + draw(st.sampled_from([b"0\r\n\r\n", b"000\r\nX: y\r\n\r\n", b"0;a\r\n\r\n"]))


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Answers as a server may write them."""
    body = draw(BODY)
    framing = draw(st.sampled_from(["length", "chunked", "close"]))
    fields = draw(FIELDS)
    if framing == "length":
        fields.append(f"Content-Length: {len(body)}")
    if framing == "chunked":
        name = draw(st.sampled_from(["Transfer-Encoding", "TRANSFER-encoding"]))
        fields.append(f"{name}: chunked")
        body = draw(chunks(body))
    head = "\r\n".join([draw(FIRST), *draw(st.permutations(fields)), "", ""]).encode()
    before = draw(
        st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 \r\nA: b\r\n\r\n"])
    )
    return before + head + body


CUTS = st.lists(st.integers(0, 400), max_size=6)


@given(data=answers(), cuts=CUTS)
def test_both_read_what_a_server_may_write_alike(data: bytes, cuts: list[int]) -> None:
    whole = outcome(H11Reader, [data])
    assert whole[-1]
    for kind in READERS:
        assert outcome(kind, pieces(data, cuts)) == whole


EDITS = st.sampled_from(
    [b"\r\n", b"\n", b"\r", b" ", b":", b",", b"0", b"-1", b"f", b"\0", b"\xff"]
)


@given(data=answers() | st.binary(max_size=60), at=st.integers(0, 400), put=EDITS, cuts=CUTS)
@example(b"", 0, b"", [])
@example(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 0, b"", [])
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", 0, b"", [])
def test_any_bytes_are_a_whole_answer_or_malformed(data, at, put, cuts) -> None:
    data = data[: at % (len(data) + 1)] + put + data[at % (len(data) + 1) :]
    for kind in READERS:
        try:
            reader = read(kind, pieces(data, cuts))
        except MalformedError as error:
            assert str(error)  # noqa: PT017
            continue
        assert reader.done
        assert reader.status >= 200


class WholeH11(H11Reader):
    """h11 sees all that comes."""

    def _is_before_chunks(self) -> bool:
        return False


def judged(kind: Callable[[], Reader], parts: list[bytes]) -> object:
    reader = kind()
    try:
        read(lambda: reader, parts)
    except MalformedError:
        return "malformed", reader.status, bytes(reader.body)
    return reader.status, reader.headers, bytes(reader.body), reader.done, reader.reusable


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PLAIN = HEAD + b"4\r\nabcd\r\nA\r\n0123456789\r\n"
SIZES = st.sampled_from(
    ["4", "0A", "a;b", "00000000f", "10000", "ffffffff", "0", "", "x", "-1", " 4"]
)
PART = st.sampled_from([b"abcd", b"0123456789", b"ab\r\ncd", b"x" * 65_536, b""])
CHUNK = st.tuples(
    SIZES, PART, st.sampled_from([b"\r\n"] * 5 + [b"", b"\n", b"\r", b"\r\n\r\n", b"ab"])
)


@given(given=st.lists(CHUNK, max_size=5), cuts=st.lists(st.integers(0, 2**18), max_size=8))
@example([], [])
@example([("4", b"abcd", b"\r\n"), ("0", b"", b"\r\n")], [*range(len(HEAD), len(HEAD) + 15)])
@example([("4", b"abcd", b"\r\n"), ("0", b"", b"\r\nHTTP/1.1 200")], [])
@example([("4", b"abcd", b"ab")], [])
def test_chunks_that_go_past_h11_are_what_it_would_have_made_of_them(given, cuts) -> None:
    chunks = b"".join(size.encode() + b"\r\n" + part + end for size, part, end in given)
    parts = pieces(HEAD + chunks, cuts)
    assert judged(H11Reader, parts) == judged(WholeH11, parts)


@given(cuts=CUTS)
def test_h11_sees_no_chunk_that_is_plain(cuts: list[int]) -> None:
    seen = []

    class Watched(H11Reader):
        def _understand(self, data: bytes) -> None:
            seen.append(data)
            super()._understand(data)

    parts = [HEAD, *pieces(PLAIN.removeprefix(HEAD) + b"0\r\n\r\n", cuts)]
    assert bytes(read(Watched, parts).body) == b"abcd0123456789"
    assert b"".join(seen) == HEAD + b"0\r\n\r\n"


ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
CLOSING = [
    ANSWER.replace(b"OK", b"OK\r\nConnection: close"),
    ANSWER.replace(b"1.1", b"1.0"),
    ANSWER + b"more",
    ANSWER + ANSWER,
    b"HTTP/1.1 200 OK\r\n\r\nabc",
]


@pytest.mark.parametrize("kind", READERS)
def test_a_connection_is_used_again_only_after_a_clean_end(kind) -> None:
    assert read(kind, [ANSWER]).reusable
    for data in CLOSING:
        reader = read(kind, [data])
        assert (bytes(reader.body), reader.reusable) == (b"abc", False)


ENDLESS = {
    "first line": b"HTTP/1.1 200 " + b"x" * 300_000,
    "header": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000,
    "headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000,
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("data", ENDLESS.values(), ids=ENDLESS)
def test_a_head_is_not_gathered_without_end(kind, data: bytes) -> None:
    reader = kind()
    with pytest.raises(MalformedError):
        for part in pieces(data, [*range(0, len(data), 50_000)]):
            reader.came(memoryview(part))


@pytest.mark.parametrize("kind", READERS)
def test_a_body_is_not_gathered_without_end(kind, monkeypatch) -> None:
    monkeypatch.setattr(http1, "LARGEST", 1000)
    reader = kind()
    with pytest.raises(MalformedError, match="1,000 bytes"):
        for part in [b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 100] * 10]:
            reader.came(memoryview(part))


def test_httptools_is_used_where_it_is_installed(monkeypatch) -> None:
    assert http1.reader_kind.__wrapped__() is ToolsReader
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert http1.reader_kind.__wrapped__() is H11Reader
