"""The page on bulk jobs does what it says, with simulated servers."""

import json
from pathlib import Path

import pytest
import soundfile
from _bulk_jobs import table, texts_of
from docs._pages import ROOT, blocks, run
from PIL import Image

from vllm_modalities import _many, bulk
from vllm_modalities.bulk import _job
from vllm_modalities.cli._bulk import CONCURRENCY
from vllm_modalities.simulator import simulate

PAGE = ROOT / "docs" / "bulk.md"


def test_the_blocks_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "docs.parquet", texts_of(1000, {7: None}))
    row = {"question": "Why does bread rise?", "passages": ["Trains leave.", "Bread does."]}
    (tmp_path / "hits.jsonl").write_text(json.dumps(row))
    for folder in ("talks", "scans"):
        (tmp_path / folder).mkdir()
    soundfile.write("talks/a.wav", [0.1, -0.1] * 8_000, 16_000)
    Image.new("RGB", (40, 30)).save("scans/a.png")
    (tmp_path / "scans.csv").write_text("id,path\n1,scans/a.png\n")
    with simulate(tasks=["embed", "rerank", "transcribe", "ocr"]) as servers:
        rewrite = {r'"http://localhost:8000"': repr(servers.urls)}
        namespace: dict[str, object] = {}
        assert sum(run(block, namespace, rewrite) for block in blocks(PAGE)) >= 12


def test_the_numbers_are_those_of_the_code() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    assert f"rows of the input ({_job.SHARD_ROWS:,})" in text
    rows, size, most = _job.CHUNK_ROWS, _job.READ_BYTES >> 20, CONCURRENCY
    assert f"{rows:,} of them or {size} MiB at a time" in text
    assert f"`max_concurrency` + 2) × {size} MiB" in text
    assert f"{(most + 2) * size} MiB by default" in text
    assert _many.IN_A_ROW == 8
    assert "the eighth batch in a row" in text


def test_every_name_is_in_the_reference() -> None:
    told = (ROOT / "docs" / "reference" / "bulk.md").read_text("utf-8")
    for name in bulk.__all__:
        assert f":: {name}\n" in told
