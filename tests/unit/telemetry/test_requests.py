"""Each request of a call is a span of its own, and the server is told which."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from _script import BLOCKING, KINDS, URL, FakeVLLM, Talker, body, broken, status
from _sockets import Heard, answer, serving
from opentelemetry import propagate, trace
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import vllm_modalities
from vllm_modalities import Client, InvalidRequestError, RateLimitError
from vllm_modalities.telemetry import instrument

PATH = "/v1/embeddings"
TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-0([0-9a-f])")


def test_a_request_is_told_in_the_words_of_the_http_conventions(telling, kept) -> None:
    server = {"http://server:8000/under": FakeVLLM()}
    telling(server, base_url="http://user:password@server:8000/under/v1").embed("a")
    (post,) = kept.posts
    assert post.name == f"POST {PATH}"
    assert post.kind is SpanKind.CLIENT
    assert dict(post.attributes) == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "server.address": "server",
        "server.port": 8000,
        "url.full": f"http://server:8000/under{PATH}",
        "url.template": PATH,
    }


def test_what_asks_the_servers_who_they_are_is_told_too(telling, kept) -> None:
    telling(FakeVLLM()).embed("a")
    names = [span.name for span in kept.spans if span.name.startswith("GET")]
    assert sorted(names) == ["GET /openapi.json", "GET /v1/models", "GET /version"]


def test_a_request_that_is_sent_again_has_a_span_each_time(telling, kept, pauses) -> None:
    server = FakeVLLM()
    server.once(PATH, status(503), broken("ReadError"))
    telling(server).embed("a")
    told = [
        (
            post.attributes.get("http.request.resend_count"),
            post.attributes.get("error.type"),
            post.attributes.get("http.response.status_code"),
            post.status.status_code,
        )
        for post in kept.posts
    ]
    assert told == [
        (None, "503", 503, StatusCode.ERROR),
        (1, "APIConnectionError", None, StatusCode.ERROR),
        (2, None, 200, StatusCode.UNSET),
    ]
    assert kept.call.status.status_code is StatusCode.UNSET


def test_the_other_server_and_the_other_path_count_as_sent_again(telling, kept) -> None:
    network = {"http://a": FakeVLLM("cross-encoder"), "http://b": FakeVLLM("cross-encoder")}
    for server in network.values():
        server.routes = None
    network["http://a"].always("/v1/rerank", body({"detail": "Not Found"}, 404))
    network["http://a"].always("/rerank", status(503))
    network["http://a"].always("/v2/rerank", status(503))
    telling(network, max_retries=0).rerank("q", ["a"])
    counts = [post.attributes.get("http.request.resend_count", 0) for post in kept.posts]
    assert counts == list(range(len(kept.posts)))
    assert len(counts) > 1
    assert kept.posts[-1].attributes["server.address"] == "b"


def test_a_call_that_failed_for_good_says_how(telling, kept, pauses) -> None:
    server = FakeVLLM()
    server.always(PATH, status(429))
    with pytest.raises(RateLimitError):
        telling(server).embed("a")
    assert [post.attributes["error.type"] for post in kept.posts] == ["429"] * 3
    assert kept.call.attributes["error.type"] == "RateLimitError"


def test_the_id_that_a_server_gives_a_request_is_told(telling, kept) -> None:
    server = FakeVLLM()
    server.once(PATH, status(400, "no", x_request_id="r-1"), status(200, "no", x_request_id="r-2"))
    client = telling(server)
    for _ in range(2):
        with pytest.raises(vllm_modalities.VLLMModalitiesError):
            client.embed("a")
    ids = [post.attributes["http.response.header.x-request-id"] for post in kept.posts]
    assert ids == [("r-1",), ("r-2",)]


def test_a_server_is_told_the_request_s_span(telling, kept) -> None:
    server = FakeVLLM()
    telling(server).embed([str(n) for n in range(9)], batch_size=2)
    sent = {TRACEPARENT.fullmatch(post.headers["traceparent"]).groups() for post in server.posts}
    told = {
        (f"{post.context.trace_id:032x}", f"{post.context.span_id:016x}", "1")
        for post in kept.posts
    }
    assert {(trace, span, str(int(flags, 16) & 1)) for trace, span, flags in sent} == told
    assert len(told) == 5


def test_nothing_is_sent_where_no_propagator_is_wanted(telling) -> None:
    server, usual = FakeVLLM(), propagate.get_global_textmap()
    propagate.set_global_textmap(CompositePropagator([]))
    try:
        telling(server).embed("a")
    finally:
        propagate.set_global_textmap(usual)
    assert "traceparent" not in server.posts[0].headers


class Splitting(TraceContextTextMapPropagator):
    """Writes what would be two headers."""

    def inject(self, carrier: Any, context: Any = None, setter: Any = None) -> None:
        carrier["traceparent"] = "00\r\nX-Evil: 1"


@pytest.mark.parametrize("own", [True, False], ids=["our connections", "httpx"])
def test_a_propagator_cannot_split_a_request(kept, own) -> None:
    usual = propagate.get_global_textmap()
    propagate.set_global_textmap(Splitting())
    try:
        client = Client(URL) if own else Talker(BLOCKING, FakeVLLM()).client
        kept.of(client)
        with pytest.raises(InvalidRequestError, match="no HTTP header can carry"):
            client.embed("a")
    finally:
        propagate.set_global_textmap(usual)


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_is_not_sampled_tells_the_server_so(kind) -> None:
    server = FakeVLLM()
    talker = Talker(kind, server)
    instrument(talker.client, tracer_provider=TracerProvider(ALWAYS_OFF, shutdown_on_exit=False))
    talker.embed("a")
    assert TRACEPARENT.fullmatch(server.posts[0].headers["traceparent"])[3] in "02"


@pytest.mark.parametrize("kind", KINDS)
def test_without_an_sdk_calls_go_on(kind) -> None:
    server = FakeVLLM()
    talker = Talker(kind, server)
    instrument(talker.client)
    assert talker.embed("a").vectors.shape == (1, 4)
    assert "traceparent" not in server.posts[0].headers


def hooked(kind: str, hook: Callable[[Any], object], server: FakeVLLM) -> Talker:
    """A client over an httpx client that the user gave event hooks."""

    async def async_hook(one: Any) -> None:
        hook(one)

    talker = Talker(kind, server)
    hooks = [hook if kind == BLOCKING else async_hook]
    http = talker.client._driver.transport._borrowed._client
    http.event_hooks = {"request": hooks, "response": hooks}
    return talker


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_of_a_client_of_one_s_own_see_every_request(kind) -> None:
    server, seen = FakeVLLM(), []
    hooked(kind, seen.append, server).embed("a")
    for what in (httpx.Request, httpx.Response):
        assert sorted(one.url.path for one in seen if isinstance(one, what)) == sorted(
            sent.path for sent in server.sent
        )


@pytest.mark.parametrize("kind", KINDS)
def test_the_span_is_the_current_one_while_httpx_sends(kind, kept) -> None:
    """So what instruments httpx, and what is logged there, stands under it."""
    seen: list[int] = []
    talker = hooked(kind, lambda _: seen.append(current()), FakeVLLM())
    kept.of(talker.client)
    talker.embed("a")
    (post,) = kept.posts
    assert seen[-2:] == [post.context.span_id] * 2
    assert current() == 0


def current() -> int:
    return trace.get_current_span().get_span_context().span_id


ANSWERS = {
    "/v1/models": b'{"data": [{"id": "m"}]}',
    "/openapi.json": b'{"paths": {"/v1/embeddings": {}}}',
    PATH: b'{"data": [{"index": 0, "embedding": [1, 0]}], "model": "m"}',
}


def test_over_connections_of_our_own_it_is_the_same(kept) -> None:
    heads: list[str] = []

    def respond(heard: Heard) -> list[bytes]:
        heads.append(heard.head)
        return [answer(ANSWERS[heard.head.split()[1]])]

    with serving(respond) as server, Client(server.url, server_version="0.32.0") as client:
        kept.of(client)
        client.with_options(transport="float").embed("a")
    (post,) = kept.posts
    told = TRACEPARENT.search(heads[-1])
    assert told[2] == f"{post.context.span_id:016x}"
    assert post.attributes["url.full"] == f"{server.url}{PATH}"


OFF = """
import sys, httpx
sys.path.insert(0, "tests")
from _script import FakeVLLM, mock_transport
from vllm_modalities import Client
client = Client("http://server", http_client=httpx.Client(transport=mock_transport(FakeVLLM())))
client.embed("a"); list(client.embed_iter(["a"]))
print([name for name in sys.modules if "opentelemetry" in name or "telemetry" in name])
"""


def test_what_is_off_is_not_even_imported() -> None:
    done = subprocess.run([sys.executable, "-c", OFF], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_off_leaves_every_flow_as_it_is() -> None:
    client = Client(URL)
    made = object()
    assert client._begin(lambda _: made) is made


def test_without_the_api_the_extra_is_named(monkeypatch) -> None:
    for name in [one for one in sys.modules if one.startswith("vllm_modalities.telemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ImportError, match=r"pip install 'vllm-modalities\[otel\]'"):
        importlib.import_module("vllm_modalities.telemetry")


def test_requests_that_belong_to_no_call_go_through(kept) -> None:
    server = FakeVLLM()
    talker = Talker(BLOCKING, server)
    plain = talker.with_options(timeout=3)
    kept.of(talker.client)
    plain.embed("a")
    assert kept.spans == []
    assert "traceparent" not in server.posts[0].headers
