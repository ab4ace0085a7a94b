"""A column into vectors: what is kept, what fails, and what is refused before anything is sent."""

import json

import _bulk_jobs
import numpy as np
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
from _script import FakeVLLM, status, vector_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pyarrow import parquet

from vllm_modalities import (
    AuthenticationError,
    InternalServerError,
    InvalidRequestError,
    ModelUsageWarning,
)
from vllm_modalities.bulk import BulkReport, _job, embed
from vllm_modalities.bulk._embed import vectors_as

PATH = "/v1/embeddings"


@pytest.fixture
def server() -> FakeVLLM:
    return FakeVLLM()


def vectors_in(out) -> np.ndarray:
    return np.array([row["embedding"] for row in rows_in(out)], np.float32)


def expected(texts) -> np.ndarray:
    return np.stack([vector_of(text, 4) for text in texts]).astype(np.float32)


def test_every_row_has_its_vector_beside_its_own_columns_in_order(talk, server, tmp_path) -> None:
    texts = texts_of(50)
    file, out = table(tmp_path / "in.parquet", texts), tmp_path / "deep" / "out"
    report = run(talk(server), embed, file, out=out, column="text", batch_size=3, shard_rows=20)
    assert (report.rows, report.done, report.failed, report.found) == (50, 50, 0, 0)
    assert [(row["id"], row["text"]) for row in rows_in(out)] == list(enumerate(texts))
    np.testing.assert_array_equal(vectors_in(out), expected(texts))
    shards = [f"part-{number:05}.parquet" for number in range(3)]
    assert names_in(out) == {*shards, "_job.journal"}
    assert [parquet.read_metadata(out / shard).num_rows for shard in shards] == [20, 20, 10]
    assert parquet.read_schema(out / shards[0]).field("embedding").type == pa.list_(pa.float32(), 4)
    assert sorted(sent_to(server)) == sorted(texts)
    assert max(len(sent.body["input"]) for sent in server.asked(PATH)) == 3


def test_vectors_come_as_raw_bytes(server, tmp_path) -> None:
    run(blocking(server), embed, table(tmp_path / "in.parquet", ["a"]), out=tmp_path / "out",
        column="text")  # fmt: skip
    (sent,) = server.asked(PATH)
    assert sent.body["encoding_format"] != "float"


def test_float16_is_kept_in_half_the_room(server, tmp_path) -> None:
    texts = texts_of(5)
    file, out = table(tmp_path / "in.parquet", texts), tmp_path / "out"
    run(blocking(server), embed, file, out=out, column="text", dtype="float16", into="v")
    found = parquet.read_table(out)["v"]
    assert found.type == pa.list_(pa.float16(), 4)
    np.testing.assert_array_equal(np.array(found.to_pylist()), expected(texts).astype(np.float16))


def test_int8_has_a_column_of_scales_beside_it(server, tmp_path) -> None:
    texts = texts_of(30)
    file, out = table(tmp_path / "in.parquet", texts), tmp_path / "out"
    run(blocking(server), embed, file, out=out, column="text", dtype="int8")
    found = parquet.read_table(out)
    assert found["embedding"].type == pa.list_(pa.int8(), 4)
    assert found["embedding_scale"].type == pa.float32()
    levels = np.array(found["embedding"].to_pylist())
    scales = found["embedding_scale"].to_numpy()[:, np.newaxis]
    assert np.abs(levels).max(axis=1).tolist() == [127] * 30
    assert (np.abs(levels * scales - expected(texts)) <= scales * 0.5001).all()


numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(
    vectors=arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=numbers)
)
def test_int8_times_its_scale_is_within_half_a_step_of_any_vector(vectors) -> None:
    columns = vectors_as("int8", "v", vectors)
    levels = np.array(columns["v"].to_pylist(), np.float64)
    scales = columns["v_scale"].to_numpy().astype(np.float64)[:, np.newaxis]
    assert np.abs(levels).max() <= 127
    # Numbers this small have few digits of their own.
    assert (np.abs(levels * scales - vectors) <= scales * 0.5001 + 1e-42).all()


def test_a_number_that_half_precision_cannot_hold_fails_its_row(server, tmp_path) -> None:
    server.vector = lambda text, width: np.full(width, 1e6 if text == "row 1" else 1.0)
    file, out = table(tmp_path / "in.parquet", texts_of(3)), tmp_path / "out"
    report = run(blocking(server), embed, file, out=out, column="text", dtype="float16")
    assert (report.failed, [row["id"] for row in rows_in(out)]) == (1, [0, 2])
    assert "a number of the row's embedding is too large for float16" in failed_in(out)[1]["reason"]


def test_rows_without_text_and_rows_that_are_refused_are_named_and_the_others_kept(
    talk, server, tmp_path
) -> None:
    server.refuses = refusing("odd")
    texts = texts_of(40, {0: None, 7: "odd", 8: None, 39: "odd"})
    file, out = table(tmp_path / "in.parquet", texts), tmp_path / "out"
    report = run(talk(server, max_concurrency=1), embed, file, out=out, column="text", batch_size=8)
    assert (report.failed, report.done) == (4, 36)
    assert [row["id"] for row in rows_in(out)] == [n for n in range(40) if n not in (0, 7, 8, 39)]
    failed = failed_in(out)
    assert {row: one["error"] for row, one in failed.items()} == {
        0: "InvalidRequestError",
        7: "BadRequestError",
        8: "InvalidRequestError",
        39: "BadRequestError",
    }
    assert failed[8]["reason"] == "the value of 'text' is null"
    assert "odd is odd" in failed[39]["reason"]
    assert "_part-00000.journal" not in names_in(out)  # all are settled
    assert run(talk(server), embed, file, out=out, column="text").found == 40


def test_an_empty_text_is_a_text(server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", ["", "a"]), tmp_path / "out"
    assert run(blocking(server), embed, file, out=out, column="text").failed == 0


def test_a_text_that_is_too_long_is_named_by_its_row_with_both_lengths(server, tmp_path) -> None:
    long = "word " * 9
    server.refuses = lambda text: (
        "This model's maximum context length is 8 tokens. However, your request contains 9 input"
        " tokens."
        if text == long
        else None
    )
    server.routes = ("/v1/embeddings", "/tokenize")
    file, out = table(tmp_path / "in.parquet", texts_of(20, {13: long, 3: None})), tmp_path / "out"
    talker = blocking(server, max_concurrency=1)
    run(talker, embed, file, out=out, column="text", batch_size=10)
    assert "item 13 of inputs has 9 tokens, and 'm' reads 8" in failed_in(out)[13]["reason"]


def test_long_texts_go_out_in_fewer_rows_a_request(server, tmp_path) -> None:
    texts = [f"{row} " + "word " * 30_000 for row in range(4)]
    file, out = table(tmp_path / "in.parquet", texts), tmp_path / "out"
    run(blocking(server), embed, file, out=out, column="text")
    assert sorted(len(sent.body["input"]) for sent in server.asked(PATH)) == [1, 1, 1, 1]


def test_categories_are_texts(server, tmp_path) -> None:
    column = pa.array(["a", "b", "a"]).dictionary_encode()
    parquet.write_table(pa.table({"text": column}), tmp_path / "in.parquet")
    run(blocking(server), embed, tmp_path / "in.parquet", out=tmp_path / "out", column="text")
    assert [row["text"] for row in rows_in(tmp_path / "out")] == ["a", "b", "a"]


def test_a_table_without_rows_makes_nothing(server, tmp_path) -> None:
    file, out = table(tmp_path / "in.parquet", []), tmp_path / "out"
    report = run(blocking(server), embed, file, out=out, column="text")
    assert (report.rows, report.failed, rows_in(out)) == (0, 0, [])
    assert server.posts == []


def test_the_options_reach_the_server(server, tmp_path) -> None:
    server.matryoshka = True
    file, out = table(tmp_path / "in.parquet", ["a"]), tmp_path / "out"
    talker = blocking(server)
    options = {
        "dimensions": 2,
        "normalize": False,
        "truncate": "end",
        "extra_body": {"priority": 3},
    }
    run(talker, embed, file, out=out, column="text", model="m", **options)
    sent = server.asked(PATH)[-1].body
    assert (sent["dimensions"], sent["truncate_prompt_tokens"], sent["priority"]) == (2, -1, 3)
    assert sent["use_activation"] is False
    assert len(rows_in(out)[0]["embedding"]) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"column": "words"}, "the input has no column 'words'; it has id, text"),
        ({"column": "id"}, "the column 'id' holds int64, and must hold texts"),
        ({"into": "id"}, "the input has a column 'id' already"),
        ({"into": "x", "dtype": "int8"}, "the input has a column 'x_scale' already"),
        ({"dtype": "int4"}, "dtype must be 'float32' or 'float16' or 'int8'"),
        ({"truncate": "middle"}, "truncate must be"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"shard_rows": 0}, "shard_rows must be at least 1"),
    ],
)
def test_what_is_asked_wrongly_is_refused_before_anything_is_sent(
    server, tmp_path, options, said
) -> None:
    columns = {"id": [1], "text": ["a"], "x_scale": [1]}
    if said.endswith("id, text"):
        del columns["x_scale"]
    parquet.write_table(pa.table(columns), tmp_path / "in.parquet")
    with pytest.raises(InvalidRequestError) as caught:
        run(
            blocking(server),
            embed,
            tmp_path / "in.parquet",
            **{"out": tmp_path / "out", "column": "text", **options},
        )
    assert said in str(caught.value)
    assert server.posts == []
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_files_is_left_alone(server, tmp_path) -> None:
    file = table(tmp_path / "in.parquet", ["a"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidRequestError, match="holds files that are no job's"):
        run(blocking(server), embed, file, out=tmp_path / "out", column="text")
    assert names_in(tmp_path / "out") == {"thesis.txt"}
    with pytest.raises(InvalidRequestError, match="cannot be written to: "):
        run(blocking(server), embed, file, out=file, column="text")
    assert server.posts == []


def test_progress_is_told_in_rows(talk, server, tmp_path) -> None:
    told = []
    file = table(tmp_path / "in.parquet", texts_of(5))
    talker = talk(server, max_concurrency=1)
    options = {"column": "text", "batch_size": 2, "progress": lambda *done: told.append(done)}
    run(talker, embed, file, out=tmp_path / "out", **options)
    assert told == [(2, 5), (4, 5), (5, 5)]
    told.clear()
    run(talker, embed, file, out=tmp_path / "out", **options)
    assert told == [(5, 5)]


def test_a_wrong_key_ends_the_job_at_once_with_its_own_error(talk, server, tmp_path) -> None:
    server.always(PATH, status(401))
    file = table(tmp_path / "in.parquet", texts_of(5000))
    with pytest.raises(AuthenticationError):
        run(talk(server, max_concurrency=2), embed, file, out=tmp_path / "out", column="text",
            batch_size=1)  # fmt: skip
    assert len(server.posts) <= 4


def test_servers_that_fail_whatever_is_sent_end_the_job(talk, server, tmp_path) -> None:
    server.always(PATH, status(500))
    file = table(tmp_path / "in.parquet", texts_of(500))
    with pytest.raises(InternalServerError):
        run(talk(server, max_concurrency=2, max_retries=0), embed, file, out=tmp_path / "out",
            column="text", batch_size=1)  # fmt: skip
    assert len(server.posts) < 20


def test_what_is_refused_from_the_first_row_on_is_taken_for_the_job_s_own_fault(
    server, tmp_path
) -> None:
    server.always(PATH, status(400))
    file, out = table(tmp_path / "in.parquet", texts_of(500)), tmp_path / "out"
    with pytest.raises(Exception, match="400"):
        run(blocking(server, max_concurrency=1), embed, file, out=out, column="text", batch_size=1)
    server.well(PATH)
    assert run(blocking(server), embed, file, out=out, column="text").failed == 0


@pytest.mark.parametrize(("most", "said"), [(20, "input_type"), (0, "others")])
def test_warnings_are_told_once_with_how_often_and_are_bounded(
    server, tmp_path, monkeypatch, most, said
) -> None:
    monkeypatch.setattr(_job, "MOST_WARNINGS", most)
    server.models[0]["root"] = "intfloat/multilingual-e5-small"
    file = table(tmp_path / "in.parquet", texts_of(3))
    with pytest.warns(ModelUsageWarning) as caught:
        report = run(blocking(server), embed, file, out=tmp_path / "out", column="text",
                     batch_size=1)  # fmt: skip
    (warning,) = report.warnings
    assert said in warning
    assert warning.endswith("(3 times)")
    assert len(caught) == 1
    assert caught[0].filename == _bulk_jobs.__file__


def test_an_option_that_no_row_could_have_ends_the_job(talk, server, tmp_path) -> None:
    file = table(tmp_path / "in.parquet", [None, *texts_of(20)])
    with pytest.raises(InvalidRequestError, match="dimensions=2: "):
        run(talk(server), embed, file, out=tmp_path / "out", column="text", batch_size=2,
            dimensions=2)  # fmt: skip
    assert failed_in(tmp_path / "out") == {}


def test_a_report_counts_what_this_run_did(tmp_path) -> None:
    report = BulkReport(
        tmp_path, rows=10, failed=2, partial=0, found=4, seconds=3.0, warnings=("odd",)
    )
    assert (report.done, report.rows_per_second) == (8, 2.0)
    assert json.loads(json.dumps(report.to_dict()))["rows_per_second"] == 2.0
    assert (
        BulkReport(tmp_path, rows=1, failed=0, partial=0, found=0, seconds=0).rows_per_second == 0.0
    )
