"""Columns of every type that Arrow has: kept as they are, or refused before anything is sent."""

import datetime as dt
import decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from _bulk_jobs import blocking, rows_in, run, texts_of
from _script import FakeVLLM, status
from pyarrow import ipc

from vllm_modalities import InvalidRequestError
from vllm_modalities.bulk import embed, rerank

DAY = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)
VALUES = {
    "null": (pa.null(), None),
    "bool": (pa.bool_(), True),
    "uint8": (pa.uint8(), 7),
    "half": (pa.float16(), np.float16(0.5)),
    "decimal": (pa.decimal128(5, 2), decimal.Decimal("1.25")),
    "date": (pa.date32(), DAY.date()),
    "time": (pa.time64("us"), DAY.time()),
    "timestamp": (pa.timestamp("us", "UTC"), DAY),
    "duration": (pa.duration("us"), dt.timedelta(seconds=1)),
    "large text": (pa.large_string(), "x"),
    "text view": (pa.string_view(), "x"),
    "bytes": (pa.binary(2), b"xy"),
    "bytes view": (pa.binary_view(), b"xy"),
    "list": (pa.list_(pa.string()), ["x", None]),
    "list of views": (pa.large_list(pa.string_view()), ["x", None]),
    "fixed list": (pa.list_(pa.float32(), 2), [1.0, 2.0]),
    "struct": (pa.struct({"a": pa.list_(pa.struct({"b": pa.string_view()}))}), {"a": [{"b": "x"}]}),
    "map": (pa.map_(pa.string(), pa.int32()), [("a", 1)]),
}
UNKEPT = {
    "interval": pa.array([(1, 2, 3)] * 9, pa.month_day_nano_interval()),
    "union": pa.UnionArray.from_sparse(pa.array([0] * 9, pa.int8()), [pa.array([1] * 9)]),
}


@pytest.fixture
def server() -> FakeVLLM:
    return FakeVLLM()


def written(file: Path, column: pa.Array) -> Path:
    rows = pa.table({"text": texts_of(9), "other": column})
    with ipc.new_file(file, rows.schema) as opened:
        opened.write_table(rows, max_chunksize=4)
    return file


def column_of(name: str) -> pa.Array:
    kind, value = VALUES[name]
    # pyarrow 17 cannot read null among lists of fixed size back.
    return pa.array([value] * 8 + [value if name == "fixed list" else None], kind)


def can_read(kind: pa.DataType) -> bool:
    """Whether this pyarrow turns views into what they show; 17 does not."""
    try:
        pa.array(["x"], pa.string_view()).cast(pa.large_string())
    except pa.ArrowNotImplementedError:
        return "view" not in str(kind)
    return True


def refuse_unsent(server: FakeVLLM, file: Path, out: Path) -> None:
    with pytest.raises(InvalidRequestError, match="Unsupported cast from"):
        run(blocking(server), embed, file, out=out, column="text")
    assert server.posts == []


@pytest.mark.parametrize("name", VALUES)
def test_a_column_of_every_type_is_kept(server: FakeVLLM, tmp_path: Path, name: str) -> None:
    column, out = column_of(name), tmp_path / "out"
    file = written(tmp_path / "in.arrow", column)
    if not can_read(column.type):
        refuse_unsent(server, file, out)
        return
    server.once("row 4", status(503))
    options = {"out": out, "column": "text", "batch_size": 2, "shard_rows": 7}
    assert run(blocking(server), embed, file, **options).failed == 2
    assert run(blocking(server), embed, file, **options).failed == 0
    assert [row["other"] for row in rows_in(out)] == column.to_pylist()


def test_words_that_repeat_are_kept_whatever_they_are_kept_as(server, tmp_path) -> None:
    for place, kind in enumerate((pa.string(), pa.large_string(), pa.string_view())):
        words = pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 0] * 3, pa.uint32()), pa.array(["x", "y"], kind)
        )
        file, out = written(tmp_path / f"{place}.arrow", words), tmp_path / str(place)
        if can_read(kind):
            run(blocking(server), embed, file, out=out, column="text")
            assert [row["other"] for row in rows_in(out)] == ["x", "y", "x"] * 3


@pytest.mark.parametrize("name", UNKEPT)
def test_a_column_that_cannot_be_kept_is_refused_before_anything_is_sent(
    server: FakeVLLM, tmp_path: Path, name: str
) -> None:
    file = written(tmp_path / "in.arrow", UNKEPT[name])
    with pytest.raises(InvalidRequestError, match=r"the column 'other' holds .* cannot keep"):
        run(blocking(server), embed, file, out=tmp_path / "out", column="text")
    assert server.posts == []


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_texts_are_texts_whatever_they_are_kept_as(server, tmp_path, kind) -> None:
    ranker = FakeVLLM("cross-encoder", score=lambda query, document: 0.5)
    columns = {"q": pa.array(["a"], kind), "d": pa.array([["b", "c"]], pa.large_list(kind))}
    texts, file = pa.table(columns), tmp_path / "in.arrow"
    with ipc.new_file(file, texts.schema) as opened:
        opened.write_table(texts)
    if can_read(kind):
        run(blocking(server), embed, file, out=tmp_path / "v", column="q")
        run(blocking(ranker), rerank, file, out=tmp_path / "r", query="q", documents="d")
        assert [len(rows_in(tmp_path / name)) for name in "vr"] == [1, 1]
