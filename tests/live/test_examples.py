"""Every example, and every ```python block of the pages, run against real servers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from docs._pages import PAGES, ROOT, blocks, run
from PIL import Image

from vllm_modalities import Client
from vllm_modalities._rig import Rig

EXAMPLES = ROOT / "examples"
ASSETS = EXAMPLES / "assets"
JOBS = ("embed", "rerank", "whisper-base", "deepseek-ocr")
MORE = (
    "embed-tokens",
    "classify",
    "qwen3-embed",
    "realtime",
)  # which pages and examples name by their addresses

pytestmark = [
    pytest.mark.servers(*JOBS, *MORE),
    # A page that sends a request that is known to be doubtful would say so.
    pytest.mark.filterwarnings("error"),
]

# What is about simulated servers is run by tests/docs, what needs frameworks by tests/integrations.
ELSEWHERE = (
    *("testing-your-application.md", "ocr.md", "frameworks.md", "moving-in.md"),
    "bulk.md",  # wants files; `test_bulk.py` runs a job
)
BLOCKS = [page for page in PAGES if blocks(page) and page.name not in ELSEWHERE]


@pytest.fixture
def urls(servers: Rig, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The servers of the four jobs, which are also those of `Client()`."""
    found = {name: servers[name].base_url for name in JOBS}
    monkeypatch.setenv("VLLM_BASE_URL", ",".join(found.values()))
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the sample files that pages name."""
    import soundfile

    samples, rate = soundfile.read(ASSETS / "speech-en-us.flac")
    soundfile.write(tmp_path / "talk.wav", samples, rate)
    shutil.copy(ASSETS / "invoice.png", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every `Client` that a page makes is closed after it."""
    made: list[Client] = []
    begin = Client.__init__

    def noted(self: Client, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(Client, "__init__", noted)
    yield
    for client in made:
        client.close()


@pytest.fixture
def namespace(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the blocks of one page share: a module that stands where endpoints stand."""
    module = ModuleType("vllm_modalities.endpoints._blocks")
    module.__package__ = "vllm_modalities.endpoints"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module.__dict__


def rewritten(urls: dict[str, str]) -> dict[str, str]:
    """Addresses in a page, and what stands for them here.

    `Client("http://localhost:8000")` is `Client(None)`, which takes $VLLM_BASE_URL;
    `http://gpu1:8000` to `gpu4` are the servers of the four jobs, in the order of `JOBS`; then come
    those of `MORE`.
    """
    numbered = enumerate(urls.values(), 1)
    return {r'\("http://localhost:8000"': "(None"} | {
        f"http://gpu{number}:8000": url for number, url in numbered
    }


@pytest.mark.usefixtures("folder", "closed")
@pytest.mark.parametrize("page", BLOCKS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_do_what_they_say(
    page: Path, urls: dict[str, str], servers: Rig, namespace: dict[str, Any]
) -> None:
    from vllm_modalities._wire import TASKS

    before = {task: list(kinds) for task, kinds in TASKS.items()}
    every = urls | {name: servers[name].base_url for name in MORE}
    try:
        for block in blocks(page):
            run(block, namespace, rewritten(every))
    finally:
        TASKS.clear()
        TASKS.update(before)


Check = Callable[[str, Path], None]


def words(recording: str) -> set[str]:
    """What is said in a sample."""
    spoken = json.loads((ASSETS / "speech.json").read_text("utf-8"))[recording]["text"]
    return set(re.findall(r"\w+", spoken.lower()))


def search(printed: str, _: Path) -> None:
    question, *ranked = printed.splitlines()
    assert question.endswith("?")
    scores = [float(line.split()[0]) for line in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all("Berlin" in line for line in ranked[:2])
    assert scores[1] > 0.5 > 0.3 > scores[2]


def embed_many(printed: str, folder: Path) -> None:
    assert printed == "2000 vectors of 384 numbers, 3.1 MB in vectors.f32\n"
    assert (folder / "vectors.f32").stat().st_size == 2000 * 384 * 4


def rerank(printed: str, _: Path) -> None:
    title, *ranked = printed.splitlines()
    assert "cross-encoder" in title
    scores = [float(line.split()[1]) for line in ranked]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def transcribe(printed: str, folder: Path) -> None:
    subtitles = (folder / "speech-en-gb.srt").read_text("utf-8")
    for text in (printed, subtitles):
        assert words("speech-en-gb.flac") <= set(re.findall(r"\w+", text.lower()))
    assert subtitles.startswith("1\n00:00:00,000 --> 00:00:0")


def ocr(printed: str, folder: Path) -> None:
    assert "invoice.png" in printed
    assert (folder / "invoice" / "document.md").is_file()
    drawn, original = folder / "invoice" / "overlay.png", ASSETS / "invoice.png"
    with Image.open(drawn) as after, Image.open(original) as before:
        assert after.size == before.size
        changed = after.tobytes() != before.convert("RGB").tobytes()
    assert changed or "at ((" not in printed  # a model of random weights may give no box


def many(printed: str, _: Path) -> None:
    for found in ("minilm", "whisper-base", "deepseek-ocr", "5 sentences, 384 numbers"):
        assert found in printed
    assert words("speech-en-us.flac") <= set(re.findall(r"\w+", printed.lower()))
    assert printed.count("vLLM 0.32.0") == len(JOBS)


def own(printed: str, _: Path) -> None:
    *ranked, last = printed.splitlines()
    assert [line.startswith("note ") for line in ranked] == [True, True]
    assert re.search(r"Scores\(2 x \d+, model='cross-encoder'\)", last)


def late(printed: str, _: Path) -> None:
    title, *ranked = printed.splitlines()
    assert "int8" in title
    scores = [float(line.split()[0]) for line in ranked]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


CHECKS: dict[str, Check] = {
    "late_interaction": late,
    "rank_your_own": own,
    "embed_search": search,
    "embed_many": embed_many,
    "rerank": rerank,
    "transcribe": transcribe,
    "ocr_page": ocr,
    "many_servers": many,
}


# What takes input of its own is run by tests/docs on simulated servers, and by tests/integrations.
SIMULATED = {"pdf_archive", "ray_embed", "search_folder", "video_subtitles", "web_service"}


def test_every_example_is_checked() -> None:
    assert {example.stem for example in EXAMPLES.glob("*.py")} == set(CHECKS) | SIMULATED


@pytest.mark.parametrize("name", CHECKS)
def test_an_example_runs_and_is_right(
    name: str, urls: dict[str, str], servers: Rig, tmp_path: Path
) -> None:
    used = [servers["embed-tokens"].base_url] if name == "late_interaction" else [*urls.values()]
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")],
        cwd=tmp_path,
        env={**os.environ, "VLLM_BASE_URL": ",".join(used)},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    CHECKS[name](ran.stdout, tmp_path)
