"""The log `vllm_modalities`: who answered, under which id, and what is tried again."""

from __future__ import annotations

import ast
import logging
import re
from dataclasses import replace
from pathlib import Path

import pytest
from _script import FakeVLLM, broken, status

import vllm_modalities
from vllm_modalities import BadRequestError

PATH = "/v1/embeddings"
ROOT = Path(vllm_modalities.__file__).parent


def messages(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    assert {record.name for record in caplog.records} <= {"vllm_modalities", "httpx", "asyncio"}
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == "vllm_modalities" and record.levelno == level
    ]


def test_every_answer_is_told_with_its_server_and_id(talk, caplog) -> None:
    server = FakeVLLM()
    server.once(
        PATH, lambda answer: replace(answer, headers={**answer.headers, "x-request-id": "r-7"})
    )
    with caplog.at_level(logging.DEBUG, "vllm_modalities"):
        talk(server).embed("a")
    assert messages(caplog, logging.DEBUG)[-1] == (
        "POST /v1/embeddings: HTTP 200 from http://server, request id r-7"
    )
    assert messages(caplog, logging.INFO) == []


def test_what_fails_and_is_tried_again_is_told(talk, caplog, pauses) -> None:
    server = FakeVLLM()
    server.once(PATH, status(503, "words", x_request_id="r-1"), broken("ReadError"))
    with caplog.at_level(logging.INFO, "vllm_modalities"):
        talk(server).embed("a")
    told = [re.sub(r"in [\d.]+ s", "in … s", line) for line in messages(caplog, logging.INFO)]
    assert told == [
        "POST /v1/embeddings: ServerOverloadedError (HTTP 503) from http://server, request id r-1",
        "POST /v1/embeddings: tried again in … s",
        "POST /v1/embeddings: APIConnectionError from http://server, request id none",
        "POST /v1/embeddings: tried again in … s",
    ]


def test_what_no_further_try_would_change_is_told_at_the_lower_level(talk, caplog) -> None:
    server = FakeVLLM()
    server.always(PATH, status(400, "the words that were sent", x_request_id="r\x1b[31m-2"))
    with caplog.at_level(logging.DEBUG, "vllm_modalities"), pytest.raises(BadRequestError):
        talk(server).embed("a")
    assert messages(caplog, logging.INFO) == []
    assert messages(caplog, logging.DEBUG)[-1] == (
        "POST /v1/embeddings: BadRequestError (HTTP 400) from http://server,"
        r" request id r\u001b[31m-2"
    )


def test_by_itself_it_says_nothing(talk, caplog) -> None:
    talk(FakeVLLM()).embed("a")
    assert messages(caplog, logging.DEBUG) == []


def test_there_is_one_logger_and_it_is_configured_nowhere() -> None:
    calls = {
        ast.unparse(node)
        for path in ROOT.rglob("*.py")
        if "_rig" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("logging.")
    }
    assert calls == {"logging.getLogger(__name__.partition('.')[0])"}
