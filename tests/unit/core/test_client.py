"""What clients are made with: addresses, keys, headers, options."""

import base64

import anyio
import httpx
import pytest
from _script import BLOCKING, KINDS, URL, FakeVLLM, Talker, mock_transport, vectors_of

from vllm_modalities import AsyncClient, Client, InvalidRequestError


def urls_of(client) -> list[str]:
    """Where it would send, as its repr shows."""
    return repr(client).partition("(")[2].strip(")").replace("'", "").split(", ")


ADDRESSES = {
    "http://server": "http://server",
    "http://server/": "http://server",
    "http://server/v1": "http://server",
    "http://server/v1/": "http://server",
    "http://server:8000/v1": "http://server:8000",
    "https://server/prefix": "https://server/prefix",
    "https://server/prefix/v1/": "https://server/prefix",
    "server:8000": "http://server:8000",
    "localhost": "http://localhost",
    "HTTP://Server": "http://server",
    "http://[::1]:8000/v1": "http://[::1]:8000",
    "http://10.0.0.1:80": "http://10.0.0.1:80",
    " http://server ": "http://server",
}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(("given", "used"), ADDRESSES.items())
def test_an_address_is_taken_in_every_usual_spelling(kind, given, used) -> None:
    assert urls_of(kind(given)) == [used]


@pytest.mark.parametrize(
    ("setting", "used"),
    [
        (None, ["http://localhost:8000"]),
        ("", ["http://localhost:8000"]),
        ("http://a", ["http://a"]),
        ("http://a/v1, http://b ,", ["http://a", "http://b"]),
    ],
)
def test_the_environment_gives_the_addresses(monkeypatch, setting, used) -> None:
    if setting is not None:
        monkeypatch.setenv("VLLM_BASE_URL", setting)
    assert urls_of(Client()) == used
    assert urls_of(Client("http://c")) == ["http://c"]


NO_ADDRESSES = ["", ",", [], {}, {"embed": []}, ["http://a", ""], 8000, [None]]
NO_ADDRESSES += ["ftp://server", "http://", "http://server:port", "file:///etc", "http://[::1"]
NO_ADDRESSES += ["http://ser ver", "http://\0"]


@pytest.mark.parametrize("given", NO_ADDRESSES, ids=repr)
def test_what_is_no_address_is_refused_in_words(given) -> None:
    with pytest.raises(InvalidRequestError, match="http://localhost:8000"):
        Client(given)


@pytest.mark.parametrize(
    "options",
    [
        {"server_version": "banana"},
        {"max_concurrency": 0},
        {"max_concurrency": -1},
        {"validation": "eror"},
        {"transport": "json"},
        {"timeout": 0},
        {"timeout": -1},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_option_without_sense_is_refused_at_once(kind, options) -> None:
    """Not at the first call, and never by hanging or by checking nothing."""
    with pytest.raises(InvalidRequestError, match=next(iter(options))):
        kind(URL, **options)


@pytest.mark.parametrize("base", ["http://server/prefix", "http://server:8000"])
def test_requests_go_under_the_address(talk, base) -> None:
    server = FakeVLLM()
    talk({base: server}, base_url=f"{base}/v1/").embed("a")
    assert {"/version", "/v1/models", "/v1/embeddings"} <= {sent.path for sent in server.sent}


def authorizations(server: FakeVLLM) -> set[str | None]:
    return {sent.headers.get("authorization") for sent in server.sent}


def test_no_key_sends_no_authorization(talk) -> None:
    server = FakeVLLM()
    talk(server).embed("a")
    assert authorizations(server) == {None}


@pytest.mark.parametrize("key", ["sk-1", lambda: "sk-1"])
def test_a_key_is_sent_with_every_request(talk, key) -> None:
    server = FakeVLLM()
    talk(server, api_key=key).embed("a")
    assert authorizations(server) == {"Bearer sk-1"}


def test_the_environment_gives_the_key_and_an_argument_goes_before_it(talk, monkeypatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "of the environment")
    for options, key in (({}, "of the environment"), ({"api_key": "given"}, "given")):
        server = FakeVLLM()
        talk(server, **options).embed("a")
        assert authorizations(server) == {f"Bearer {key}"}


def test_a_function_is_asked_for_the_key_again(talk) -> None:
    server = FakeVLLM()
    keys = iter(range(99))
    talk(server, api_key=lambda: f"key-{next(keys)}").embed("a")
    assert len(authorizations(server)) == len(server.sent)


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_is_awaited_is_for_the_client_that_awaits(kind) -> None:
    server = FakeVLLM()
    keys = iter(range(99))

    async def key() -> str:
        return f"key-{next(keys)}"

    client = Talker(kind, server, api_key=key)
    if kind == BLOCKING:
        with pytest.raises(InvalidRequestError, match="AsyncClient does"):
            client.embed("a")
        assert server.sent == []
    else:
        client.embed("a")
        assert len(authorizations(server)) == len(server.sent) == next(keys)


@pytest.mark.parametrize(
    ("userinfo", "pair"),
    [("user:secret", "user:secret"), ("user", "user:"), ("u%40x:p%3Aq", "u@x:p:q")],
)
def test_credentials_in_an_address_become_a_header(talk, userinfo, pair) -> None:
    server = FakeVLLM()
    client = talk(server, base_url=f"http://{userinfo}@server/v1")
    assert client.servers()[0].url == URL
    assert authorizations(server) == {f"Basic {base64.b64encode(pair.encode()).decode()}"}


def test_headers_are_sent_and_added_to(talk) -> None:
    server = FakeVLLM()
    client = talk(server, headers={"X-One": "1", "X-Two": "1"})
    client.with_options(headers={"X-Two": "2"}).embed("a")
    client.embed("a")
    shown = [(sent.headers["x-one"], sent.headers["x-two"]) for sent in server.posts]
    assert shown == [("1", "2"), ("1", "1")]


def test_every_request_says_what_sent_it_and_wants_no_compression(talk) -> None:
    server = FakeVLLM()
    talk(server).embed("a")
    for sent in server.sent:
        assert sent.headers["user-agent"].startswith("vllm-modalities/")
        assert sent.headers["accept-encoding"] == "identity"
    assert server.posts[0].headers["content-type"] == "application/json"


def test_httpx_and_its_fork_both_work(talk, library) -> None:
    result = talk(FakeVLLM(), library=library).embed(["a", "b"])
    assert (result.vectors == vectors_of("ab", 4)).all()


OPTIONS = {
    "model": ({"model": "other"}, lambda post: post.body["model"] == "other"),
    "transport": ({"transport": "float"}, lambda post: post.body["encoding_format"] == "float"),
    "headers": ({"headers": {"X-A": "b"}}, lambda post: post.headers["x-a"] == "b"),
}


@pytest.mark.parametrize(("options", "shows"), OPTIONS.values(), ids=OPTIONS)
def test_with_options_changes_one_thing_and_shares_the_rest(talk, options, shows) -> None:
    server = FakeVLLM(models=[{"id": "other", "parent": "m"}])
    client = talk(server)
    other = client.with_options(**options)
    other.embed("a")
    client.embed("a")
    assert shows(server.posts[0])
    assert len(server.asked("/version")) == 1
    assert client.client is not other.client
    with pytest.raises((AssertionError, KeyError)):
        assert shows(server.posts[1])


def test_with_options_of_none_leaves_all_as_it_is(talk) -> None:
    server = FakeVLLM()
    talk(server, transport="float").with_options(transport=None).embed("a")
    assert server.posts[0].body["encoding_format"] == "float"


def test_with_options_checks_what_the_constructor_checks() -> None:
    with pytest.raises(InvalidRequestError, match="validation"):
        Client(URL).with_options(validation="eror")


def test_a_given_http_client_stays_open() -> None:
    http_client = httpx.Client(transport=mock_transport(FakeVLLM()))
    with Client(URL, http_client=http_client) as client:
        client.embed("a")
    assert not http_client.is_closed
    http_client.close()


@pytest.mark.parametrize("backend", KINDS[1:])
def test_a_given_async_http_client_stays_open(backend) -> None:
    async def main() -> None:
        http_client = httpx.AsyncClient(transport=mock_transport(FakeVLLM(), is_async=True))
        async with AsyncClient(URL, http_client=http_client) as client:
            await client.embed("a")
        assert not http_client.is_closed
        await http_client.aclose()

    anyio.run(main, backend=backend)


def test_a_client_closes_what_is_its_own() -> None:
    client = Client(URL)
    client.close()
    client.close()

    async def main() -> None:
        async with AsyncClient(URL):
            pass

    anyio.run(main)
    with pytest.raises(Exception, match="closed"):
        client.embed("a")


class Mixin:
    pass


class Before(Mixin, httpx.Client):
    pass


class After(httpx.Client, Mixin):
    pass


@pytest.mark.parametrize("kind", [Before, After])
def test_a_client_of_the_user_s_own_class_will_do(kind) -> None:
    http_client = kind(transport=mock_transport(FakeVLLM()))
    assert len(Client(URL, http_client=http_client).embed("a")) == 1


@pytest.mark.parametrize(
    ("kind", "wrong"), [(Client, httpx.AsyncClient), (AsyncClient, httpx.Client)]
)
def test_the_wrong_kind_of_http_client_is_refused_at_once(kind, wrong) -> None:
    with pytest.raises((InvalidRequestError, TypeError), match="http_client"):
        kind(URL, http_client=wrong())


def test_the_repr_shows_the_servers() -> None:
    assert repr(Client(["http://a", "http://b"])) == "Client('http://a', 'http://b')"
    assert repr(AsyncClient("http://a")) == "AsyncClient('http://a')"


def test_servers_through_either_client(talk) -> None:
    (info,) = talk(FakeVLLM()).servers()
    assert (info.url, info.version) == (URL, "0.32.0")
    assert Talker(BLOCKING, FakeVLLM()).servers()[0] == info
