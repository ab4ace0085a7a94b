"""Every example, run as its first lines say, against simulated servers."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from _pdfs import pdf
from _sounds import contained
from docs._pages import ROOT

from vllm_modalities.simulator import Simulator, simulate

EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "examples.md"
NAMES = sorted(file.stem for file in EXAMPLES.glob("*.py"))
IN_RAY = {"ray_embed"}  # run by tests/integrations


@pytest.fixture(scope="module")
def servers() -> Iterator[Simulator]:
    with simulate(tasks=["embed", "rerank", "transcribe", "ocr"]) as running:
        yield running


def run(name: str, folder: Path, urls: Sequence[str], *arguments: str) -> str:
    """What an example prints."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=folder,
        env={**os.environ, "VLLM_BASE_URL": ",".join(urls), "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


PRINTED = {
    "embed_many": ["2000 vectors of 384 numbers"],
    "embed_search": ["Berlin train", "platform seven"],
    "many_servers": ["embed       5 sentences", "rerank", "ocr "],
    "ocr_page": ["invoice.png", "blocks"],
    "rank_your_own": ["note ", "2 queries, 4 notes"],
    "rerank": ["1. ", "3. "],
    "transcribe": ["speech-en-gb.flac", "speech-en-gb.srt"],
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_that_needs_no_input_runs(name: str, servers: Simulator, tmp_path: Path) -> None:
    printed = run(name, tmp_path, servers.urls)
    assert [words for words in PRINTED[name] if words not in printed] == []


def test_late_interaction_finds_the_document_with_the_query_s_words(tmp_path: Path) -> None:
    with simulate(tasks=["embed_tokens"]) as server:
        title, *ranked = run("late_interaction", tmp_path, server.urls).splitlines()
    assert "int8" in title
    assert len(ranked) == 3


def test_a_folder_is_searched_and_the_best_paragraphs_come_first(
    servers: Simulator, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "trains.md").write_text(
        "# Trains\n\nThe train to Berlin\nleaves at nine.\n"
    )
    (tmp_path / "notes" / "food.txt").write_text("Bread needs yeast.\n\nTea needs water.\n")
    printed = run("search_folder", tmp_path, servers.urls, "notes", "When does the train leave?")
    best, *others = printed.splitlines()
    assert re.fullmatch(r"\d\.\d{3}  trains\.md: The train to Berlin leaves at nine\.", best)
    assert len(others) == 2


@pytest.mark.parametrize("name", ["pdf_archive", "search_folder", "video_subtitles"])
def test_an_example_without_its_input_says_how_it_is_run(name: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"python {name}.py " in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_video_gets_subtitles_beside_it(servers: Simulator, tmp_path: Path) -> None:
    (tmp_path / "talk.mp4").write_bytes(contained("mp4", "aac"))
    printed = run("video_subtitles", tmp_path, servers.urls, "talk.mp4", "en")
    assert "talk.srt and .vtt" in printed
    assert (tmp_path / "talk.srt").read_text().startswith("1\n00:00:0")
    assert (tmp_path / "talk.vtt").read_text().startswith("WEBVTT")
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".mp4", ".srt", ".vtt"]


def test_an_archive_becomes_markdown_and_no_page_is_read_twice(
    servers: Simulator, tmp_path: Path
) -> None:
    (tmp_path / "archive" / "old").mkdir(parents=True)
    (tmp_path / "archive" / "a.pdf").write_bytes(pdf(3))
    (tmp_path / "archive" / "old" / "b.pdf").write_bytes(pdf(2, size=(300, 90)))
    (tmp_path / "archive" / "bad.pdf").write_bytes(b"%PDF-1.4 no more")

    def pages_asked() -> int:
        return sum(one.path == "/v1/chat/completions" for one in servers.requests)

    before = pages_asked()
    printed = run("pdf_archive", tmp_path, servers.urls, "archive", "read")
    for told in (
        "a.pdf: 3 of 3 pages are whole, in",
        "b.pdf: 2 of 2 ",
        "bad.pdf: the page could not be",
    ):
        assert told in printed
    for name in ("a", "old/b"):
        assert "A simulated page" in (tmp_path / "read" / name / "document.md").read_text("utf-8")
    once = pages_asked() - before
    assert once >= 5
    assert run("pdf_archive", tmp_path, servers.urls, "archive", "read") == printed
    assert pages_asked() - before == once


def test_a_web_service_answers_and_says_whose_fault_it_is(
    servers: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.testclient import TestClient

    monkeypatch.setenv("VLLM_BASE_URL", ",".join(servers.urls))
    spec = importlib.util.spec_from_file_location("web_service", EXAMPLES / "web_service.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    asked = {"question": "train to Berlin", "texts": ["Tea.", "The train to Berlin."]}
    with TestClient(module.app) as web:
        assert web.post("/best", json=asked).json()["text"] == "The train to Berlin."
        speech = (EXAMPLES / "assets" / "speech-en-us.flac").read_bytes()
        said = web.post("/transcribe", content=speech).json()
        assert said["srt"].startswith("1\n00:00:0")
        wrong = web.post("/transcribe", content=b"noise")
        assert (wrong.status_code, "not audio" in wrong.json()["error"]) == (422, True)
        servers.fail(500, path="/v1/rerank")
        assert web.post("/best", json=asked).status_code == 502


def test_every_example_is_run_and_listed() -> None:
    run_here = {"late_interaction", "pdf_archive", "search_folder", "video_subtitles"}
    run_here |= {"web_service", *PRINTED}
    assert sorted(run_here | IN_RAY) == NAMES
    listed = re.findall(r"\(\.\./examples/(\w+)\.py\)", PAGE.read_text("utf-8"))
    assert sorted(listed) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_says_how_it_is_run_on_real_servers(name: str) -> None:
    words = (EXAMPLES / f"{name}.py").read_text("utf-8").split('"""')[1]
    assert re.search(rf"^VLLM_BASE_URL=http://gpu1:8000.* {name}(\.py|:app)", words, re.MULTILINE)
    assert re.search(r"^gpu1.*: .*(vllm serve|recipe)", words, re.MULTILINE)
