"""docs/frameworks.md does what it says, and the reference has every adapter."""

from __future__ import annotations

import re
import shutil
from typing import Any

import pytest
import soundfile
from conftest import ASSETS
from docs._pages import ROOT, blocks, run

from vllm_modalities.integrations import haystack, langchain, llama_index, sentence_transformers


@pytest.mark.usefixtures("ray")
def test_the_blocks_do_what_they_say(servers: Any, recording, tmp_path, monkeypatch) -> None:
    samples, rate = soundfile.read(recording)
    soundfile.write(tmp_path / "talk.wav", samples, rate)
    shutil.copy(ASSETS / "invoice.png", tmp_path)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    rewrite = {f"http://gpu{at}:8000": url for at, url in enumerate(servers.urls, 1)}
    rewrite[r"Client\(\[f.+\]\)"] = f"Client({servers.urls})"
    found = blocks(ROOT / "docs" / "frameworks.md")
    assert sum(run(block, namespace, rewrite) for block in found) == 10


def test_every_adapter_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "integrations.md").read_text("utf-8")
    told = page.split("currentmodule:: vllm_modalities.integrations.")[1:]
    listed = {part.split()[0]: re.findall(r"autoclass:: (\w+)", part) for part in told}
    for module in (haystack, langchain, llama_index, sentence_transformers):
        assert sorted(listed[module.__name__.rpartition(".")[2]]) == module.__all__
