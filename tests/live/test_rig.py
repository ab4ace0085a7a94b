"""The rig keeps its word: the servers it names come up, say who they are, and never stay behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from vllm_modalities._rig import SERVERS, Report, Rig, RigError, Running, running

# A page of 8 x 8 white pixels.
PAGE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQAAAADsdIMmAAAADElEQVR42mP4z4AC"
    "AT/QB/lnLUmhAAAAAElFTkSuQmCC"
)

START_A_SERVER = """
import sys
from vllm_modalities._rig import running
with running(["rerank"], report=lambda line: print(line, flush=True)):
    print("ready", flush=True)
    sys.stdin.read()
"""


def ask(server: Running, path: str, body: dict[str, Any] | None = None) -> Any:
    headers = {"Content-Type": "application/json"}
    if server.spec.api_key:
        headers["Authorization"] = f"Bearer {server.spec.api_key}"
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.base_url + path, content, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def read_page(server: Running, **extra: Any) -> list[int]:
    """The tokens that the OCR model says of a page."""
    content = [{"type": "image_url", "image_url": {"url": PAGE}}, {"type": "text", "text": "OCR"}]
    answer = ask(
        server,
        "/v1/chat/completions",
        {
            "model": server.spec.served_name,
            "messages": [{"role": "user", "content": content}],
            "temperature": 0,
            "max_tokens": 40,
            "return_token_ids": True,
            **extra,
        },
    )
    tokens: list[int] = answer["choices"][0]["token_ids"]
    return tokens


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def is_gone_within(group: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_gone(group) and time.monotonic() < deadline:
        time.sleep(0.2)
    return is_gone(group)


@contextmanager
def another_process() -> Iterator[subprocess.Popen[str]]:
    """A Python beside this one that starts a server and then waits to be ended."""
    with subprocess.Popen(
        [sys.executable, "-c", START_A_SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def printed_until(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """The first line that the process prints and the pattern matches."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(pattern, line):
            return found
    raise AssertionError(f"it ended without printing {pattern!r}")


@pytest.mark.servers(*SERVERS)
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_is_the_release_and_the_model_that_it_is_said_to_be(
    servers: Rig, name: str
) -> None:
    server = servers[name]
    (model,) = ask(server, "/v1/models")["data"]
    assert (ask(server, "/version"), model["id"]) == (
        {"version": "0.32.0"},
        server.spec.served_name,
    )


@pytest.mark.servers("deepseek-ocr")
def test_the_ngram_processor_of_the_ocr_server_is_loaded(servers: Rig) -> None:
    server = servers["deepseek-ocr"]
    settings = {"ngram_size": 3, "window_size": 90}
    free, bound = read_page(server), read_page(server, vllm_xargs=settings)
    listed = read_page(server, vllm_xargs={**settings, "whitelist_token_ids": list(range(300))})
    assert bound != free
    assert listed == free


@pytest.mark.servers("embed-matryoshka")
def test_the_matryoshka_server_asks_for_its_key(servers: Rig) -> None:
    url = f"{servers['embed-matryoshka'].base_url}/v1/models"
    with pytest.raises(urllib.error.HTTPError, match="401") as refused:
        urllib.request.urlopen(url, timeout=60)
    with refused.value as answer:
        assert answer.headers["x-request-id"]


def test_a_server_comes_back_at_its_address_and_is_gone_after_the_block(report: Report) -> None:
    with running(["rerank"], report=report) as rig:
        server = rig["rerank"]
        first, address = server.process.pid, server.base_url
        server.kill()
        assert is_gone(first)
        server.restart()
        second = server.process.pid
        assert (server.base_url, ask(server, "/version")) == (address, {"version": "0.32.0"})
    assert is_gone(second)


def test_a_server_that_cannot_start_shows_the_end_of_its_log(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(SERVERS["rerank"], name="wrong", flags=("--no-such-flag",))
    monkeypatch.setitem(SERVERS, "wrong", wrong)
    with (
        pytest.raises(RigError, match=r"(?s)'wrong' ended with status 2.*--no-such-flag"),
        running(["wrong"], report=report),
    ):
        pass


def test_a_server_does_not_outlive_a_killed_starter() -> None:
    with another_process() as starter:
        group = int(printed_until(starter, r"as process (\d+)")[1])
        printed_until(starter, "ready")
        starter.kill()
        assert is_gone_within(group, 20)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_server_that_is_still_starting_does_not_outlive_its_starter(
    number: signal.Signals,
) -> None:
    with another_process() as starter:
        group = int(printed_until(starter, r"as process (\d+)")[1])
        starter.send_signal(number)
        assert is_gone_within(group, 20)
