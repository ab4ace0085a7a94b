"""What ended half-way goes on: nothing is lost, doubled, or sent again without need."""

import os
import sys
import textwrap
from collections import Counter
from pathlib import Path
from subprocess import Popen

import anyio
import pyarrow as pa
import pytest
from _bulk_jobs import (
    blocking,
    failed_in,
    names_in,
    refusing,
    rows_in,
    run,
    sent_to,
    table,
    texts_of,
)
from _script import FakeVLLM, Talker, status
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc, parquet

from vllm_modalities import InternalServerError, InvalidRequestError
from vllm_modalities._journal import Journal
from vllm_modalities.bulk import _job, _shards, embed
from vllm_modalities.simulator import simulate

PATH = "/v1/embeddings"


@pytest.fixture
def server() -> FakeVLLM:
    return FakeVLLM()


def ids_in(out: Path) -> list[int]:
    return [row["id"] for row in rows_in(out)]


def test_an_outage_costs_only_what_was_not_answered(talk, server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", texts_of(60)), tmp_path / "out"
    options = {"out": out, "column": "text", "batch_size": 2, "shard_rows": 25}
    server.always("row 31", status(401))
    with pytest.raises(Exception, match="401"):
        run(talk(server, max_concurrency=1), embed, file, **options)
    assert sent_to(server) == texts_of(33)
    server.well("row 31")
    server.sent.clear()
    report = run(talk(server), embed, file, **options)
    assert (report.found, report.failed, ids_in(out)) == (31, 0, list(range(60)))
    assert sorted(sent_to(server)) == sorted(texts_of(60)[31:])


def test_rows_that_failed_by_no_fault_of_their_own_are_tried_by_the_next_run(
    server, tmp_path
) -> None:
    texts = texts_of(12, {5: None})
    file, out = table(tmp_path / "in.parquet", texts), tmp_path / "out"
    options = {"out": out, "column": "text", "batch_size": 3, "shard_rows": 6}
    server.always("row 4", status(500))
    talker = blocking(server, max_concurrency=1)
    report = run(talker, embed, file, **options)
    assert (report.failed, ids_in(out)) == (3, [0, 1, 2, 6, 7, 8, 9, 10, 11])
    assert {row: one["error"] for row, one in failed_in(out).items()} == {
        3: "InternalServerError",
        4: "InternalServerError",
        5: "InvalidRequestError",
    }
    assert "_part-00000.journal" in names_in(out)
    server.well("row 4")
    server.sent.clear()
    report = run(talker, embed, file, **options)
    assert (report.found, report.failed) == (10, 1)
    assert sent_to(server) == ["row 3", "row 4"]
    assert ids_in(out) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert list(failed_in(out)) == [5]
    assert not any(name.startswith("_part") for name in names_in(out))


def test_rows_that_stood_apart_go_together_when_they_are_tried_again(server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", texts_of(10)), tmp_path / "out"
    options = {"out": out, "column": "text"}
    for row in (1, 5, 6):
        server.once(f"row {row}", status(500))
    run(blocking(server), embed, file, **options, batch_size=1)
    assert ids_in(out) == [0, 2, 3, 4, 7, 8, 9]
    server.sent.clear()
    assert run(blocking(server), embed, file, **options).failed == 0
    assert [sent.texts for sent in server.posts] == [("row 1", "row 5", "row 6")]
    assert ids_in(out) == list(range(10))


def test_a_list_of_failures_goes_with_the_last_of_them(server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", texts_of(4)), tmp_path / "out"
    options = {"out": out, "column": "text", "batch_size": 2}
    server.once("row 3", status(500))
    assert run(blocking(server), embed, file, **options).failed == 2
    assert run(blocking(server), embed, file, **options).failed == 0
    assert names_in(out) == {"part-00000.parquet", "_job.journal"}


def test_a_shard_all_of_whose_rows_failed_makes_no_file(server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", [None, None, "a"]), tmp_path / "out"
    options = {"out": out, "column": "text", "shard_rows": 2}
    assert run(blocking(server), embed, file, **options).failed == 2
    assert names_in(out) == {"part-00001.parquet", "_job.journal", "_failed.jsonl"}
    assert run(blocking(server), embed, file, **options).found == 3


def test_another_job_is_refused_and_all_that_differs_is_named(server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", texts_of(3)), tmp_path / "out"
    run(blocking(server), embed, file, out=out, column="text")
    table(file, texts_of(4))
    server.matryoshka = True
    with pytest.raises(InvalidRequestError) as caught:
        run(blocking(server), embed, file, out=out, column="text", dimensions=2, shard_rows=7)
    said = str(caught.value)
    assert "the input is not what it was: in.parquet is new, gone or changed; " in said
    assert "dimensions was None and is 2" in said
    assert "shard_rows was 65536 and is 7" in said
    assert "dtype" not in said
    assert "model was" not in said


def test_files_in_another_order_are_another_job(server, tmp_path) -> None:
    files = [table(tmp_path / f"{name}.parquet", texts_of(1)) for name in "ab"]
    out = tmp_path / "out"
    run(blocking(server), embed, files, out=out, column="text")
    with pytest.raises(InvalidRequestError, match="its files stand in another order"):
        run(blocking(server), embed, files[::-1], out=out, column="text")


def test_requests_of_another_size_go_on_with_the_same_job(server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", texts_of(20)), tmp_path / "out"
    server.always("row 9", status(401))
    with pytest.raises(Exception, match="401"):
        run(blocking(server, max_concurrency=1), embed, file, out=out, column="text", batch_size=4)
    server.well("row 9")
    report = run(blocking(server), embed, file, out=out, column="text", batch_size=7)
    assert (report.found, ids_in(out)) == (8, list(range(20)))


def test_a_job_in_use_is_left_to_its_user(server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", ["a"]), tmp_path / "out"
    out.mkdir()
    with (
        Journal(out / "_job.journal"),
        pytest.raises(InvalidRequestError, match="is in use by another call or process"),
    ):
        run(blocking(server), embed, file, out=out, column="text")


def test_a_shard_s_file_that_was_taken_away_is_made_again(server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", texts_of(10)), tmp_path / "out"
    options = {"out": out, "column": "text", "shard_rows": 5}
    run(blocking(server), embed, file, **options)
    (out / "part-00001.parquet").unlink()
    assert run(blocking(server), embed, file, **options).found == 5
    assert ids_in(out) == list(range(10))


@pytest.mark.parametrize("size", [3, 2])
def test_rows_that_a_power_cut_took_are_sent_again(server, tmp_path, size) -> None:
    file, out = table(tmp_path / "in.parquet", texts_of(12)), tmp_path / "out"
    options = {"out": out, "column": "text", "batch_size": 3}
    server.always("row 11", status(401))
    with pytest.raises(Exception, match="401"):
        run(blocking(server, max_concurrency=1), embed, file, **options)
    spool = out / "_part-00000.rows"
    spool.write_bytes(spool.read_bytes()[:-100])
    server.well("row 11")
    server.sent.clear()
    options["batch_size"] = size
    assert run(blocking(server), embed, file, **options).found == 6
    assert sorted(sent_to(server)) == sorted(texts_of(12)[6:])
    assert ids_in(out) == list(range(12))


@pytest.mark.parametrize("shard", [5, 7, 100])
def test_rows_of_small_batches_are_put_together_and_written_in_groups(
    server, tmp_path, monkeypatch, shard
) -> None:
    monkeypatch.setattr(_job, "CHUNK_ROWS", 4)
    monkeypatch.setattr(_shards, "GROUP_BYTES", 100)
    whole = pa.table({"id": range(20), "text": texts_of(20)})
    with ipc.new_stream(tmp_path / "in.arrows", whole.schema) as stream:
        for batch in whole.to_batches(max_chunksize=3):
            stream.write_batch(batch)
    out = tmp_path / "out"
    options = {"out": out, "column": "text", "batch_size": 2, "shard_rows": shard}
    run(blocking(server, max_concurrency=1), embed, tmp_path / "in.arrows", **options)
    assert ids_in(out) == list(range(20))
    assert sent_to(server) == texts_of(20)
    assert parquet.read_metadata(out / "part-00000.parquet").num_row_groups > 1


class Killed(BaseException):
    """Takes the place of a kill."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_kill_at_any_step_on_the_disk_loses_nothing_and_doubles_nothing(
    tmp_path, monkeypatch, after
) -> None:
    """Every write of a job is its last one once; a single worker has one request to lose."""
    texts = texts_of(9, {2: None, 5: "odd"})
    wanted = [row for row in range(9) if row not in (2, 5)]
    file, steps = table(tmp_path / "in.parquet", texts), 0
    left = [0]
    for owner, name in (
        (Journal, "put"),
        (_shards.Spool, "add"),
        (Path, "replace"),
        (Path, "unlink"),
    ):
        real = getattr(owner, name)

        def step(*arguments, real=real, **options):
            left[0] -= 1
            if left[0] == 0 and not after:
                raise Killed
            result = real(*arguments, **options)
            if left[0] == 0:
                raise Killed
            return result

        monkeypatch.setattr(owner, name, step)
    while True:
        steps += 1
        server, out = FakeVLLM(refuses=refusing("odd")), tmp_path / str(steps)
        talker = blocking(server, max_concurrency=1)
        options = {"out": out, "column": "text", "batch_size": 2, "shard_rows": 4}
        left[0] = steps
        try:
            run(talker, embed, file, **options)
        except Killed:
            left[0] = 0
            report = run(talker, embed, file, **options)
            assert (report.failed, ids_in(out), list(failed_in(out))) == (2, wanted, [2, 5])
            counts = Counter(text for text in sent_to(server) if text not in ("odd", "a"))
            assert max(counts.values()) <= 2 + 2  # a refused request is sent in halves
            assert sum(count > 1 for count in counts.values()) <= 3
            assert not any(name.startswith("_part") for name in names_in(out))
        else:
            break
    assert steps > 15


def test_a_job_that_is_cancelled_goes_on(server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", texts_of(40)), tmp_path / "out"
    options = {"out": out, "column": "text", "batch_size": 1}

    async def cancelled() -> None:
        talker = Talker("asyncio", server, max_concurrency=2)
        with anyio.CancelScope() as scope:
            await embed(
                talker.client,
                file,
                **options,
                progress=lambda done, _: scope.cancel() if done > 20 else None,
            )

    anyio.run(cancelled)
    assert not out.joinpath("part-00000.parquet").exists()
    report = run(Talker("asyncio", server), embed, file, **options)
    assert report.found >= 20
    assert ids_in(out) == list(range(40))


def test_a_fault_of_ours_ends_the_job_and_is_raised_as_it_is(server, tmp_path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    file, out = table(tmp_path / "in.parquet", texts_of(500)), tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(_shards.Spool, "add", full)
        with pytest.raises(OSError, match="No space left"):
            run(blocking(server, max_concurrency=2), embed, file, out=out, column="text",
                batch_size=1)  # fmt: skip
    assert len(server.posts) <= 4
    run(blocking(server), embed, file, out=out, column="text")
    assert ids_in(out) == list(range(500))


fates = st.sampled_from(["well", "null", "odd", "out of order"])


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(fates, max_size=24),
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5)),
)
def test_rows_end_in_a_shard_or_among_the_failures_and_settled_ones_stay_settled(
    tmp_path_factory, rows, sizes
) -> None:
    folder = tmp_path_factory.mktemp("job")
    texts = [None if fate == "null" else f"{fate} {row}" for row, fate in enumerate(rows)]
    server = FakeVLLM(refuses=lambda text: f"{text}!" if text.startswith("odd") else None)
    for text in texts:
        if text and text.startswith("out"):
            server.always(text, status(500))
    batch, shard, most = sizes
    file, out = table(folder / "in.parquet", ["well", *texts]), folder / "out"
    options = {"out": out, "column": "text", "batch_size": batch, "shard_rows": shard}
    talker = blocking(server, max_concurrency=most)
    settled: set[int] = set()
    for healed in (False, True):
        before = len(server.sent)
        try:
            report = run(talker, embed, file, **options)
        except InternalServerError:  # eight in a row
            assert not healed
        else:
            kept, failed = ids_in(out), failed_in(out)
            assert sorted([*kept, *failed]) == list(range(len(rows) + 1))
            assert (kept, len(failed)) == (sorted(kept), report.failed)
            again = {text for sent in server.sent[before:] for text in sent.texts}
            assert not again & {f"well {row - 1}" for row in settled}
            settled = set(kept)
        for text in filter(None, texts):
            server._always.pop(text, None)
    left = {row + 1 for row, fate in enumerate(rows) if fate in ("null", "odd")}
    assert left <= set(failed_in(out)) | (set() if rows else left)


JOB = """
    import sys
    from vllm_modalities import Client
    from vllm_modalities.bulk import embed

    file, out, url = sys.argv[1:]
    with Client(url, max_concurrency=4) as client:
        embed(client, file, out=out, column="text", batch_size=8, shard_rows=400)
"""


def test_killed_three_times_it_is_complete_and_sends_at_most_a_batch_a_worker_again(
    tmp_path,
) -> None:
    texts = texts_of(2500)
    file, out = table(tmp_path / "in.parquet", texts), tmp_path / "out"
    received: list[str] = []
    with simulate(tasks=["embed"], slots=4, seconds_per_request=0.004) as servers:
        for kill in range(3):
            process = started(file, out, servers.url)
            mark = servers.count + 40 + 23 * kill
            while servers.count < mark:
                assert process.poll() is None
            process.kill()
            process.wait()
            received += seen(servers)
        assert started(file, out, servers.url).wait() == 0
        received += seen(servers)
    counts = Counter(received)
    assert set(counts) == set(texts)
    assert len(received) - len(texts) <= 3 * 4 * 8
    assert ids_in(out) == list(range(2500))


def started(file: Path, out: Path, url: str) -> Popen[bytes]:
    return Popen([sys.executable, "-c", textwrap.dedent(JOB), str(file), str(out), url])


def seen(servers) -> list[str]:
    """The texts that came since the last time."""
    found = [text for one in servers.requests for text in one.fields.get("input", ())]
    servers._app.requests.clear()
    return found
