"""The page about speech, as far as it takes no model that hears: sound as it is spoken."""

from __future__ import annotations

import numpy as np
from _realtime import realtime
from docs._pages import ROOT, blocks, run

from vllm_modalities import Client

PAGE = ROOT / "docs" / "speech.md"


def test_the_block_about_sound_as_it_is_spoken_does_what_it_says(capsys) -> None:
    (block,) = [block for block in blocks(PAGE) if "realtime_transcription" in block.code]
    with realtime(model="qwen3-asr", word=lambda _: " tick") as server:
        held = run(block, {"np": np, "Client": Client}, {"http://gpu8:8000": server.url})
    assert held == 1
    assert capsys.readouterr().out.split() == ["tick"] * 12
