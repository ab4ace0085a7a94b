"""The commands that run jobs: `embed`, `rerank-table`, `transcribe --table` and `ocr --table`."""

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
import soundfile
from _bulk_jobs import rows_in, table, texts_of
from _script import FakeVLLM, mock_transport, status
from PIL import Image
from typer.testing import CliRunner

from vllm_modalities import Client, cli
from vllm_modalities.bulk import BulkReport

PATH = "/v1/embeddings"


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch):
    """Puts a server before the commands, and gives it back."""

    def before(fake: FakeVLLM) -> FakeVLLM:
        http = httpx.Client(transport=mock_transport(fake))

        def client(url: str | None, max_concurrency: int) -> Client:
            assert max_concurrency in (3, 32)
            return Client(url or "http://server", max_retries=0, http_client=http)

        module = importlib.import_module("vllm_modalities.cli._bulk")
        monkeypatch.setattr(module, "Client", client)
        return fake

    return before


def invoked(*arguments: object):
    environment = {"COLUMNS": "300", "TERM": "dumb", "FORCE_COLOR": None}
    return CliRunner().invoke(cli.app, [*map(str, arguments)], env=environment)


def test_a_column_is_embedded_and_the_end_is_told(put, tmp_path) -> None:
    put(FakeVLLM(matryoshka=True))
    file, out = table(tmp_path / "in.parquet", texts_of(5)), tmp_path / "out"
    options = ["--out", out, "--dtype", "float16", "--dimensions", 2, "--into", "v"]
    done = invoked("embed", file, "--column", "text", *options, "--concurrency", 3)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(f"5 of 5 rows are in {out}; ")
    assert done.stdout.endswith(" s.\n")
    assert {len(row["v"]) for row in rows_in(out)} == {2}
    done = invoked("embed", file, "--column", "text", *options, "--concurrency", 3)
    assert done.stdout == f"5 of 5 rows are in {out}, all of them from before.\n"


def test_failed_rows_make_exit_status_1_and_are_named(put, tmp_path) -> None:
    put(FakeVLLM())
    file, out = table(tmp_path / "in.parquet", ["a", None]), tmp_path / "out"
    done = invoked("embed", file, "--column", "text", "--out", out)
    assert done.exit_code == 1
    said = "row 1: InvalidRequestError: the value of 'text' is null"
    assert done.stderr == f"1 failed: see {out / '_failed.jsonl'}, which begins with {said}\n"
    done = invoked("embed", file, "--column", "text", "--out", out, "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert (told["rows"], told["done"], told["failed"], told["found"]) == (2, 1, 1, 2)
    assert told["out"] == str(out)


def test_what_was_asked_wrongly_is_exit_status_2_and_what_failed_is_1(put, tmp_path) -> None:
    server = put(FakeVLLM())
    file, out = table(tmp_path / "in.parquet", ["a"]), tmp_path / "out"
    done = invoked("embed", file, "--column", "words", "--out", out)
    assert done.exit_code == 2
    assert "no column 'words'; it has id, text" in done.stderr
    server.always(PATH, status(401))
    done = invoked("embed", file, "--column", "text", "--out", out)
    assert (done.exit_code, "AuthenticationError" in done.stderr) == (1, True)


@pytest.mark.filterwarnings("default")
def test_warnings_go_to_standard_error(put, tmp_path) -> None:
    server = put(FakeVLLM())
    server.models[0]["root"] = "intfloat/multilingual-e5-small"
    file = table(tmp_path / "in.parquet", ["a"])
    done = invoked("embed", file, "--column", "text", "--out", tmp_path / "out")
    assert done.exit_code == 0
    assert done.stderr.count("was trained with words before its texts") == 1


def test_rows_are_ranked(put, tmp_path) -> None:
    put(FakeVLLM("cross-encoder", score=lambda query, document: 1 / (1 + len(document))))
    file, out = tmp_path / "in.jsonl", tmp_path / "out"
    file.write_text(json.dumps({"q": "a", "texts": ["long one", "one"]}))
    options = ["--query", "q", "--documents", "texts", "--out", out, "--top-n", 1]
    assert invoked("rerank-table", file, *options).exit_code == 0
    assert rows_in(out)[0]["ranking"]["indices"] == [1]


def test_recordings_become_a_table(put, tmp_path) -> None:
    put(FakeVLLM("speech", says="One."))
    wave = (np.sin(np.arange(4_000) / 5) * 9_000).astype(np.int16)
    soundfile.write(tmp_path / "a.wav", wave, 16_000)
    out = tmp_path / "out"
    done = invoked("transcribe", tmp_path / "a.wav", "--table", out, "--language", "en")
    assert done.exit_code == 0, done.stderr
    assert [row["transcript"]["text"] for row in rows_in(out)] == ["One."]


def test_documents_become_a_table(put, tmp_path) -> None:
    put(FakeVLLM("chat", model="DeepSeek-OCR", says="# A page"))
    Image.new("RGB", (40, 30)).save(tmp_path / "a.png")
    (tmp_path / "in.csv").write_text(f"file\n{tmp_path / 'a.png'}\n")
    out = tmp_path / "out"
    done = invoked("ocr", tmp_path / "in.csv", "--table", out, "--column", "file")
    assert done.exit_code == 0, done.stderr
    assert [row["document"]["markdown"] for row in rows_in(out)] == ["# A page"]


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("transcribe", ["--srt"]),
        ("transcribe", ["--journal", "--translate"]),
        ("ocr", ["--html", "--out", "x"]),
    ],
)
def test_a_table_is_not_written_beside_other_things(tmp_path, command, options) -> None:
    done = invoked(command, tmp_path, "--table", tmp_path / "out", *options)
    assert done.exit_code == 2
    assert "--table does not go with" in done.stderr


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_is_drawn_on_a_terminal(put, tmp_path, monkeypatch, terminal) -> None:
    put(FakeVLLM())
    given = []

    def job(*_: object, progress: object, **__: object) -> BulkReport:
        given.append(progress)
        return BulkReport(Path("out"), rows=1, failed=0, partial=0, found=0, seconds=1.0)

    monkeypatch.setattr("vllm_modalities.bulk.embed", job)
    module = importlib.import_module("vllm_modalities.cli._bulk")
    monkeypatch.setattr(
        module, "sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: terminal))
    )
    assert invoked("embed", "x", "--column", "text", "--out", tmp_path).exit_code == 0
    assert given == [True if terminal else None]


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.startswith("vllm_modalities.bulk")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delattr("vllm_modalities.bulk")
    done = invoked("embed", "x", "--column", "text", "--out", tmp_path)
    assert done.exit_code == 1
    assert "pip install 'vllm-modalities[bulk]'" in done.stderr


@pytest.mark.parametrize(
    ("found", "seconds", "words"),
    [
        (0, 2.04, "; 490 rows a second, 2.0 s."),
        (4, 12.0, ", 4 of them from before; 83 rows a second, 12 s."),
        (1000, 0.1, ", all of them from before."),
    ],
)
def test_the_end_tells_how_many_and_how_fast(found: int, seconds: float, words: str) -> None:
    module = importlib.import_module("vllm_modalities.cli._bulk")
    report = BulkReport(Path("out"), 1000, failed=1, partial=0, found=found, seconds=seconds)
    assert module._summary(report) == f"999 of 1,000 rows are in out{words}"
    nothing = BulkReport(Path("out"), 0, failed=0, partial=0, found=0, seconds=seconds)
    assert module._summary(nothing).startswith("0 of 0 rows are in out; 0 rows a second, ")
