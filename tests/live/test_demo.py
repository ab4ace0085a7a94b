"""The demo runs every job on servers of the user's own."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from vllm_modalities._rig import Rig
from vllm_modalities.cli import app

FOUR = ("embed", "rerank", "whisper-base", "deepseek-ocr")


@pytest.mark.servers(*FOUR)
def test_the_demo_does_every_job_on_given_servers(servers: Rig) -> None:
    urls = ",".join(servers[name].base_url for name in FOUR)
    result = CliRunner().invoke(app, ["demo", "--base-url", urls, "--json"])
    assert result.exit_code == 0, result.stderr
    shown = json.loads(result.stdout)
    closeness = shown["embed"]["similarity"]
    assert closeness[0][1] > closeness[0][2] + 0.3
    assert shown["rerank"]["model"] == "cross-encoder"
    assert shown["rerank by the embedder"]["ranked"][0]["index"] == 1
    assert shown["transcribe"]["speech-en-us.flac"] == "The museum is open on Monday and Tuesday."
    assert shown["ocr"]["pages"][0]["width"] == 1000
