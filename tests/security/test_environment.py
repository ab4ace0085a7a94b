"""Keys go to the configured servers alone: over sockets of this machine, whatever it is set to."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import httpx
import pytest

from vllm_modalities import AsyncClient, Client, VLLMModalitiesError

KEY = "sk-the-very-secret-key"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
VECTORS = {"data": [{"index": 0, "embedding": [1.0, 0.0]}]}


class Recorder(ThreadingHTTPServer):
    """A server that notes what comes.

    Attributes:
        heads: Request line and headers, one text a request.
        moves: Where it sends everybody, by their path.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.heads: list[str] = []
        self.moves = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Recorder

    def answer(self) -> None:
        self.server.heads.append(f"{self.requestline}\n{self.headers}")
        content = json.dumps(VECTORS).encode()
        moved = self.server.moves and self.command == "POST"
        self.send_response(307 if moved else 200 if self.command == "POST" else 404)
        if moved:
            self.send_header("Location", self.server.moves + self.path)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_CONNECT = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def recording() -> Iterator[Recorder]:
    server = Recorder()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def server() -> Iterator[Recorder]:
    with recording() as one:
        yield one


@pytest.fixture
def other() -> Iterator[Recorder]:
    with recording() as one:
        yield one


@pytest.fixture(autouse=True)
def settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


Embed = Callable[..., Any]


@pytest.fixture(params=["blocking", "asyncio", "trio"])
def embed(request: pytest.FixtureRequest) -> Embed:
    """`embed(url, **options)`: one text, by a client of each kind; None if that fails."""

    def blocking(url: Any, *, http: dict[str, Any] | None = None, **options: Any) -> Any:
        given = None if http is None else httpx.Client(**http)
        with Client(url, http_client=given, max_retries=0, **options) as client:
            found = client.embed("a")
        if given is not None:
            given.close()
        return found

    async def awaited(url: Any, *, http: dict[str, Any] | None = None, **options: Any) -> Any:
        given = None if http is None else httpx.AsyncClient(**http)
        async with AsyncClient(url, http_client=given, max_retries=0, **options) as client:
            found = await client.embed("a")
        if given is not None:
            await given.aclose()
        return found

    def embed(url: Any, **options: Any) -> Any:
        try:
            if request.param == "blocking":
                return blocking(url, **options)
            return anyio.run(lambda: awaited(url, **options), backend=request.param)
        except VLLMModalitiesError:
            return None

    return embed


pytestmark = pytest.mark.filterwarnings("ignore::vllm_modalities.VLLMModalitiesWarning")


@pytest.mark.parametrize("variable", ["HOME", "NETRC"])
def test_no_netrc_adds_credentials(server, embed, monkeypatch, tmp_path, variable: str) -> None:
    for name in (".netrc", "_netrc"):
        (tmp_path / name).write_text("machine 127.0.0.1 login someone password netrc-password\n")
        (tmp_path / name).chmod(0o600)
    monkeypatch.setenv(variable, str(tmp_path if variable == "HOME" else tmp_path / ".netrc"))
    assert embed(server.url) is not None
    assert not [head for head in server.heads if "authorization" in head.lower()]


def test_a_key_goes_to_every_configured_server_and_to_no_other(server, other, embed) -> None:
    server.moves = other.url
    assert embed(server.url, api_key=KEY) is None
    assert all(KEY in head for head in server.heads)
    assert other.heads == []


def test_a_client_of_one_s_own_that_follows_redirects_is_not_led_astray(
    server, other, embed
) -> None:
    """httpx would take the Authorization off, and leave on every other header that is a key."""
    server.moves = other.url
    assert embed(server.url, headers={"X-Key": KEY}, http={"follow_redirects": True}) is None
    assert other.heads == []


def test_the_credentials_in_an_address_go_to_that_server_alone(server, other, embed) -> None:
    with_password = server.url.replace("http://", "http://someone:password@")
    with_another = other.url.replace("http://", "http://another:word@")
    for _ in range(2):
        embed([with_password, with_another])
    of_server = {line for head in server.heads for line in head.split("\n") if "Basic" in line}
    of_other = {line for head in other.heads for line in head.split("\n") if "Basic" in line}
    assert len(of_server) == len(of_other) == 1
    assert of_server != of_other


@pytest.mark.parametrize("name", ["Authorization", "authorization", "AUTHORIZATION"])
def test_a_header_of_one_s_own_takes_the_key_s_place(server, embed, name: str) -> None:
    embed(server.url, api_key=KEY, headers={name: "Bearer another"})
    assert all(head.lower().count("authorization:") == 1 for head in server.heads)
    assert not [head for head in server.heads if KEY in head]


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY", "http_proxy"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_no_proxy_sees_what_goes_to_this_machine(
    server, other, embed, monkeypatch, name: str, host: str
) -> None:
    monkeypatch.setenv(name, other.url)
    embed(server.url.replace("127.0.0.1", host), api_key=KEY)
    assert other.heads == []


def test_a_proxy_of_the_environment_is_used_as_the_documentation_says(
    other, embed, monkeypatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", other.url)
    assert embed("http://gpu.example:8000") is not None
    assert other.heads[-1].startswith("POST http://gpu.example:8000/v1/embeddings HTTP/1.1")
    monkeypatch.setenv("NO_PROXY", "gpu.invalid")
    other.heads.clear()
    assert embed("http://gpu.invalid:8000") is None
    assert other.heads == []


def test_a_proxy_sees_no_key_that_goes_to_a_server_with_tls(other, embed, monkeypatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", other.url)
    assert embed("https://gpu.example", api_key=KEY) is None
    assert other.heads
    assert all(head.startswith("CONNECT gpu.example:443 HTTP/1.1") for head in other.heads)
    assert not [head for head in other.heads if KEY in head]


def test_a_client_of_one_s_own_can_be_told_to_read_no_environment(
    other, embed, monkeypatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", other.url)
    assert embed("http://gpu.invalid:8000", http={"trust_env": False}) is None
    assert other.heads == []
