"""Every example, and every ```python block of the pages, run against real servers."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _sounds import contained
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


def searched(printed: str, _: Path) -> None:
    best, *others = printed.splitlines()
    assert best.endswith("  trains.md: The train to Berlin leaves from platform seven at nine.")
    assert float(best.split()[0]) > 0.5 > float(others[0].split()[0])
    assert len(others) == 2


def video(printed: str, folder: Path) -> None:
    spoken = words("speech-en-us.flac")
    assert "Subtitles of 3 s are in talk.srt and .vtt." in printed
    for text in (
        printed,
        *((folder / f"talk.{kind}").read_text("utf-8") for kind in ("srt", "vtt")),
    ):
        assert spoken <= set(re.findall(r"\w+", text.lower()))
    assert not (folder / "talk.journal").exists()


def archive(printed: str, folder: Path) -> None:
    assert re.search(
        r"^old/page\.pdf: [01] of 1 pages are whole, in read/old/page/document\.md$",
        printed,
        re.MULTILINE,
    )
    assert "bad.pdf: the page could not be read: 'archive/bad.pdf', a PDF, is damaged" in printed
    layout = json.loads((folder / "read" / "old" / "page" / "layout.json").read_text("utf-8"))
    (page,) = layout["pages"]
    assert (layout["model"], page["number"], page["width"], page["height"]) == (None, 1, 1000, 1300)
    assert not (folder / "read" / "bad").exists()


CHECKS: dict[str, Check] = {
    "pdf_archive": archive,
    "search_folder": searched,
    "video_subtitles": video,
    "late_interaction": late,
    "rank_your_own": own,
    "embed_search": search,
    "embed_many": embed_many,
    "rerank": rerank,
    "transcribe": transcribe,
    "ocr_page": ocr,
    "many_servers": many,
}


def notes(folder: Path) -> list[str]:
    (folder / "notes").mkdir()
    (folder / "notes" / "trains.md").write_text(
        "# Trains\n\nThe train to Berlin leaves\nfrom platform seven at nine.\n\nWe sell tickets.\n"
    )
    (folder / "notes" / "food.txt").write_text("Bread needs yeast.\n\nTea needs water.\n")
    return ["notes", "When can I go to Berlin by rail?"]


def talk(folder: Path) -> list[str]:
    import soundfile

    samples, rate = soundfile.read(ASSETS / "speech-en-us.flac", dtype="float32")
    (folder / "talk.mp4").write_bytes(contained("mp4", "aac", samples=samples, rate=rate))
    return ["talk.mp4", "en"]


def scans(folder: Path) -> list[str]:
    (folder / "archive" / "old").mkdir(parents=True)
    with Image.open(ASSETS / "invoice.png") as page:
        page.convert("RGB").save(folder / "archive" / "old" / "page.pdf", resolution=144)
    (folder / "archive" / "bad.pdf").write_bytes(b"%PDF-1.4 no more")
    return ["archive", "read", "60"]  # a model of random weights may not end by itself


MADE = {"pdf_archive": scans, "search_folder": notes, "video_subtitles": talk}
"""Input of an example, made in a folder, as its arguments."""

# The rig's reranker has random weights; its embedder ranks too, and knows what words mean.
USED = {"late_interaction": ("embed-tokens",), "search_folder": ("embed",)}

ALONE = {"web_service"}  # has a test of its own
# Ray alone takes longer to install than this session has, so `nox -s live-integrations` runs it.
BY_INTEGRATIONS = {"ray_embed"}


def test_every_example_is_checked() -> None:
    every = {example.stem for example in EXAMPLES.glob("*.py")}
    assert every == set(CHECKS) | ALONE | BY_INTEGRATIONS


@pytest.mark.parametrize("name", CHECKS)
def test_an_example_runs_and_is_right(
    name: str, urls: dict[str, str], servers: Rig, tmp_path: Path
) -> None:
    used = [servers[one].base_url for one in USED[name]] if name in USED else [*urls.values()]
    arguments = MADE[name](tmp_path) if name in MADE else []
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=tmp_path,
        env={**os.environ, "VLLM_BASE_URL": ",".join(used)},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    CHECKS[name](ran.stdout, tmp_path)


def test_the_web_service_ranks_and_writes_down(urls: dict[str, str]) -> None:
    import httpx

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    service = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "web_service:app", "--port", str(port)],
        cwd=EXAMPLES,
        env={**os.environ, "VLLM_BASE_URL": f"{urls['embed']},{urls['whisper-base']}"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert service.stderr is not None
        assert any("Application startup complete" in line for line in service.stderr)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120, trust_env=False) as web:
            texts = ["Bread rises.", "The train to Berlin leaves at nine.", "A cat sleeps."]
            asked = {"question": "When can I go to Berlin by rail?", "texts": texts}
            assert web.post("/best", json=asked).json()["text"] == texts[1]
            speech = (ASSETS / "speech-en-us.flac").read_bytes()
            said = web.post("/transcribe", content=speech).json()
            assert words("speech-en-us.flac") <= set(re.findall(r"\w+", said["srt"].lower()))
            assert web.post("/transcribe", content=b"noise").status_code == 422
            assert web.post("/best", json={**asked, "question": ""}).status_code == 422
    finally:
        service.terminate()
        service.communicate(timeout=60)
