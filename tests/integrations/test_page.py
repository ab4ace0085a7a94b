"""The blocks of docs/frameworks.md do what they say."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
import soundfile
from conftest import ASSETS
from docs._pages import ROOT, blocks, run


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
