"""Two servers behind nginx, with the configuration that docs/load-balancing.md shows."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vllm_modalities import BadRequestError, Client, EmbeddingRequest
from vllm_modalities.simulator import Simulator, _app, simulate
from vllm_modalities.simulator._reply import Reply

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "load-balancing.md"
SPEECH = ROOT / "examples" / "assets" / "speech-en-us.flac"
WHOLE = """
daemon off; user root; error_log stderr warn; pid {folder}/pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
{shown}
}}
"""


def shown() -> str:
    """The configuration in the page."""
    block = re.search(r"^```nginx\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert block is not None
    return block[1]


Proxy = Callable[..., str]


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    """Starts nginx in front of servers, and gives its address."""
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    with ExitStack() as stack:

        def started(*servers: str, changed: tuple[str, str] = ("", "")) -> str:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            text = shown().replace("listen 8080", f"listen 127.0.0.1:{port}")
            for number, server in enumerate(servers, 1):
                text = text.replace(f"gpu{number}:8000", server.removeprefix("http://"))
            assert "gpu" not in text
            file = tmp_path / "nginx.conf"
            file.write_text(WHOLE.format(folder=tmp_path, shown=text.replace(*changed)))
            command = [nginx, "-p", str(tmp_path), "-c", str(file)]
            running = stack.enter_context(subprocess.Popen(command))
            stack.callback(running.terminate)
            wait_for(port, running)
            return f"http://127.0.0.1:{port}"

        yield started


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until something listens."""
    while process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise AssertionError("nginx has stopped")


Server = AbstractContextManager[Simulator]


@contextmanager
def two(task: str) -> Iterator[tuple[Simulator, Simulator, Callable[[], None]]]:
    """Two servers, and what ends the first."""
    with ExitStack() as first, simulate(tasks=[task]) as second:
        yield first.enter_context(simulate(tasks=[task])), second, first.close


def test_servers_behind_it_are_found_and_share_the_work(proxy: Proxy) -> None:
    with two("embed") as (first, second, _), Client(proxy(first.url, second.url)) as client:
        (server,) = client.servers()
        assert (str(server.version), server.tasks) == (first.version, client_tasks(first))
        texts = [f"text {number}" for number in range(2000)]
        found = client.embed(texts)
        with Client(first.url) as direct:
            assert np.array_equal(found.vectors, direct.embed(texts).vectors)
        asked = [
            sum(request.path == "/v1/embeddings" for request in one.requests)
            for one in (first, second)
        ]
        assert min(asked) > 1


def client_tasks(server: Simulator) -> frozenset[str]:
    with Client(server.url) as client:
        return client.servers()[0].tasks


def test_one_dies_and_the_other_gets_its_requests(proxy: Proxy) -> None:
    with two("embed") as (first, second, end), Client(proxy(first.url, second.url)) as client:
        assert len(client.embed(["a"] * 200)) == 200
        end()
        assert len(client.embed(["b"] * 2000, batch_size=16)) == 2000
        assert second.requests[-1].path == "/v1/embeddings"


def test_a_connection_that_breaks_under_way_is_tried_again(proxy: Proxy) -> None:
    with two("embed") as (first, second, _), Client(proxy(first.url, second.url)) as client:
        for one in (first, second):
            one.fail("reset")
        assert len(client.embed([f"text {n}" for n in range(1000)])) == 1000


def test_megabytes_pass_in_one_request(proxy: Proxy) -> None:
    with two("embed") as (first, second, _), Client(proxy(first.url, second.url)) as client:
        assert len(client.send(large()).json()["data"]) == 10_000


def large() -> EmbeddingRequest:
    """4 MB as JSON."""
    return EmbeddingRequest(model="minilm", input=[[1] * 200] * 10_000)


def test_with_nginx_s_own_limit_a_large_request_is_refused_in_words(proxy: Proxy) -> None:
    changed = ("client_max_body_size 512m;", "")
    with two("embed") as (first, second, _):
        url = proxy(first.url, second.url, changed=changed)
        with Client(url) as client, pytest.raises(BadRequestError, match="413"):
            client.send(large())


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A stream goes on behind its first words once this is set."""
    go_on = threading.Event()
    deliver = _app.deliver

    async def slowly(reply: Reply, send: Any) -> None:
        if isinstance(reply.body, bytes):
            await deliver(reply, send)
            return

        async def part(message: Any) -> None:
            await send(message)
            if b" two" in message.get("body", b""):
                await asyncio.to_thread(go_on.wait, 30)

        await deliver(reply, part)

    monkeypatch.setattr(_app, "deliver", slowly)
    return go_on


def test_words_arrive_as_they_are_written(proxy: Proxy, held: threading.Event) -> None:
    said = "one two three four five six seven eight nine ten"
    with ExitStack() as stack:
        servers = [
            stack.enter_context(simulate(tasks=["transcribe"], transcripts=lambda _: said))
            for _ in range(2)
        ]
        url = proxy(*(server.url for server in servers))
        client = stack.enter_context(Client(url, timeout=10, max_retries=0))
        stream = client.stream_transcription(SPEECH, language="en")
        words = [next(stream)]  # the server holds the rest back until this is here
        held.set()
        assert "".join([*words, *stream]).split() == said.split()
