"""The page on documents does what it says, with a simulated server."""

import re
from pathlib import Path

import pytest
from _pdfs import pdf
from docs._pages import ROOT, blocks, run
from PIL import Image

from vllm_modalities import _many
from vllm_modalities.documents import pdf as pdfs
from vllm_modalities.documents import reading
from vllm_modalities.endpoints import _pages, _tries, _writing
from vllm_modalities.simulator import simulate

PAGE = ROOT / "docs" / "ocr.md"


def test_the_blocks_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report.pdf").write_bytes(pdf(3))
    Image.new("RGB", (40, 30)).save(tmp_path / "invoice.png")
    monkeypatch.chdir(tmp_path)
    with simulate(tasks=["ocr"]) as servers:
        rewrite = {r'"http://localhost:8000"': repr(servers["ocr"])}
        namespace: dict[str, object] = {}
        assert sum(run(block, namespace, rewrite) for block in blocks(PAGE)) >= 5
        namespace["client"].close()


def test_the_numbers_are_those_of_the_code() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    assert f"more than {reading.MAX_PIXELS:,} pixels" in text
    assert f"more than {pdfs.MOST_PIXELS // 10**6} million pixels" in text
    assert "at temperatures {} and {}".format(*_tries.LADDER) in text
    loops = _pages.LOOPS
    assert (
        f"the same {loops['min_pattern_size']} to {loops['max_pattern_size']} tokens came"
        f" {loops['min_count']} times"
    ) in text
    assert f"its last {_writing.LENGTH:,} characters" in text
    assert f"at least {_writing.TIMES} times" in text
    assert _many.IN_A_ROW == 8
    assert re.search("eight pages in a row", text)
