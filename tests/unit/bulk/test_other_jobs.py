"""Rankings, transcripts and documents: a row at a time, each in one column of many parts."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import soundfile
from _bulk_jobs import blocking, failed_in, names_in, refusing, rows_in, run
from _script import FakeVLLM, edited, status
from PIL import Image
from pyarrow import parquet

from vllm_modalities import AuthenticationError, InvalidRequestError, bulk

SPOKEN = (np.sin(np.arange(16_000) / 5) * 9_000).astype(np.int16)


@pytest.fixture
def ranker() -> FakeVLLM:
    return FakeVLLM("cross-encoder", score=lambda query, document: 1 / (1 + len(document)))


@pytest.fixture
def ear() -> FakeVLLM:
    return FakeVLLM("speech", model="MOSS-Transcribe-Diarize", says="[0.01][S01] One. [0.1]")


@pytest.fixture
def eye() -> FakeVLLM:
    return FakeVLLM("chat", model="DeepSeek-OCR", says="# A page")


@pytest.fixture
def hits(tmp_path: Path) -> Path:
    rows = [
        {"q": "a", "texts": ["long one", "one"]},
        {"q": "b", "texts": []},
        {"q": None, "texts": ["x"]},
        {"q": "c", "texts": ["odd", "b", "cc"]},
        {"q": "d", "texts": ["x", None]},
    ]
    (tmp_path / "hits.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path / "hits.jsonl"


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    folder = tmp_path / "talks"
    folder.mkdir()
    for name in ("a.wav", "b.flac"):
        soundfile.write(folder / name, SPOKEN, 16_000)
    return folder


def test_each_row_s_documents_are_ranked_by_its_query(talk, ranker, hits, tmp_path) -> None:
    ranker.refuses = refusing("odd")
    out = tmp_path / "out"
    options = {"out": out, "query": "q", "documents": "texts"}
    report = run(talk(ranker), bulk.rerank, hits, **options)
    assert (report.rows, report.failed, report.partial) == (5, 3, 1)
    again = run(talk(ranker), bulk.rerank, hits, **options)
    assert (again.found, again.failed, again.partial) == (5, 3, 1)
    first, second = rows_in(out)
    assert first == {
        "q": "a",
        "texts": ["long one", "one"],
        "ranking": {"indices": [1, 0], "scores": [0.25, np.float32(1 / 9)], "failures": []},
    }
    assert second["ranking"]["indices"] == [1, 2]
    (said,) = second["ranking"]["failures"]
    assert "odd is odd" in said
    assert {row: one["reason"] for row, one in failed_in(out).items()} == {
        1: "the value of 'texts' is empty",
        2: "the value of 'q' is null",
        4: "the value of 'texts' has a null in it",
    }
    assert parquet.read_schema(out / "part-00000.parquet").field("ranking").type == pa.struct(
        {
            "indices": pa.list_(pa.int64()),
            "scores": pa.list_(pa.float32()),
            "failures": pa.list_(pa.string()),
        }
    )
    assert run(talk(ranker), bulk.rerank, hits, **options).found == 5


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"query": "texts", "documents": "texts"}, "must hold texts"),
        ({"query": "q", "documents": "q"}, "must hold lists of texts"),
        ({"query": "q", "documents": "d"}, "no column 'd'; it has q, texts"),
    ],
)
def test_columns_of_the_wrong_kind_are_refused(ranker, hits, tmp_path, columns, said) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        run(blocking(ranker), bulk.rerank, hits, out=tmp_path / "out", **columns)
    assert ranker.posts == []


def test_a_wrong_key_ends_the_job(ranker, hits, tmp_path) -> None:
    ranker.always("/v1/rerank", status(401))
    options = {"out": tmp_path / "out", "query": "q", "documents": "texts"}
    with pytest.raises(AuthenticationError):
        run(blocking(ranker, max_concurrency=1), bulk.rerank, hits, **options)


def test_a_folder_of_recordings_becomes_a_table_of_transcripts(talk, ear, talks, tmp_path) -> None:
    (talks / "bad.mp3").write_bytes(b"no sound at all")
    out = tmp_path / "out"
    report = run(talk(ear), bulk.transcribe, talks, out=out, diarize=True)
    assert (report.rows, report.failed) == (3, 1)
    first, _ = rows_in(out)
    assert first["path"] == str(talks / "a.wav")
    found = first["transcript"]
    assert (found["text"], found["duration"], found["failures"]) == ("One.", 1.0, [])
    assert [one["speaker"] for one in found["segments"]] == ["S01"]
    assert failed_in(out)[2]["error"] == "MediaError"
    # It may be put right, and is tried again until it is.
    assert names_in(out) >= {"_part-00000.journal", "_part-00000.rows", "part-00000.parquet"}
    soundfile.write(talks / "bad.mp3", SPOKEN, 16_000, format="WAV")
    with pytest.raises(InvalidRequestError, match=r"bad\.mp3 is new, gone or changed"):
        run(talk(ear), bulk.transcribe, talks, out=out, diarize=True)


def test_a_table_of_paths_is_kept_beside_what_is_said(talk, ear, talks, tmp_path) -> None:
    paths = [str(talks / "a.wav"), None, str(talks / "later.wav")]
    parquet.write_table(pa.table({"id": [1, 2, 3], "file": paths}), tmp_path / "in.parquet")
    out, options = tmp_path / "out", {"column": "file", "into": "said"}
    run(talk(ear), bulk.transcribe, tmp_path / "in.parquet", out=out, **options)
    assert [(row["id"], row["said"]["text"]) for row in rows_in(out)] == [(1, "One.")]
    assert sorted(failed_in(out)) == [1, 2]
    soundfile.write(talks / "later.wav", SPOKEN, 16_000)
    ear.sent.clear()
    report = run(talk(ear), bulk.transcribe, tmp_path / "in.parquet", out=out, **options)
    assert (report.found, report.failed, len(ear.posts)) == (2, 1, 1)
    assert [row["id"] for row in rows_in(out)] == [1, 3]
    assert names_in(out) == {"part-00000.parquet", "_job.journal", "_failed.jsonl"}


def test_a_folder_of_documents_becomes_a_table_of_markdown(talk, eye, tmp_path) -> None:
    folder, out = tmp_path / "scans", tmp_path / "out"
    folder.mkdir()
    for name in ("a.png", "b.png"):
        Image.new("RGB", (40, 30)).save(folder / name)
    report = run(talk(eye), bulk.ocr, folder, out=out, max_tokens=50)
    assert (report.rows, report.failed) == (2, 0)
    document = rows_in(out)[0]["document"]
    assert (document["markdown"], document["pages"]) == ("# A page", ["# A page"])
    assert document["failures"] == []
    assert names_in(out) == {"part-00000.parquet", "_job.journal"}


def test_a_document_of_which_pages_are_cut_or_not_there_is_told_as_partial(
    talk, eye, tmp_path
) -> None:
    Image.new("RGB", (40, 30)).save(tmp_path / "a.png")
    eye.always(
        "/v1/chat/completions", edited(lambda one: one["choices"][0].update(finish_reason="length"))
    )
    out = tmp_path / "out"
    report = run(talk(eye), bulk.ocr, tmp_path / "a.png", out=out, pages="1-3", max_tokens=50)
    assert (report.failed, report.partial) == (0, 1)
    failures = rows_in(out)[0]["document"]["failures"]
    assert failures == ["page 1 is not whole ('length')", "there is no page 3"]


def test_a_recording_whose_text_is_cut_is_told_as_partial(talk, tmp_path) -> None:
    soundfile.write(tmp_path / "a.wav", SPOKEN, 16_000)
    ear = FakeVLLM("chat", model="ultravox-v0_5", says="One.")
    ear.always(
        "/v1/chat/completions", edited(lambda one: one["choices"][0].update(finish_reason="length"))
    )
    out = tmp_path / "out"
    report = run(talk(ear), bulk.transcribe, tmp_path / "a.wav", out=out)
    assert (report.failed, report.partial) == (0, 1)
    (said,) = rows_in(out)[0]["transcript"]["failures"]
    assert "the text is cut: the model did not end it by itself ('length')" in said


@pytest.mark.parametrize(("code", "kept"), [(400, True), (500, False)])
def test_a_page_that_is_refused_is_told_beside_the_others_and_one_that_fails_is_tried_again(
    eye, tmp_path, monkeypatch, code, kept
) -> None:
    """Of three pages the second fails: by its own fault, or by the server's."""
    file, out = tmp_path / "a.tiff", tmp_path / "out"
    pages = [Image.new("RGB", (40, 30 + page)) for page in range(3)]
    pages[0].save(file, save_all=True, append_images=pages[1:])
    talker = blocking(eye, max_concurrency=1)
    eye.once("/v1/chat/completions", lambda answer: answer, status(code))
    report = run(talker, bulk.ocr, file, out=out, max_tokens=50, repair=False)
    assert (report.failed, report.partial) == ((0, 1) if kept else (1, 0))
    if kept:
        document = rows_in(out)[0]["document"]
        assert document["pages"] == ["# A page", "", "# A page"]
        assert len(document["failures"]) == 1
        return
    assert rows_in(out) == []
    assert "_row-0.journal" in names_in(out)
    eye.sent.clear()
    assert run(talker, bulk.ocr, file, out=out, max_tokens=50, repair=False).failed == 0
    assert len(eye.posts) == 1  # the page that failed, and no other
    assert names_in(out) == {"part-00000.parquet", "_job.journal"}


@pytest.mark.parametrize("name", [name for name in bulk.__all__ if name.islower()])
def test_a_job_shows_its_arguments_with_the_client_as_the_first(name) -> None:
    job = getattr(bulk, name)
    parameters = list(inspect.signature(job).parameters)
    assert parameters[:2] == ["client", "source"]
    assert "out" in parameters
    assert "context" not in parameters
    assert inspect.getdoc(job)


def test_without_pyarrow_the_extra_is_named() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; import vllm_modalities.bulk"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith(
        "ImportError: this module needs pyarrow: pip install 'vllm-modalities[bulk]'"
    )
