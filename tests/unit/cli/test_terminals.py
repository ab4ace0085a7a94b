"""What commands print: tables that fit a terminal, and plain lines where output is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner, Result

from vllm_modalities import cli
from vllm_modalities.serving._media_checks import ASSETS
from vllm_modalities.simulator import simulate

DRAWN = re.compile(r"[\u2500-\u257f]")  # box drawing
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
LONG = "Bread rises because yeast eats sugar and makes carbon dioxide, which gluten holds. " * 3
COMMANDS = {
    "rerank": ("rerank", "Why does bread rise?", "notes.txt"),
    "score": ("score", "Why does bread rise?", "notes.txt"),
    "probe": ("probe",),
    "doctor": ("doctor",),
    "check-command": ("check-command", "vllm serve BAAI/bge-m3 --task embed"),
    "recipe": ("recipe", "BAAI/bge-m3"),
    "demo": ("demo", "--simulate"),
    "ocr": ("ocr", "page.png"),
    "transcribe": ("transcribe", "speech.flac"),
}
TABLES = ("rerank", "score", "probe", "doctor", "check-command", "demo")


@pytest.fixture(scope="module")
def urls() -> Iterator[str]:
    with simulate(tasks=["embed", "rerank", "transcribe", "ocr"]) as simulator:
        yield ",".join(simulator.urls)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text(f"{LONG}\nThe cat\tsat. [bold]markup[/bold]\n", "utf-8")
    Path("page.png").write_bytes((ASSETS / "invoice.png").read_bytes())
    Path("speech.flac").write_bytes((ASSETS / "speech-en-us.flac").read_bytes())


def run(urls: str, name: str, **environment: str) -> Result:
    usual = {"VLLM_BASE_URL": urls, "FORCE_COLOR": None, "TERM": "xterm"}
    return CliRunner().invoke(cli.app, list(COMMANDS[name]), env={**usual, **environment})


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", COMMANDS)
def test_where_output_is_no_terminal_it_is_plain(urls: str, name: str) -> None:
    done = run(urls, name, COLUMNS="40")
    assert done.stdout
    assert not DRAWN.search(done.output)
    assert not ESCAPE.search(done.output)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_fits_the_terminal(urls: str, name: str, columns: int) -> None:
    done = run(urls, name, COLUMNS=str(columns), FORCE_COLOR="1")
    lines = ESCAPE.sub("", done.stdout).split("\nPut right:")[0].splitlines()
    assert any(DRAWN.search(line) for line in lines)
    assert max(map(cell_len, lines)) <= columns
    assert not any(re.search(r"http://\S*…|speech-\S*…", line) for line in lines)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", TABLES)
def test_no_colour_where_none_is_wanted(urls: str, name: str) -> None:
    done = run(urls, name, COLUMNS="80", FORCE_COLOR="1", NO_COLOR="1")
    assert DRAWN.search(done.stdout)
    styles = {"0", "1", "2", "3"}  # none, bold, faint, italic
    assert set(re.findall(r"\x1b\[([\d;]*)m", done.stdout)) <= styles


@pytest.mark.usefixtures("files")
def test_a_row_is_one_line_whole_with_tabs_between_its_cells(urls: str) -> None:
    rows = [line.split("\t") for line in run(urls, "rerank", COLUMNS="40").stdout.splitlines()]
    assert {(where, document) for _, where, document in rows} == {
        ("notes.txt:1", LONG.strip()),
        ("notes.txt:2", "The cat sat. [bold]markup[/bold]"),
    }
    assert all(float(score) > 0 for score, _, _ in rows)


@pytest.mark.usefixtures("files")
def test_a_long_line_for_a_file_is_not_broken(urls: str) -> None:
    announced = run(urls, "doctor", COLUMNS="40").stderr.splitlines()
    assert len([line for line in announced if "requests" in line]) == 4
