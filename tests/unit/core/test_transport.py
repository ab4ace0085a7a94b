"""What the transports make of httpx's answers and exceptions."""

import email.utils
import time
from functools import partial

import pytest
from _script import (
    ASYNCIO,
    KINDS,
    TRIO,
    URL,
    Answer,
    FakeVLLM,
    Talker,
    body,
    broken,
    cut,
    status,
)

from vllm_modalities import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    RateLimitError,
    ResponseError,
    ServerOverloadedError,
    VLLMModalitiesError,
)
from vllm_modalities._flow import Form, Request

EMBEDDINGS = "/v1/embeddings"
STATUSES = {
    400: BadRequestError,
    413: BadRequestError,
    422: BadRequestError,
    401: AuthenticationError,
    403: AuthenticationError,
    404: NotFoundError,
    405: NotFoundError,
    418: APIStatusError,
    429: RateLimitError,
    500: InternalServerError,
    502: InternalServerError,
    503: ServerOverloadedError,
}


def failure(talk, fault, **options) -> VLLMModalitiesError:
    """What a call ends with when every answer has this fault."""
    server = FakeVLLM()
    server.always(EMBEDDINGS, fault)
    with pytest.raises(VLLMModalitiesError) as caught:
        talk(server, max_retries=0, **options).embed("a")
    return caught.value


@pytest.mark.parametrize(("code", "kind"), STATUSES.items())
def test_every_status_has_its_class_and_carries_the_evidence(talk, code, kind) -> None:
    error = failure(talk, status(code, "because", x_request_id="r-7", Retry_After="3"))
    assert type(error) is kind
    assert (error.status_code, error.message, error.server) == (code, "because", URL)
    assert (error.request_id, error.retry_after) == ("r-7", 3)
    assert b"because" in error.body
    for word in (f"HTTP {code}", "because", URL, "r-7"):
        assert word in str(error)


def test_a_status_without_a_word_says_so(talk) -> None:
    assert "no reason given" in str(failure(talk, body(b"", 500)))


LIBRARY = {
    "ConnectError": APIConnectionError,
    "ConnectTimeout": APITimeoutError,
    "ReadTimeout": APITimeoutError,
    "WriteTimeout": APITimeoutError,
    "PoolTimeout": APITimeoutError,
    "ReadError": APIConnectionError,
    "WriteError": APIConnectionError,
    "CloseError": APIConnectionError,
    "ProxyError": APIConnectionError,
    "UnsupportedProtocol": APIConnectionError,
    "LocalProtocolError": APIConnectionError,
    "RemoteProtocolError": APIConnectionError,
    "DecodingError": VLLMModalitiesError,
    "TooManyRedirects": VLLMModalitiesError,
}


@pytest.mark.parametrize(("name", "kind"), LIBRARY.items())
def test_every_exception_of_the_library_becomes_one_of_ours(talk, library, name, kind) -> None:
    error = failure(talk, broken(name), library=library)
    assert isinstance(error, kind)
    assert URL in str(error)


def test_an_answer_that_stops_half_way_is_tried_again(talk, library, pauses) -> None:
    server = FakeVLLM()
    server.once(EMBEDDINGS, cut, cut)
    assert len(talk(server, library=library).embed("a")) == 1
    assert len(server.posts) == 3


def test_an_answer_that_always_stops_half_way_is_an_error(talk, library) -> None:
    error = failure(talk, cut, library=library)
    assert isinstance(error, ResponseError)
    assert error.cut
    assert "stopped half-way" in str(error)


def test_an_error_s_body_that_stops_half_way_is_no_answer(talk) -> None:
    fault = status(500, "a long explanation")
    assert isinstance(failure(talk, lambda answer: cut(fault(answer))), APIConnectionError)


def test_a_redirect_names_the_new_address(talk) -> None:
    error = failure(talk, body(b"", 308, location="https://elsewhere/v1/embeddings"))
    assert isinstance(error, ResponseError)
    assert "https://elsewhere/v1/embeddings" in str(error)
    assert "`base_url`" in str(error)


def test_a_redirect_to_nowhere_is_an_error_too(talk) -> None:
    assert "unknown place" in str(failure(talk, body(b"", 302)))


def retry_after(talk, value: str) -> float | None:
    return failure(talk, status(503, Retry_After=value)).retry_after


@pytest.mark.parametrize(("value", "seconds"), [("7", 7), ("0", 0), ("1.5", 1.5), ("-3", 0)])
def test_retry_after_is_read_as_seconds(talk, value, seconds) -> None:
    assert retry_after(talk, value) == seconds


@pytest.mark.parametrize(("ahead", "least", "most"), [(3600, 3000, 3600), (-3600, 0, 0)])
def test_retry_after_is_read_as_a_date(talk, ahead, least, most) -> None:
    date = email.utils.formatdate(time.time() + ahead, usegmt=True)
    assert least <= retry_after(talk, date) <= most


NONSENSE = ["", "soon", "Mon, 99 Foo", "Mon, 01 Jan 2024 00:00:00 +999999999999999999999", "1 2"]
NONSENSE += ["Mon, 99999999999999999999 Jan 2024 00:00:00 GMT", "nan"]


@pytest.mark.parametrize("value", NONSENSE)
def test_a_retry_after_without_sense_is_none(talk, value) -> None:
    assert retry_after(talk, value) in (None, 0)


def test_an_answer_that_trickles_in_for_ever_ends_at_the_timeout(talk, monkeypatch) -> None:
    """For the blocking client, which looks at the clock itself, each part comes a minute later."""
    late, real = [0.0], time.monotonic
    monkeypatch.setattr("vllm_modalities._transport.time.monotonic", lambda: real() + late[-1])
    error = failure(
        talk,
        lambda _: Answer(endless=lambda: late.append(late[-1] + 60)),
        timeout=0.1,
    )
    assert isinstance(error, APITimeoutError)
    assert "raise `timeout`" in str(error)


def test_a_server_that_never_answers_ends_at_the_timeout() -> None:
    for kind in (ASYNCIO, TRIO):
        error = failure(partial(Talker, kind), lambda _: Answer(silent=True), timeout=0.1)
        assert isinstance(error, APITimeoutError)
        assert EMBEDDINGS in str(error)


def test_a_form_is_sent_as_multipart(library) -> None:
    server = FakeVLLM(routes=("/v1/audio/transcriptions",))
    server.always("/v1/audio/transcriptions", body({"text": "words"}))
    form = Form({"model": "m", "list[]": ["a", "b"]}, {"file": ("a.wav", b"RIFF", "audio/wav")})

    def flow():
        return (yield from Request("POST", "/v1/audio/transcriptions", form=form, server=URL))

    for kind in KINDS:
        client = Talker(kind, server, library=library)
        assert client._call(lambda _: flow()).json() == {"text": "words"}
        for part in (b'name="model"', b'name="list[]"', b'filename="a.wav"', b"audio/wav", b"RIFF"):
            assert part in server.posts[-1].body
        assert server.posts[-1].headers["content-type"].startswith("multipart/form-data")
