"""Simulated servers on a real socket: as vLLM's own stack answers, and as clients see them."""

import asyncio
import http.client
import io
import json
import logging
import socket
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
import soundfile

import vllm_modalities.simulator as package
from vllm_modalities import (
    APIConnectionError,
    AsyncClient,
    AuthenticationError,
    Client,
    RateLimitError,
    ResponseError,
    ServerOverloadedError,
    UnsupportedTaskError,
)
from vllm_modalities.simulator import Received, Served, releases, simulate

NEWEST = releases("embed", "rerank", "transcribe", "ocr")[-1]
BASE64 = {"encoding_format": "base64", "endianness": "little"}


@pytest.fixture(scope="module")
def everything():
    """One server a task, for tests that leave it as it was."""
    with simulate() as servers:
        yield servers


@pytest.fixture
def embedder():
    with simulate(tasks=["embed"]) as server:
        yield server


def ask(url: str, path: str, method: str = "GET", **given: object) -> httpx.Response:
    return httpx.request(method, url + path, trust_env=False, **given)


def flac(seconds: float = 1.0) -> bytes:
    file = io.BytesIO()
    tone = np.sin(np.arange(int(seconds * 16000)) / 9) / 2  # silence is not sent
    soundfile.write(file, tone, 16000, format="FLAC")
    return file.getvalue()


def test_the_newest_release_is_the_default_and_each_task_has_a_server(everything) -> None:
    assert everything.version == NEWEST
    with Client(everything.urls) as client:
        servers = client.servers()
    assert [server.version for server in servers] == [NEWEST] * 4
    assert [server.models[0].id for server in servers] == everything.models
    for task, server in zip(("embed", "rerank", "transcribe", "ocr"), servers, strict=True):
        assert task in server.tasks
        assert everything[task] == server.url
    assert everything.url == everything.urls[0]
    assert repr(everything).startswith(f"Simulator({NEWEST!r}, {{'embed': 'http://127.0.0.1:")


def test_a_client_does_its_jobs_on_them(everything) -> None:
    with Client(everything.urls) as client:
        assert client.embed(["a cat", "a dog"]).vectors.shape == (2, 384)
        assert client.rerank("cats", ["trains", "cats sleep"])[0].index == 1
        assert client.transcribe(flac(), language="en").text.startswith("This is a simulated")
        assert client.embed("a cat", dimensions=None).similarity(client.embed("a cat")) > 0.999


def test_a_route_that_the_release_lacks_is_404_as_fastapi_says_it(everything) -> None:
    found = ask(everything["embed"], "/v1/nope")
    assert (found.status_code, found.json()) == (404, {"detail": "Not Found"})
    assert ask(everything["embed"], "/v1/chat/completions", "POST").status_code == 404


def test_a_wrong_method_is_405_and_names_the_right_one(everything) -> None:
    found = ask(everything["embed"], "/v1/embeddings")
    assert (found.status_code, found.json()) == (405, {"detail": "Method Not Allowed"})
    assert found.headers["allow"] == "POST"
    assert ask(everything["embed"], "/health", "HEAD").status_code == 405


def test_a_slash_at_the_end_is_redirected(everything) -> None:
    found = ask(everything["embed"], "/v1/models/")
    assert found.status_code == 307
    assert found.headers["location"] == f"{everything['embed']}/v1/models"


def test_who_a_server_is_comes_from_the_recordings(everything) -> None:
    url = everything["embed"]
    assert ask(url, "/version").json() == {"version": NEWEST}
    assert ask(url, "/health").status_code == 200
    assert "/v1/embeddings" in ask(url, "/openapi.json").json()["paths"]
    assert ask(url, "/version").headers["server"] == "uvicorn"


def test_what_is_not_recorded_is_501_over_http_too(everything) -> None:
    found = ask(everything["embed"], "/load")
    assert found.status_code == 501
    assert found.json()["error"]["message"].startswith("not recorded: a plain request (GET /load")


def test_a_websocket_is_taken_for_a_plain_request(everything) -> None:
    port = int(everything["transcribe"].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(
            b"GET /v1/realtime HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\n"
            b"connection: upgrade\r\nsec-websocket-key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\n"
            b"sec-websocket-version: 13\r\n\r\n"
        )
        assert connection.recv(100).split()[1] == b"404"


def test_raw_bytes_come_in_chunks_as_a_stream_does(everything) -> None:
    fields = {"input": ["a", "b"], "encoding_format": "bytes_only", "endianness": "little"}
    found = ask(everything["embed"], "/v1/embeddings", "POST", json=fields)
    assert found.headers["transfer-encoding"] == "chunked"
    assert "metadata" not in found.headers
    assert len(found.content) == 2 * 384 * 4


def upload(url: str, path: str = "/v1/audio/transcriptions", **given: object) -> httpx.Response:
    return ask(url, path, "POST", **given)


def test_a_form_is_read_with_its_file_and_its_lists(everything) -> None:
    url = everything["transcribe"]
    data = {"model": "whisper-base", "language": "en", "response_format": "json"}
    found = upload(url, data=data, files={"file": ("a.flac", flac(9.0), "audio/flac")})
    assert found.json()["usage"]["seconds"] == 9
    words = data | {"response_format": "verbose_json", "timestamp_granularities[]": ["word"]}
    verbose = upload(
        url,
        data=words | {"max_completion_tokens": "2"},
        files={"file": ("a.flac", flac(9.0), "audio/flac")},
    )
    assert float(verbose.json()["duration"]) == 9.0
    assert everything.requests[-1].fields["timestamp_granularities[]"] == ["word"]


def test_a_stream_of_events_is_sent_as_one(everything) -> None:
    data = {"model": "whisper-base", "language": "en", "stream": "true"}
    found = upload(everything["transcribe"], data=data, files={"file": ("a", flac(), "audio/flac")})
    assert found.headers["content-type"].startswith("text/event-stream")
    assert found.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"data": {"model": "whisper-base"}}, 400),
        ({"json": {"model": "whisper-base"}}, 400),
        ({"files": {"other": ("a", b"b")}}, 400),
        ({"files": {"file": (None, "a text")}}, 422),
        ({"data": {"language": "en"}, "files": {"file": ("a", b"The quick brown fox.")}}, 400),
    ],
)
def test_a_form_without_a_recording_is_refused_as_recorded(everything, given, status) -> None:
    assert upload(everything["transcribe"], **given).status_code == status


def test_a_form_that_breaks_off_is_read_as_no_form(everything) -> None:
    headers = {"content-type": "multipart/form-data; boundary=a"}
    found = upload(everything["transcribe"], content=b"--b\r\nbad", headers=headers)
    assert found.status_code == 400


def test_requests_are_counted_and_the_last_are_kept(embedder) -> None:
    with Client(embedder.url) as client:
        client.embed("a cat")
    asked = [request.path for request in embedder.requests]
    assert sorted(asked) == ["/openapi.json", "/v1/embeddings", "/v1/models", "/version"]
    assert embedder.count == 4
    last = embedder.requests[-1]
    assert isinstance(last, Received)
    assert (last.url, last.method, last.fields["input"]) == (embedder.url, "POST", ["a cat"])
    assert "user-agent" in last.headers
    assert "headers" not in repr(last)


def test_a_key_is_asked_for_where_the_release_asks_for_it() -> None:
    served = Served(task="embed", api_key="secret")
    with simulate(tasks=[served]) as server:
        with pytest.raises(AuthenticationError), Client(server.url, api_key="wrong") as client:
            client.embed("a")
        with Client(server.url, api_key="secret") as client:
            assert len(client.embed("a")) == 1
        open_to_all = ask(server.url, "/tokenize", "POST", json={"prompt": "a cat"})
        assert open_to_all.status_code == 200


def test_answers_carry_ids_if_the_server_is_to() -> None:
    with simulate(tasks=[Served(task="embed", request_ids=True)]) as server:
        given = ask(server.url, "/version", headers={"X-Request-Id": "mine"})
        made = ask(server.url, "/v1/nope")
    assert given.headers["x-request-id"] == "mine"
    assert len(made.headers["x-request-id"]) == 32


def test_routes_can_be_hidden() -> None:
    with simulate(tasks=[Served(task="embed", hides_routes=True)]) as server:
        assert ask(server.url, "/openapi.json").status_code == 404
        with Client(server.url) as client:
            assert len(client.embed("a")) == 1


def test_a_server_does_its_task_and_no_other(embedder) -> None:
    with pytest.raises(UnsupportedTaskError), Client(embedder.url) as client:
        client.transcribe(flac())


def once(server, *kind: object, **options: object):
    """A client without retries, before whom something goes wrong once."""
    # A connection that was kept open and breaks is replaced by a new one.
    server.fail(*kind, times=2 if kind == ("reset",) else 1, **options)
    return Client(server.url, max_retries=0)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (429, RateLimitError),
        (503, ServerOverloadedError),
        ("reset", APIConnectionError),
        ("cut", ResponseError),
        ("error", ResponseError),
        ("nan", ResponseError),
    ],
)
def test_a_fault_is_met_once_and_then_all_is_well(embedder, kind, error) -> None:
    with once(embedder, kind) as client:
        with pytest.raises(error):
            client.embed("a cat")
        assert len(client.embed("a cat")) == 1


def test_a_client_that_tries_again_comes_through(embedder) -> None:
    embedder.fail(503, retry_after=0, times=1)
    embedder.fail("reset", times=1)
    with Client(embedder.url) as client:
        assert len(client.embed("a cat")) == 1
    assert [one.path for one in embedder.requests].count("/v1/embeddings") == 3


def test_an_answer_can_be_late(embedder) -> None:
    embedder.fail("delay", seconds=0.05)
    began = time.monotonic()
    ask(embedder.url, "/v1/embeddings", "POST", json={"input": "a", **BASE64})
    assert time.monotonic() - began >= 0.05


@pytest.mark.parametrize("kind", ["reset", "cut"])
def test_what_goes_wrong_is_no_error_of_the_simulator_s(embedder, caplog, kind) -> None:
    embedder.fail(kind)
    with pytest.raises(httpx.TransportError):
        ask(embedder.url, "/v1/embeddings", "POST", json={"input": "a", **BASE64})
    assert ask(embedder.url, "/health").status_code == 200
    assert [one for one in caplog.records if one.levelno > logging.INFO] == []


def test_servers_that_stop_leave_what_waits_without_a_word(caplog) -> None:
    with ThreadPoolExecutor(1) as pool:
        with simulate(tasks=["embed"], seconds_per_request=60) as server:
            body = {"input": "a", **BASE64}
            call = pool.submit(ask, server.url, "/v1/embeddings", "POST", json=body, timeout=30)
            while server.count == 0:
                time.sleep(0.01)
        assert isinstance(call.exception(), httpx.TransportError)
    assert [one for one in caplog.records if one.levelno > logging.INFO] == []


def test_raw_bytes_can_be_cut_too(embedder) -> None:
    embedder.fail("cut", path="/v1/embeddings")
    fields = {"input": ["a"], "encoding_format": "bytes_only", "endianness": "little"}
    with pytest.raises(httpx.RemoteProtocolError):
        ask(embedder.url, "/v1/embeddings", "POST", json=fields)


def test_faults_can_be_taken_back(embedder) -> None:
    embedder.fail("reset", times=None)
    embedder.fail_as("nan probability=0.5")
    embedder.recover()
    with Client(embedder.url, max_retries=0) as client:
        assert len(client.embed(["a"] * 9)) == 9


def test_a_page_can_be_an_endless_loop() -> None:
    with simulate(tasks=["ocr"]) as server:
        server.fail("loop")
        picture = io.BytesIO()
        from PIL import Image

        Image.new("RGB", (40, 30)).save(picture, "PNG")
        with Client(server.url) as client, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            page = client.ocr(picture.getvalue(), max_tokens=400).pages[0]
    assert page.finish_reason == "length"
    assert any("loop" in warning for warning in page.warnings)


def test_requests_that_wait_for_a_place_are_served_one_after_the_other() -> None:
    with simulate(tasks=["embed"], slots=1, seconds_per_request=0.03) as server:
        began = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            body = {"input": "a", **BASE64}
            calls = [
                pool.submit(ask, server.url, "/v1/embeddings", "POST", json=body) for _ in range(4)
            ]
            assert all(call.result().status_code == 200 for call in calls)
        assert time.monotonic() - began >= 0.12
        began = time.monotonic()
        assert ask(server.url, "/version").status_code == 200


def test_transcripts_and_pages_are_what_is_given() -> None:
    with (
        simulate(
            tasks=["transcribe"], transcripts=lambda sound: f"{sound.seconds:.1f} s of {sound.name}"
        ) as server,
        Client(server.url) as client,
    ):
        assert client.transcribe(flac(2.0), language="en").text == "2.0 s of audio.flac"


def test_a_model_is_as_it_is_described() -> None:
    served = Served(task="embed", model="mine", width=6, max_model_len=9, matryoshka=True)
    with simulate(tasks=[served]) as server, Client(server.url) as client:
        assert client.embed("a", dimensions=4).vectors.shape == (1, 4)
        (info,) = client.servers()
    assert (info.models[0].id, info.models[0].max_model_len) == ("mine", 9)


def test_two_simulators_side_by_side_know_nothing_of_each_other(embedder) -> None:
    with simulate(tasks=["embed"]) as other:
        other.fail("reset", times=None)
        with Client(embedder.url) as client:
            assert len(client.embed("a")) == 1
        assert other.count == 0


def test_the_ports_are_those_that_are_asked_for() -> None:
    with socket.socket() as claim:
        claim.bind(("127.0.0.1", 0))
        port = claim.getsockname()[1]
    with simulate(tasks=["embed"], port=port) as server:
        assert server.url == f"http://127.0.0.1:{port}"
        with pytest.raises(OSError), simulate(tasks=["embed"], port=port):  # noqa: PT011
            pass


def test_when_it_is_over_nothing_is_left() -> None:
    before = threading.active_count()
    with simulate(tasks=["embed"]) as server:
        port = int(server.url.rpartition(":")[2])
        waiting = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        waiting.request("GET", "/health")
        assert waiting.getresponse().status == 200
    waiting.close()
    assert threading.active_count() == before
    with pytest.raises(ConnectionError), socket.create_connection(("127.0.0.1", port)):
        pass


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"version": "0.1.0", "tasks": ["embed"]},
            r"'embed' was not recorded on 0\.1\.0; it was on",
        ),
        (
            {"tasks": ["dance"]},
            r"'dance' was not recorded .* it was on none; there are embed, rerank",
        ),
    ],
)
def test_what_was_not_recorded_cannot_be_simulated(given, says) -> None:
    with pytest.raises(ValueError, match=says), simulate(**given):
        pass


def test_releases_are_told_by_task() -> None:
    assert releases("embed") == sorted(
        releases("embed"), key=lambda one: tuple(map(int, one.split(".")))
    )
    assert set(releases("embed", "ocr")) == set(releases("embed")) & set(releases("ocr"))
    assert set(releases("embed")) <= set(releases())
    assert releases("dance") == []


def test_a_name_that_the_package_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Simulacrum'"):
        _ = package.Simulacrum


def test_an_asynchronous_client_is_served_as_well(everything) -> None:
    async def embed() -> tuple[int, ...]:
        async with AsyncClient(everything.urls) as client:
            return (await client.embed(["a", "b"])).vectors.shape

    assert asyncio.run(embed()) == (2, 384)


def test_json_that_is_broken_is_refused_as_recorded(everything) -> None:
    headers = {"content-type": "application/json"}
    found = ask(everything["embed"], "/v1/embeddings", "POST", content=b"{bad", headers=headers)
    assert found.status_code == 400
    assert "JSON" in json.dumps(found.json())
