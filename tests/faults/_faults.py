"""The faults, each in one row with what must come of it."""

from __future__ import annotations

import base64
import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import Any, TypeAlias

import numpy as np
from _script import Answer
from faults._server import Play, Wire, head, head_of

Edit: TypeAlias = Callable[[Answer], bytes | None]
"""Makes faulty content of a healthy answer's; None if it has no part that could be so."""

RIGHT = "right"  # the healthy answer, or else the name of an error
TIMEOUT = 0.3  # seconds that a call may take where the server never ends


@dataclass(frozen=True)
class Fault:
    """One way to misbehave.

    Attributes:
        name: Its row.
        play: What the server does; None if there is no such server.
        once: What comes of a call when it strikes the first try; None if it cannot, or if it takes
            all the time there is.
        always: What comes of a call when it strikes every try.
        of_bytes: Both, where the wire is raw vectors.
        edit: What it does to the content, if it is a fault of that.
        timeout: The call's, in seconds.
    """

    name: str
    play: Play | None
    once: str | None
    always: str
    of_bytes: str | None = None
    edit: Edit | None = None
    timeout: float = 60.0

    def fits(self, answers: Sequence[Answer]) -> bool:
        """Whether one of these can have this fault."""
        return self.edit is None or any(self.edit(answer) is not None for answer in answers)


# Connections that break, and answers that do not come.


def reset(wire: Wire, _: Answer) -> None:
    wire.reset()


def closed(wire: Wire, _: Answer) -> None:
    wire.close()


def sending(part: Callable[[Answer], bytes], end: Callable[[Wire], None] = Wire.close) -> Play:
    """Send this and break off."""

    def play(wire: Wire, answer: Answer) -> None:
        wire.send(part(answer))
        wire.gone(0.02)  # or RST would overtake it
        end(wire)

    return play


def half_a_head(answer: Answer) -> bytes:
    return head(answer)[:30]


def half_a_body(answer: Answer) -> bytes:
    return head(answer) + answer.content[: len(answer.content) // 2]


def no_body(answer: Answer) -> bytes:
    return head(answer)


def evil(answer: Answer) -> bytes:
    """A whole answer that nobody asked for."""
    content = answer.content[::-1]
    return head(answer) + content


def too_much(wire: Wire, answer: Answer) -> None:
    wire.send(head(answer), answer.content, evil(answer))


def chunk(part: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(part), part)


def chunked_head(answer: Answer, **headers: str) -> bytes:
    kind = {"content-type": "application/json", **answer.headers}
    return head_of(answer.status, {**kind, "transfer-encoding": "chunked", **headers})


def chunks(*, size: int, pause: float = 0.0, end: bytes = b"0\r\n\r\n") -> Play:
    """The answer in chunks of so many bytes, each sent by itself."""

    def play(wire: Wire, answer: Answer) -> None:
        wire.send(chunked_head(answer))
        content = answer.content
        for start in range(0, len(content), size):
            wire.send(chunk(content[start : start + size]))
            if pause and wire.gone(pause):
                return
        wire.send(end)
        if not end:
            wire.close()

    return play


def chunked_cut(answer: Answer) -> bytes:
    half = answer.content[: len(answer.content) // 2]
    return chunked_head(answer) + chunk(half)


def chunk_cut_inside(answer: Answer) -> bytes:
    return chunked_head(answer) + chunk(answer.content)[:-9]


def chunk_of_no_size(answer: Answer) -> bytes:
    return chunked_head(answer) + b"zz\r\n" + answer.content + b"\r\n"


def endless_head(wire: Wire, _: Answer) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        wire.send(b"x-more: " + b"x" * 1000 + b"\r\n")


def endless_body(wire: Wire, answer: Answer) -> None:
    wire.send(chunked_head(answer))
    while True:
        wire.send(chunk(b" " * 65536))


def endless_100(wire: Wire, _: Answer) -> None:
    wire.trickle(b"HTTP/1.1 100 Continue\r\n\r\n", every=0.002)


def slow_head(wire: Wire, answer: Answer) -> None:
    wire.trickle(b"HTTP/1.1 200 OK\r\n" + b"x-more: y\r\n" * 1000)


def slow_body(wire: Wire, answer: Answer) -> None:
    wire.send(head(answer, length=1_000_000))
    wire.trickle(b" ")


def silence(wire: Wire, _: Answer) -> None:
    wire.stay()


def silence_in_body(wire: Wire, answer: Answer) -> None:
    wire.send(half_a_body(answer))
    wire.stay()


def slow_first_byte(wire: Wire, answer: Answer) -> None:
    if not wire.gone(0.2):
        wire.answer(answer)


def closed_when_idle(wire: Wire, answer: Answer) -> None:
    wire.answer(answer)
    wire.close()


def closed_when_used_again(wire: Wire, answer: Answer) -> None:
    """As a server does whose idle time runs out while the next request is on its way."""
    if wire.requests > 1:
        wire.close()
    else:
        wire.answer(answer)


# HTTP that is unusual, or none.


def raw(data: bytes) -> Play:
    return sending(lambda _: data)


def old(answer: Answer) -> bytes:
    return head(answer, version="1.0") + answer.content


def until_closed(version: str) -> Callable[[Answer], bytes]:
    def part(answer: Answer) -> bytes:
        kind = {"content-type": "application/json", **answer.headers}
        return head_of(answer.status, {**kind, "connection": "close"}, version) + answer.content

    return part


def continued(wire: Wire, answer: Answer) -> None:
    wire.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n")
    wire.answer(answer)


def two_lengths(answer: Answer) -> bytes:
    return head_of(200, {"content-length": "5", "Content-Length": "7"}) + b"{}     "


def lengthless(value: str) -> Play:
    return sending(lambda answer: head_of(200, {"content-length": value}) + answer.content)


# Statuses.


def status(code: int, **headers: str) -> Play:
    content = json.dumps({"error": {"message": "no", "code": code}}).encode()

    def play(wire: Wire, _: Answer) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        wire.answer(Answer(code, content, named))

    return play


def after_a_date(code: int) -> Play:
    def play(wire: Wire, answer: Answer) -> None:
        status(code, Retry_After=formatdate(time.time() + 2, usegmt=True))(wire, answer)

    return play


STATUS_ERRORS = {
    408: "APIStatusError",
    425: "APIStatusError",
    429: "RateLimitError",
    500: "InternalServerError",
    502: "InternalServerError",
    503: "ServerOverloadedError",
    504: "InternalServerError",
}


def statuses() -> Iterator[Fault]:
    for code, error in STATUS_ERRORS.items():
        once = error if code == 500 else RIGHT
        yield Fault(f"{code}", status(code), once, error)
        yield Fault(f"{code}, Retry-After in seconds", status(code, Retry_After="2"), once, error)
        yield Fault(f"{code}, Retry-After as a date", after_a_date(code), once, error)
        late = status(code, Retry_After="999999999")
        yield Fault(f"{code}, Retry-After in 31 years", late, error, error)


def redirect(code: int, *, away: bool = False) -> Play:
    """To the same path, of this server or of another."""

    def play(wire: Wire, answer: Answer) -> None:
        assert wire.sent is not None
        where = wire.elsewhere if away else ""
        wire.answer(Answer(code, b"", {"location": f"{where}{wire.sent.path}"}))

    return play


# Content that is not what it claims.


def content(name: str, edit: Edit, outcome: str) -> Fault:
    """A fault of the content, which no second try can better."""

    def play(wire: Wire, answer: Answer) -> None:
        content = edit(answer)  # None: another answer of the call can have this fault
        wire.answer(answer if content is None else replace(answer, content=content))

    return Fault(name, play, outcome, outcome, edit=edit)


def other_type(wire: Wire, answer: Answer) -> None:
    wire.answer(replace(answer, headers={**answer.headers, "content-type": "text/plain"}))


def as_json(data: bytes) -> Play:
    return lambda wire, _: wire.answer(Answer(200, data))


def is_bytes(answer: Answer) -> bool:
    return answer.headers.get("content-type") == "application/octet-stream"


def is_stream(answer: Answer) -> bool:
    return answer.headers.get("content-type", "").startswith("text/event-stream")


COUNT = 4  # items of every call


def in_rows(edit: Callable[[list[Any]], object]) -> Edit:
    """An edit of the list of items in a JSON answer, or of the rows of a raw one."""

    def edit_content(answer: Answer) -> bytes | None:
        if is_bytes(answer):
            rows: list[Any] = list(np.frombuffer(answer.content, "<f4").reshape(COUNT, -1).copy())
            return None if edit(rows) is None else np.concatenate(rows).tobytes()
        if answer.headers.get("content-type") == "text/event-stream":
            return None
        body = json.loads(answer.content)
        found = body.get("data") or body.get("results") or body.get("embeddings", {}).get("base64")
        if not found or edit(found) is None:
            return None
        return json.dumps(body).encode()

    return edit_content


def with_index(edit: Callable[[list[Any]], object]) -> Callable[[list[Any]], object]:
    return lambda rows: edit(rows) if isinstance(rows[0], dict) and "index" in rows[0] else None


def one_fewer(rows: list[Any]) -> object:
    return rows.pop()


def one_more(rows: list[Any]) -> object:
    rows.append({**rows[-1], "index": len(rows)} if isinstance(rows[-1], dict) else rows[-1])
    return rows


def turned_round(rows: list[Any]) -> object:
    rows.reverse()
    return rows


def index_twice(rows: list[Any]) -> object:
    rows[1]["index"] = rows[0]["index"]
    return rows


def index_outside(rows: list[Any]) -> object:
    rows[1]["index"] = len(rows)
    return rows


def in_vector(edit: Callable[[np.ndarray], np.ndarray]) -> Callable[[list[Any]], object]:
    """An edit of the second vector, however it is written."""

    def edit_rows(rows: list[Any]) -> object:
        row = rows[1]
        if isinstance(row, np.ndarray):
            rows[1] = edit(row)
        elif isinstance(row, dict) and "data" in row:  # of its first token
            row["data"][0] = edit(np.array(row["data"][0], "<f4")).tolist()
        elif isinstance(row, str):
            rows[1] = _base64(edit(_vector(row)))
        elif isinstance(row.get("embedding"), str):
            row["embedding"] = _base64(edit(_vector(row["embedding"])))
        elif "embedding" in row:
            row["embedding"] = edit(np.array(row["embedding"], "<f4")).tolist()
        else:
            return None
        return rows

    return edit_rows


def _vector(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4").copy()


def _base64(vector: np.ndarray) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def with_nan(vector: np.ndarray) -> np.ndarray:
    vector[0] = np.nan
    return vector


def zeroed(rows: list[Any]) -> object:
    """A weight, which is one number, may be 0."""
    if isinstance(rows[1], np.ndarray) and len(rows[1]) == 1:
        return None
    return in_vector(lambda vector: vector * 0)(rows)


def score_nan(rows: list[Any]) -> object:
    for name in ("relevance_score", "score"):
        if isinstance(rows[1], dict) and name in rows[1]:
            rows[1][name] = float("nan")
            return rows
    return None


def of_bytes(edit: Callable[[bytes], bytes]) -> Edit:
    return lambda answer: edit(answer.content) if is_bytes(answer) else None


def of_json(edit: Callable[[bytes], bytes]) -> Edit:
    return lambda answer: None if is_bytes(answer) else edit(answer.content)


def unzipped(size: int) -> Play:
    """So many spaces, in a thousandth of the bytes."""
    packed = gzip.compress(b" " * size, 9)

    def play(wire: Wire, _: Answer) -> None:
        wire.answer(Answer(200, packed, {"content-encoding": "gzip"}))

    return play


def zipped(wire: Wire, answer: Answer) -> None:
    headers = {**answer.headers, "content-encoding": "gzip"}
    wire.answer(replace(answer, content=gzip.compress(answer.content), headers=headers))


# Streams of events; they strike as soon as an endpoint streams.


def stream(edit: Callable[[bytes], bytes]) -> Edit:
    return lambda answer: edit(answer.content) if is_stream(answer) else None


def event_cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def event_error(data: bytes) -> bytes:
    first, _, rest = data.partition(b"\n\n")
    error = b'data: {"error": {"message": "no", "code": 400}}'
    return first + b"\n\n" + error + b"\n\n" + rest


CONNECTION, ANSWER, LATE = "APIConnectionError", "ResponseError", "APITimeoutError"
HTML = b"<html><body>Please log in.</body></html>"
ERROR = {"message": "The model is asleep.", "type": "BadRequestError", "code": 400}

FAULTS: tuple[Fault, ...] = (
    Fault("connection refused", None, None, CONNECTION),
    Fault("host name unknown", None, None, CONNECTION),
    Fault("TLS: certificate of an unknown authority", None, None, CONNECTION),
    Fault("TLS: certificate of another host", None, None, CONNECTION),
    Fault("TLS: none spoken", None, None, CONNECTION),
    Fault("reset before the headers", reset, RIGHT, CONNECTION),
    Fault("closed before the headers", closed, RIGHT, CONNECTION),
    Fault("reset inside the headers", sending(half_a_head, Wire.reset), RIGHT, CONNECTION),
    Fault("closed inside the headers", sending(half_a_head), RIGHT, CONNECTION),
    Fault("reset inside the body", sending(half_a_body, Wire.reset), RIGHT, ANSWER),
    Fault("body shorter than declared", sending(half_a_body), RIGHT, ANSWER),
    Fault("no body where one is declared", sending(no_body), RIGHT, ANSWER),
    Fault("body longer than declared: another answer", too_much, RIGHT, RIGHT),
    Fault("chunked", chunks(size=7), RIGHT, RIGHT),
    Fault("chunked, cut between chunks", sending(chunked_cut), RIGHT, ANSWER),
    Fault("chunked, cut inside a chunk", sending(chunk_cut_inside), RIGHT, ANSWER),
    Fault("chunked, a size that is no number", sending(chunk_of_no_size), RIGHT, ANSWER),
    Fault("headers without end", endless_head, RIGHT, CONNECTION),
    Fault("body without end", endless_body, None, ANSWER),
    Fault("100-continue without end", endless_100, None, LATE, timeout=TIMEOUT),
    Fault("headers, a byte at a time", slow_head, None, LATE, timeout=TIMEOUT),
    Fault("body, a byte at a time", slow_body, None, LATE, timeout=TIMEOUT),
    Fault("silence", silence, None, LATE, timeout=TIMEOUT),
    Fault("silence inside the body", silence_in_body, None, LATE, timeout=TIMEOUT),
    Fault("slow first byte", slow_first_byte, RIGHT, RIGHT),
    Fault("idle connection closed under us", closed_when_idle, RIGHT, RIGHT),
    Fault("connection closed as it is used again", closed_when_used_again, RIGHT, RIGHT),
    Fault("HTTP/1.0", sending(old), RIGHT, RIGHT),
    Fault("HTTP/1.0, body until the close", sending(until_closed("1.0")), RIGHT, RIGHT),
    Fault("HTTP/1.1, body until the close", sending(until_closed("1.1")), RIGHT, RIGHT),
    Fault("100-continue and 103 before the answer", continued, RIGHT, RIGHT),
    Fault("not HTTP", raw(b"SSH-2.0-OpenSSH_9.6\r\n"), RIGHT, CONNECTION),
    Fault("two lengths that differ", sending(two_lengths), RIGHT, CONNECTION),
    Fault("a length that is no number", lengthless("many"), RIGHT, CONNECTION),
    Fault("a length below zero", lengthless("-1"), RIGHT, CONNECTION),
    *statuses(),
    Fault("redirect, same host", redirect(307), ANSWER, ANSWER),
    Fault("redirect, other host", redirect(308, away=True), ANSWER, ANSWER),
    Fault("redirect to a GET", redirect(303), ANSWER, ANSWER),
    Fault("wrong content type", other_type, RIGHT, RIGHT, of_bytes=ANSWER),
    Fault("gzip bomb", unzipped(256_000_000), ANSWER, ANSWER),
    Fault("gzip that was not asked for", zipped, ANSWER, ANSWER),
    Fault("empty body", as_json(b""), ANSWER, ANSWER),
    Fault("a page to log in", as_json(HTML), ANSWER, ANSWER),
    content("JSON of another shape", lambda _: b"[]", ANSWER),
    Fault("200 with an error body", as_json(json.dumps({"error": ERROR}).encode()), ANSWER, ANSWER),
    Fault(
        "200 with an old error body",
        as_json(json.dumps({"object": "error", **ERROR}).encode()),
        ANSWER,
        ANSWER,
    ),
    content("invalid UTF-8", of_json(lambda data: data.replace(b'":', b'\xff":', 1)), ANSWER),
    content("truncated JSON", of_json(lambda data: data[:-2]), ANSWER),
    content("NaN in a vector", in_rows(in_vector(with_nan)), ANSWER),
    content("NaN as a score", in_rows(score_nan), ANSWER),
    content("one item fewer", in_rows(one_fewer), ANSWER),
    content("one item more", in_rows(one_more), ANSWER),
    content("items in another order, with index", in_rows(with_index(turned_round)), RIGHT),
    content("an index twice", in_rows(with_index(index_twice)), ANSWER),
    content("an index outside", in_rows(with_index(index_outside)), ANSWER),
    content("a vector too narrow", in_rows(in_vector(lambda vector: vector[:-1])), ANSWER),
    content("a vector of zeros", in_rows(zeroed), ANSWER),
    content("raw vectors, a byte fewer", of_bytes(lambda data: data[:-1]), ANSWER),
    content("raw vectors, a byte more", of_bytes(lambda data: data + b"\0"), ANSWER),
    content("events, cut", stream(event_cut), ANSWER),
    content("events, an error among them", stream(event_error), ANSWER),
    Fault(
        "events, parted inside a character",
        chunks(size=1),
        RIGHT,
        RIGHT,
        edit=stream(lambda data: data),
    ),
)
