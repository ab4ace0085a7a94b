"""How every command ends: its exit status, and what it says where something went wrong."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from _bulk_jobs import table
from PIL import Image
from typer.testing import CliRunner, Result

from vllm_modalities import cli
from vllm_modalities.serving._media_checks import ASSETS
from vllm_modalities.simulator import Simulator, simulate

NOWHERE = "http://127.0.0.1:9"
LONG = "word " * 600  # beyond the 512 tokens of the reranker
BROKEN = b"\x89PNG no more"
STATUSES = "0, all is there; 1, something that was asked for failed or is not there whole"


@pytest.fixture(scope="module")
def servers() -> Iterator[Simulator]:
    with simulate(tasks=["embed", "rerank", "transcribe", "ocr"]) as running:
        yield running


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("Bread rises.\nThe cat sat.\n", "utf-8")
    Path("long.txt").write_text(f"Bread rises.\n{LONG}\n", "utf-8")
    table(Path("rows.parquet"), ["a text", "another"])
    table(Path("holes.parquet"), ["a text", None])
    for name, documents in (("hits", ["One.", "Two."]), ("odd", ["One.", LONG])):
        rows = {"q": "One?", "texts": documents}
        Path(f"{name}.jsonl").write_text(json.dumps(rows) + "\n", "utf-8")
    Path("page.png").write_bytes((ASSETS / "invoice.png").read_bytes())
    Path("bad.png").write_bytes(BROKEN)
    Path("talk.flac").write_bytes((ASSETS / "speech-en-us.flac").read_bytes())
    Path("bad.wav").write_bytes(b"no sound")
    Path("nothing").mkdir()


def run(urls: str, *arguments: str) -> Result:
    environment = {"VLLM_BASE_URL": urls, "COLUMNS": "60", "TERM": "dumb", "FORCE_COLOR": None}
    return CliRunner().invoke(cli.app, arguments, env=environment)


EMBED = ("--column", "text", "--out", "out")
RANK = ("--query", "q", "--documents", "texts", "--out", "out")
DONE = {
    "embed": ("embed", "rows.parquet", *EMBED),
    "rerank": ("rerank", "What rises?", "notes.txt"),
    "score": ("score", "What rises?", "notes.txt"),
    "rerank-table": ("rerank-table", "hits.jsonl", *RANK),
    "ocr": ("ocr", "page.png"),
    "ocr --table": ("ocr", "page.png", "--table", "out"),
    "transcribe": ("transcribe", "talk.flac"),
    "transcribe --table": ("transcribe", "talk.flac", "--table", "out"),
    "probe": ("probe",),
    "doctor": ("doctor", "{embed}"),
    "demo": ("demo", "--base-url", "{urls}"),
    "recipe": ("recipe", "BAAI/bge-m3"),
    "check-command": ("check-command", "vllm serve BAAI/bge-m3 --runner pooling"),
}
LACKING = {
    "embed": (("embed", "holes.parquet", *EMBED), "1 failed: see out/_failed.jsonl"),
    "rerank": (("rerank", "What rises?", "long.txt"), "long.txt:2: BadRequestError: HTTP 400"),
    "score": (("score", "What rises?", "notes.txt"), ": BadRequestError: HTTP 400"),
    "rerank-table": (("rerank-table", "odd.jsonl", *RANK), "1 lack a part"),
    "ocr, one of two": (("ocr", "bad.png", "page.png"), "bad.png: MediaError"),
    "ocr, a page that is not there": (
        ("ocr", "page.png", "--pages", "1-3"),
        "there is no page 2-3",
    ),
    "ocr --table": (("ocr", "page.png", "bad.png", "--table", "out"), "1 failed: see out"),
    "ocr --table, a part": (("ocr", "page.png", "--pages", "1-3", "--table", "out"), "1 lack a"),
    "transcribe": (("transcribe", "bad.wav", "talk.flac"), "bad.wav: MediaError"),
    "transcribe --table": (("transcribe", "bad.wav", "--table", "out"), "1 failed: see out"),
    "probe": (("probe", "{urls}", NOWHERE), ""),
    "doctor": (("doctor", NOWHERE), ""),
    "check-command": (("check-command", "vllm serve BAAI/bge-m3 --task embed"), ""),
}
WRONG = {
    "embed": (("embed", "rows.parquet", "--column", "words", "--out", "out"), "no column 'words'"),
    "rerank": (("rerank", "q", "nowhere.txt"), "nowhere.txt cannot be read"),
    "score": (("score", "q", "nothing"), "nothing cannot be read"),
    "rerank-table": (("rerank-table", "nowhere.jsonl", *RANK), "nowhere.jsonl: no such file"),
    "ocr": (("ocr", "nowhere.pdf"), "nowhere.pdf: no such file or folder"),
    "ocr, a folder": (("ocr", "nothing"), "nothing: there is no PDF or image in it"),
    "ocr, a pattern": (("ocr", "*.tif"), "*.tif: no file fits it"),
    "ocr, a task": (("ocr", "page.png", "page.png", "--task", "x"), "InvalidRequestError: "),
    "transcribe": (("transcribe", "nowhere.wav"), "nowhere.wav: no such file or folder"),
    "transcribe, a folder": (("transcribe", "nothing"), "nothing: there is no recording in it"),
    "transcribe, a table": (("transcribe", "talk.flac", "--srt", "--table", "out"), "--srt"),
    "probe": (("probe", "ftp://server"), "is not HTTP"),
    "doctor": (("doctor", "no address"), "not the address of a server"),
    "demo": (("demo", "--base-url", "ftp://server"), "is not HTTP"),
    "simulate": (("simulate", "--task", "dance"), "'dance' was not recorded"),
    "recipe": (("recipe", "unheard/of"), "nothing is known of how"),
    "check-command": (("check-command", "nowhere.sh"), "no `vllm serve` command"),
    "an option": (("ocr", "page.png", "--wrong"), "No such option: --wrong (Possible"),
    "a choice": (("embed", "rows.parquet", *EMBED, "--dtype", "x"), "'float32'"),
    "an argument": (("ocr",), "Missing argument"),
    "a command": (("dance",), "No such command 'dance'. See "),
    "no command": (("--wrong",), "No such option: --wrong. See "),
}
ALONE = {"recipe", "check-command", "simulate"}  # ask no server


def commands(rows: dict[str, object]) -> set[str]:
    return {name.partition(",")[0].partition(" ")[0] for name in rows}


def test_every_command_is_in_the_tables() -> None:
    every = set(typer.main.get_command(cli.app).commands)
    assert commands(DONE) == every - {"simulate"}  # which ends when it is interrupted
    assert commands(LACKING) | {"demo", "simulate", "recipe"} == every  # which have no parts
    assert commands(WRONG) >= every


@pytest.mark.parametrize("name", DONE)
def test_where_all_is_done_the_status_is_0(servers: Simulator, name: str) -> None:
    urls = ",".join(servers.urls)
    done = run(urls, *(part.format(urls=urls, embed=servers["embed"]) for part in DONE[name]))
    assert done.exit_code == 0, done.output
    assert done.stdout


@pytest.mark.parametrize("name", LACKING)
def test_where_something_is_missing_the_status_is_1_and_it_is_named(
    servers: Simulator, name: str
) -> None:
    arguments, words = LACKING[name]
    if name == "score":  # how it refuses what is too long was not recorded
        servers.fail(400, path="/v1/score", times=2)  # both texts together, and one of them
    done = run(",".join(servers.urls), *(part.format(urls=servers.urls[0]) for part in arguments))
    assert done.exit_code == 1, done.output
    assert words in done.stderr
    assert done.stdout  # what there is


@pytest.mark.parametrize("name", WRONG)
def test_wrong_usage_is_status_2_and_one_line(servers: Simulator, name: str) -> None:
    arguments, words = WRONG[name]
    done = run(",".join(servers.urls), *arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    (line,) = done.stderr.splitlines()
    assert words in line
    assert re.match(r"(page\.png: )?(Error|InvalidRequestError): ", line)


@pytest.mark.parametrize("name", sorted(set(DONE) - ALONE))
def test_a_server_that_is_not_there_is_status_1_and_one_line(name: str) -> None:
    done = run(NOWHERE, *(part.format(urls=NOWHERE, embed=NOWHERE) for part in DONE[name]))
    assert done.exit_code == 1
    lines = [line for line in done.output.splitlines() if "no answer" in line]
    assert len(lines) == 1
    assert NOWHERE in lines[0]


def test_documents_are_not_tried_where_none_could_fare_better() -> None:
    Image.new("RGB", (9, 9)).save("other.png")
    done = run(NOWHERE, "ocr", "page.png", "other.png", "bad.png")
    assert done.exit_code == 1
    first, last = done.stderr.splitlines()
    assert first.startswith("page.png: APIConnectionError: ")
    assert last == "not tried: 2 more"


@pytest.mark.filterwarnings("default")
def test_a_page_that_the_model_did_not_end_is_missing_something(servers: Simulator) -> None:
    servers.fail("loop", path="/v1/chat/completions", times=None)
    try:
        done = run(",".join(servers.urls), "ocr", "page.png", "--json")
    finally:
        servers.recover()
    assert done.exit_code == 1
    (found,) = json.loads(done.stdout)
    assert found["pages"][0]["finish_reason"] == "repetition"
    assert "the page is cut" in done.stderr
    assert done.stderr.startswith("a page ends in a loop, which the n-gram processor")


def test_a_port_that_is_taken_is_status_1() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("", "simulate", "--port", str(taken.getsockname()[1]))
    assert (done.exit_code, done.stdout) == (1, "")
    assert os.strerror(errno.EADDRINUSE).lower() in done.stderr.lower()


@pytest.mark.parametrize("command", sorted(typer.main.get_command(cli.app).commands))
def test_the_help_of_every_command_has_the_statuses(command: str) -> None:
    done = run("", command, "--help")
    assert STATUSES in " ".join(done.stdout.split())


WAITING = {
    "embed": "/v1/embeddings",
    "rerank": "/v1/rerank",
    "ocr": "/v1/chat/completions",
    "transcribe": "/v1/audio/transcriptions",
}


def test_ctrl_c_ends_a_command_that_waits_with_130_and_a_word() -> None:
    with simulate(tasks=["embed", "rerank", "transcribe", "ocr"], seconds_per_request=600) as slow:
        urls = ",".join(slow.urls)
        begun = {name: started(*DONE[name], urls=urls) for name in WAITING}
        try:
            while {*WAITING.values()} - {one.path for one in slow.requests}:
                assert {process.poll() for process in begun.values()} == {None}
                time.sleep(0.02)
            for process in begun.values():
                process.send_signal(signal.SIGINT)
            ends = {name: process.communicate(timeout=60) for name, process in begun.items()}
            assert ends == dict.fromkeys(WAITING, ("", "interrupted\n"))
            assert {process.returncode for process in begun.values()} == {130}
        finally:
            for process in begun.values():
                process.kill()
                process.communicate()


def test_ctrl_c_is_status_130_wherever_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vllm_modalities.cli._files._files", interrupted)
    done = run("", "ocr", "page.png")
    assert (done.exit_code, done.output) == (130, "interrupted\n")


def test_ctrl_c_is_how_a_simulation_ends() -> None:
    process = started("simulate", "--port", "0", urls="")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=60), process.returncode) == (("", ""), 0)


def started(*arguments: str, urls: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "vllm_modalities", *arguments],
        env={**os.environ, "VLLM_BASE_URL": urls, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("form", ["table", "lines"])
@pytest.mark.parametrize("name", sorted(DONE))
def test_a_reader_that_leaves_ends_a_command_with_141_in_silence(
    servers: Simulator, monkeypatch: pytest.MonkeyPatch, capfd, name: str, form: str
) -> None:
    """As `| head` does once it has seen enough."""
    urls = ",".join(servers.urls)
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setenv("VLLM_BASE_URL", urls)
    monkeypatch.setenv("FORCE_COLOR", "1") if form == "table" else monkeypatch.delenv(
        "FORCE_COLOR", raising=False
    )
    with os.fdopen(writer, "w") as left, pytest.raises(SystemExit) as end:
        monkeypatch.setattr(sys, "stdout", left)
        cli.app([part.format(urls=urls, embed=servers["embed"]) for part in DONE[name]])
    assert end.value.code == 141
    said = capfd.readouterr().err
    assert "BrokenPipe" not in said
    assert "Traceback" not in said
