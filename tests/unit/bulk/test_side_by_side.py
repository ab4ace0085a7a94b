"""Jobs of single rows: many are under way, each for itself, and few are read ahead."""

import json
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from subprocess import Popen
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import soundfile
from _bulk_jobs import blocking, failed_in, names_in, rows_in, run
from _script import FakeVLLM, status
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pyarrow import ipc, parquet

from vllm_modalities import InvalidRequestError, bulk
from vllm_modalities.bulk import _formats, _job
from vllm_modalities.bulk._tables import table_of
from vllm_modalities.simulator import simulate

BOUND = 60  # seconds that a test waits before it gives up


@dataclass(frozen=True)
class Kind:
    """A job, a server for it, and what it is asked about rows that say their numbers."""

    job: Any
    server: Callable[[], FakeVLLM]
    source: Callable[[Path, int], Path]
    options: Mapping[str, Any]


def hits(folder: Path, count: int) -> Path:
    """Rows of one document each."""
    rows = [{"q": f"query {row}", "texts": [f"document {row}"]} for row in range(count)]
    (folder / "hits.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "hits.jsonl"


def sound(row: int) -> bytes:
    """Three seconds, in which a simulated sentence can be spoken, of a pitch of its own."""
    file = BytesIO()
    wave = np.sin(np.arange(48_000) * (0.1 + row / 1_000)) * 0.3
    soundfile.write(file, wave, 16_000, format="WAV")
    return file.getvalue()


def picture(row: int) -> bytes:
    file = BytesIO()
    Image.new("RGB", (40, 30), (row % 256, row // 256, 0)).save(file, "PNG")
    return file.getvalue()


def files(make: Callable[[int], bytes], ending: str, folder: Path, count: int) -> Path:
    (folder / ending).mkdir()
    for row in range(count):
        (folder / ending / f"{row:04}.{ending}").write_bytes(make(row))
    return folder / ending


KINDS = {
    "rerank": Kind(
        bulk.rerank,
        lambda: FakeVLLM("cross-encoder"),
        hits,
        {"query": "q", "documents": "texts"},
    ),
    "transcribe": Kind(
        bulk.transcribe,
        lambda: FakeVLLM("speech", model="whisper", says=" A word."),
        partial(files, sound, "wav"),
        {},
    ),
    "ocr": Kind(
        bulk.ocr,
        lambda: FakeVLLM("chat", model="DeepSeek-OCR", says="# A page"),
        partial(files, picture, "png"),
        {"max_tokens": 50},
    ),
}
PATHS = {
    "rerank": "/v1/rerank",
    "transcribe": "/v1/audio/transcriptions",
    "ocr": "/v1/chat/completions",
}


def subjects_of(source: Path, count: int) -> list[str]:
    """The first column of all rows, in order."""
    if source.is_dir():
        return sorted(map(str, source.iterdir()))
    return [f"query {row}" for row in range(count)]


def subjects_in(out: Path) -> list[str]:
    return [next(iter(row.values())) for row in rows_in(out)]


@pytest.mark.parametrize("name", KINDS)
def test_rows_are_under_way_side_by_side_and_no_more_than_is_allowed(talk, name, tmp_path) -> None:
    kind = KINDS[name]
    server, source = kind.server(), kind.source(tmp_path, 60)
    talker = talk(server, max_concurrency=3)
    report = run(talker, kind.job, source, out=tmp_path / "out", **kind.options)
    assert (report.rows, report.failed, len(server.posts)) == (60, 0, 60)
    assert 1 < server.most_in_flight <= 3


def test_as_many_rows_meet_at_the_server_as_requests_may_be_in_flight(tmp_path) -> None:
    """Each waits there for three others, so that fewer would never be answered."""
    met = threading.Barrier(4)

    def score(query: str, document: str) -> float:
        met.wait(BOUND)
        return 0.5

    server = FakeVLLM("cross-encoder", score=score)
    options = {"out": tmp_path / "out", **KINDS["rerank"].options}
    run(blocking(server, max_concurrency=4), bulk.rerank, hits(tmp_path, 40), **options)
    assert server.most_in_flight == 4
    assert len(rows_in(tmp_path / "out")) == 40


def test_a_slow_row_holds_up_no_other_and_keeps_its_place(tmp_path) -> None:
    others, left = threading.Event(), [29]

    def score(query: str, document: str) -> float:
        if query == "query 3":
            assert others.wait(BOUND)
            return 0.5
        left[0] -= 1
        if not left[0]:
            others.set()
        return 0.5

    server, out = FakeVLLM("cross-encoder", score=score), tmp_path / "out"
    options = {"out": out, "shard_rows": 8, **KINDS["rerank"].options}
    run(blocking(server, max_concurrency=2), bulk.rerank, hits(tmp_path, 30), **options)
    assert [row["q"] for row in rows_in(out)] == [f"query {row}" for row in range(30)]


@pytest.mark.parametrize("name", KINDS)
def test_a_row_that_fails_costs_no_other(talk, name, tmp_path) -> None:
    kind = KINDS[name]
    server, source, out = kind.server(), kind.source(tmp_path, 30), tmp_path / "out"
    server.once(PATHS[name], *[lambda answer: answer] * 11, status(500))
    talker = talk(server, max_retries=0, max_concurrency=4)
    report = run(talker, kind.job, source, out=out, **kind.options)
    ((row, said),) = failed_in(out).items()
    wanted = subjects_of(source, 30)
    assert (report.failed, said["error"]) == (1, "InternalServerError")
    assert subjects_in(out) == wanted[:row] + wanted[row + 1 :]
    server.sent.clear()
    report = run(talker, kind.job, source, out=out, **kind.options)
    assert (report.found, report.failed, len(server.posts)) == (29, 0, 1)
    assert subjects_in(out) == wanted


JOB = """
    import sys
    from vllm_modalities import Client, bulk

    name, source, out, url = sys.argv[1:]
    with Client(url, max_concurrency=4) as client:
        getattr(bulk, name)(client, source, out=out, shard_rows=50, **OPTIONS)
"""


@pytest.mark.parametrize("name", KINDS)
def test_killed_it_is_complete_and_sends_again_what_was_in_flight_alone(name, tmp_path) -> None:
    kind, count, out = KINDS[name], 100, tmp_path / "out"
    source = kind.source(tmp_path, count)
    code = textwrap.dedent(JOB).replace("OPTIONS", repr(dict(kind.options)))

    def started() -> Popen[bytes]:
        return Popen([sys.executable, "-c", code, name, str(source), str(out), servers.url])

    def posts() -> int:
        return sum(one.method == "POST" for one in servers.requests)

    with simulate(tasks=[name], slots=4, seconds_per_request=0.01) as servers:
        process = started()
        while posts() < 60:
            assert process.poll() is None
        process.kill()
        process.wait()
        assert started().wait() == 0
        sent = posts()
    assert count <= sent <= count + 4
    assert subjects_in(out) == subjects_of(source, count)
    assert not [name for name in names_in(out) if name.startswith(("_part", "_row"))]


@pytest.mark.parametrize(
    "kept",
    [
        sound,
        lambda row: {"bytes": sound(row), "path": "elsewhere.wav"},
        lambda row: {"bytes": None, "path": f"wav/{row:04}.wav"},
    ],
    ids=["bytes", "bytes of datasets", "paths of datasets"],
)
def test_recordings_may_stand_in_the_table(talk, kept, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    files(sound, "wav", tmp_path, 5)
    empty = None if isinstance(kept(0), bytes) else {"bytes": None, "path": None}
    rows = [{"id": row, "audio": kept(row)} for row in range(5)] + [{"id": 5, "audio": empty}]
    parquet.write_table(pa.Table.from_pylist(rows), "in.parquet")
    server = KINDS["transcribe"].server()
    run(talk(server), bulk.transcribe, "in.parquet", out="out", column="audio")
    assert [row["transcript"]["text"] for row in rows_in(Path("out"))] == ["A word."] * 5
    assert [row["audio"] for row in rows_in(Path("out"))] == [row["audio"] for row in rows[:5]]
    assert failed_in(Path("out"))[5]["reason"] == "the value of 'audio' is null"


def test_pages_may_stand_in_the_table(tmp_path) -> None:
    rows = {"page": pa.array(map(picture, range(4)), pa.large_binary())}
    parquet.write_table(pa.table(rows), tmp_path / "in.parquet")
    options = {"out": tmp_path / "out", "column": "page", "max_tokens": 50}
    run(blocking(KINDS["ocr"].server()), bulk.ocr, tmp_path / "in.parquet", **options)
    assert [row["document"]["markdown"] for row in rows_in(tmp_path / "out")] == ["# A page"] * 4


@pytest.mark.parametrize(
    "column",
    [[1, 2], [{"bytes": b"a"}], [{"bytes": "a", "path": "a"}], [{"bytes": b"a", "path": 1}]],
    ids=["numbers", "no path", "texts as bytes", "numbers as paths"],
)
def test_what_is_no_file_is_refused(column, tmp_path) -> None:
    parquet.write_table(pa.table({"page": column}), tmp_path / "in.parquet")
    server = KINDS["ocr"].server()
    with pytest.raises(InvalidRequestError, match="must hold paths or the bytes of files"):
        run(blocking(server), bulk.ocr, tmp_path / "in.parquet", out="out", column="page")
    assert server.posts == []


sizes = st.lists(st.integers(0, 3_000), min_size=1, max_size=60)


@given(sizes=sizes, group=st.integers(1, 60), bytes_at_once=st.integers(1, 8_000))
def test_of_a_parquet_file_no_more_is_read_at_once_than_fits_or_a_row(
    tmp_path_factory, sizes, group, bytes_at_once
) -> None:
    """A row group's rows are taken to be alike: those of one that are, fit."""
    file = tmp_path_factory.mktemp("table") / "in.parquet"
    rows = [bytes([row]) * sizes[row // group % len(sizes)] for row in range(len(sizes))]
    table = pa.table({"id": range(len(rows)), "blob": pa.array(rows, pa.binary())})
    parquet.write_table(table, file, row_group_size=group, use_dictionary=False)
    with pytest.MonkeyPatch.context() as patched:
        for module in (_formats, _job):
            patched.setattr(module, "READ_BYTES", bytes_at_once)
        read = list(table_of(file, []).batches())
        chunks = list(_job._chunks(read))
    assert pa.Table.from_batches(chunks) == pa.Table.from_batches(read) == table
    for batch in read:
        assert len(batch) == 1 or batch.nbytes <= bytes_at_once
    for chunk in chunks:
        assert chunk.nbytes <= max(bytes_at_once, *(batch.nbytes for batch in read))


@pytest.mark.parametrize("most", [1, 4])
def test_rows_are_read_no_further_ahead_than_they_are_sent(tmp_path, monkeypatch, most) -> None:
    """Rows of 1000 bytes, of which 5000 are read at once, in batches of 3."""
    monkeypatch.setattr(_job, "READ_BYTES", 5_000)
    rows = [{"q": f"{row}", "texts": ["a"], "blob": b"x" * 1_000} for row in range(120)]
    whole = pa.Table.from_pylist(rows)
    with ipc.new_stream(tmp_path / "in.arrows", whole.schema) as stream:
        for batch in whole.to_batches(max_chunksize=3):
            stream.write_batch(batch)
    taken, sent, ahead = [0], [0], list[int]()
    real = _formats._opened_arrow

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            taken[0] += len(batch)
            yield batch

    def opened(file: Path) -> tuple[Any, Iterator[Any]]:
        schema, batches = real(file)
        return schema, counted(batches)

    def score(query: str, document: str) -> float:
        ahead.append(taken[0] - sent[0])
        sent[0] += 1
        return 0.5

    server = FakeVLLM("cross-encoder", score=score)
    talker = blocking(server, max_concurrency=most)
    with monkeypatch.context() as patched:
        patched.setattr(_formats, "_opened_arrow", opened)
        found = table_of(tmp_path / "in.arrows", [])
        taken[0] = 0
        patched.setattr(bulk._rerank, "texts_in", lambda *_: found)
        options = {"out": tmp_path / "out", **KINDS["rerank"].options}
        run(talker, bulk.rerank, tmp_path / "in.arrows", **options)
    assert (sent[0], taken[0]) == (120, 120)
    assert max(ahead) <= 6 + most  # what is read at once, and what is under way
    assert max(ahead) >= 3
