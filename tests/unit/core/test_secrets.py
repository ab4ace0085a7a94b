"""An API key or a password shows in no log, repr, error or traceback, whatever a server does."""

import base64
import copy
import logging
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace

import httpcore
import httpx
import pytest
from _script import FakeVLLM, Play, body, broken, cut, mock_transport, status

from vllm_modalities import AsyncClient, Client, InvalidRequestError, VLLMModalitiesError
from vllm_modalities.endpoints.embed import embed

pytestmark = pytest.mark.filterwarnings("ignore::vllm_modalities.VLLMModalitiesWarning")

KEY = "sk-the-very-secret-key"
PASSWORD = "the-very-secret-password"
PAIR = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
SECRETS = (KEY, PASSWORD, PAIR)
WITH_PASSWORD = f"http://user:{PASSWORD}@server"


def shown(secret_text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in secret_text]


def all_of(error: BaseException) -> str:
    """Everything that a log or a notebook may print of an error."""
    seen = "".join(traceback.format_exception(error))
    for one in (error, error.__cause__, error.__context__):
        seen += f"{one} {one!r}"
    return seen


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    """All that was logged, by anybody, at any level."""
    names = ["", *(n for n in logging.root.manager.loggerDict if n.startswith(("http", "vllm")))]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    caplog.set_level(logging.DEBUG)
    yield lambda: "\n".join(f"{record.getMessage()} {record.args}" for record in caplog.records)
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def echo(fault):
    """A gateway that tells what it was sent: put into any answer."""
    words = f"you sent Authorization: Bearer {KEY} and Basic {PAIR}, that is {PASSWORD}"

    def echoed(answer):
        said = fault(answer)
        headers = {name: value.replace("ECHO", words) for name, value in said.headers.items()}
        return replace(said, content=said.content.replace(b"ECHO", words.encode()), headers=headers)

    return echoed


FAULTS = {
    "401": status(401, "ECHO"),
    "400": status(400, "ECHO"),
    "404": status(404, "ECHO"),
    "429": status(429, "ECHO"),
    "500": status(500, "ECHO"),
    "501": status(501, "ECHO"),
    "503 text": body(b"ECHO", 503),
    "error with 200": body({"error": {"message": "ECHO"}}),
    "error object with 200": body({"object": "error", "message": "ECHO"}),
    "text with 200": body(b"ECHO"),
    "html with 200": body(b"<html>ECHO</html>"),
    "malformed": body({"data": [{"index": 0, "embedding": ["ECHO"]}]}),
    "malformed key": body({"ECHO": 1}),
    "bad base64": body({"data": [{"index": 0, "embedding": "ECHO"}]}),
    "redirect": body(b"", 307, location="http://elsewhere/?ECHO"),
    "request id": status(500, "no", x_request_id="ECHO"),
    "reset": broken("ReadError"),
    "refused": broken("ConnectError"),
    "late": broken("ReadTimeout"),
    "cut": cut,
}


@pytest.mark.parametrize(
    "options", [{"api_key": KEY}, {"base_url": WITH_PASSWORD}], ids=["key", "password"]
)
@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/models", "/version"])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_no_error_shows_a_secret_even_if_the_server_does(
    talk, logged, fault, path, options
) -> None:
    """The server echoes only what this client has sent it."""
    own = {KEY} if "api_key" in options else {PASSWORD, PAIR}
    server = FakeVLLM()
    server.always(path, echo(fault))
    try:
        talk(server, max_retries=0, **options).embed("a")
    except VLLMModalitiesError as error:
        assert not own & set(shown(all_of(error)))  # noqa: PT017
    assert not own & set(shown(logged()))


def test_an_error_s_body_holds_no_key_either(talk) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", echo(status(401, "ECHO")))
    with pytest.raises(VLLMModalitiesError) as caught:
        talk(server, api_key=KEY).embed("a")
    assert KEY.encode() not in caught.value.body
    assert b"you sent" in caught.value.body


def test_a_key_in_the_headers_option_is_a_secret_too(talk) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", echo(status(401, "ECHO")))
    with pytest.raises(VLLMModalitiesError) as caught:
        talk(server, headers={"Authorization": f"Bearer {KEY}"}).embed("a")
    assert KEY not in all_of(caught.value)


def test_a_key_that_changes_at_every_request_is_hidden_all_the_same(talk) -> None:
    server = FakeVLLM()

    def echoing(answer):
        return status(401, server.sent[-1].headers["authorization"])(answer)

    server.always("/v1/embeddings", echoing)
    keys = (f"{KEY}-{number}" for number in range(99))
    with pytest.raises(VLLMModalitiesError) as caught:
        talk(server, api_key=lambda: next(keys)).embed("a")
    assert KEY not in all_of(caught.value)


def whole_stack() -> httpx.Client:
    """httpx over httpcore over h11, and only then a scripted connection: it answers 401."""
    transport = httpx.HTTPTransport()
    answer = b"HTTP/1.1 401 no\r\nContent-Length: 2\r\n\r\n{}"
    transport._pool = httpcore.ConnectionPool(network_backend=httpcore.MockBackend([answer] * 9))
    return httpx.Client(transport=transport)


@pytest.mark.parametrize("tail", ["\n", "\r\n", " ", "\0", "é", "\u20ac"])
def test_a_key_that_no_header_can_carry_is_never_shown(tail) -> None:
    """Such as one read from a file with its line end: h11 quotes what it refuses."""
    with whole_stack() as http_client:
        with pytest.raises(VLLMModalitiesError) as caught:
            Client("http://server", api_key=lambda: KEY + tail, http_client=http_client).embed("a")
        with pytest.raises(InvalidRequestError, match="api_key"):
            Client("http://server", api_key=KEY + tail)
    assert KEY not in all_of(caught.value)


def test_the_whole_stack_logs_no_secret(logged, caplog) -> None:
    with whole_stack() as http_client:
        for url, key in ((WITH_PASSWORD, None), ("http://server", KEY)):
            client = Client(url, api_key=key, http_client=http_client, max_retries=0)
            with pytest.raises(VLLMModalitiesError):
                client.embed("a")
    assert "httpcore" in {record.name.partition(".")[0] for record in caplog.records}
    assert shown(logged()) == []


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_no_repr_of_a_client_shows_a_secret(kind) -> None:
    client = kind(WITH_PASSWORD, headers={"X-Key": KEY})
    parts = [client, client.with_options(headers={"X-Other": KEY}), *vars(client).values()]
    assert shown(" ".join(f"{part} {part!r}" for part in parts)) == []


def test_no_repr_of_a_request_shows_a_secret() -> None:
    play = Play(FakeVLLM(), base_url=WITH_PASSWORD, headers={"Authorization": f"Bearer {KEY}"})
    play.call(embed, "a")
    assert play.requests
    assert shown(" ".join(f"{part} {part!r}" for part in [*play.requests, play.fleet])) == []


def test_no_result_shows_a_secret(talk) -> None:
    client = talk(FakeVLLM(), base_url=WITH_PASSWORD, headers={"X-Key": KEY}, keep_raw=True)
    assert shown(f"{client.servers()} {client.embed('a')!r} {client.embed('a').raw}") == []


@pytest.mark.parametrize("odd", ["/", "#", "?", "[", "]", "@", ":", "%", " ", "\u2100", "\uff0f"])
def test_an_address_with_an_unquoted_password_shows_none_of_it(odd: str) -> None:
    half = "secrethalf"
    try:
        client = Client(f"http://user:{half}{odd}{half}@server")
    except InvalidRequestError as error:
        assert half not in all_of(error)  # noqa: PT017
    else:
        assert half not in repr(client)
        assert copy.copy(client) is not client


@pytest.mark.parametrize(
    "own",
    [{"headers": {"X-Api-Key": KEY}}, {"auth": ("user", PASSWORD)}, {"cookies": {"sid": KEY}}],
    ids=["headers", "auth", "cookies"],
)
def test_what_a_client_of_one_s_own_adds_is_hidden_too(own) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", echo(status(400, "ECHO")))
    with httpx.Client(transport=mock_transport(server), **own) as http:
        client = Client("http://server", http_client=http)
        with pytest.raises(VLLMModalitiesError) as caught:
            client.embed("a")
    added = {KEY} if "auth" not in own else {PASSWORD, PAIR}
    assert not added & set(shown(all_of(caught.value)))
