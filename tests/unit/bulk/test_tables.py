"""Which files a source means, and the rows in each format."""

import gzip
import json
import os
import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, feather, ipc, parquet

from vllm_modalities import InvalidRequestError
from vllm_modalities.bulk import _formats
from vllm_modalities.bulk._paths import paths_in
from vllm_modalities.bulk._tables import files_of, table_of

ROWS = [{"id": 1, "text": "one"}, {"id": 2, "text": None}, {"id": 3, "text": "three, and\nmore"}]
TABLE = pa.Table.from_pylist(ROWS)


def streamed(file: Path) -> None:
    with ipc.new_stream(file, TABLE.schema) as stream:
        for batch in TABLE.to_batches(max_chunksize=2):
            stream.write_batch(batch)


def lines(file: Path) -> None:
    text = "\n\n".join(map(json.dumps, ROWS))
    opened = gzip.open if file.suffix.lower() == ".gz" else open
    with opened(file, "wt") as written:
        written.write(f"{text}\n")


WRITERS = {
    "t.parquet": lambda file: parquet.write_table(TABLE, file, row_group_size=2),
    "t.arrow": lambda file: feather.write_feather(TABLE, str(file), compression="lz4"),
    "t.arrows": streamed,
    "t.jsonl": lines,
    "t.ndjson": lines,
    "t.jsonl.gz": lines,
    "t.JSONL.GZ": lines,
}


def paths_of(file: Path, _: object) -> object:
    return rows_of(paths_in(file, None, [".parquet"]))


def rows_of(found) -> list[dict]:
    return pa.Table.from_batches(found.batches(), found.schema).to_pylist()


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_rows(tmp_path, name) -> None:
    WRITERS[name](tmp_path / name)
    found = table_of(tmp_path / name, ["text"])
    assert (found.rows, rows_of(found)) == (3, ROWS)


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ","), ("t.TSV", "\t"), ("t.csv.gz", ",")])
def test_texts_of_a_csv_file_are_texts_though_they_look_like_numbers(tmp_path, name, mark) -> None:
    columns = {"id": [1, 2], "text": ["007", 'with "marks",\tand\nmore']}
    options = csv.WriteOptions(delimiter=mark)
    with pa.output_stream(tmp_path / name) as file:
        csv.write_csv(pa.table(columns), file, options)
    found = table_of(tmp_path / name, ["text"])
    assert rows_of(found) == pa.table(columns).to_pylist()
    assert found.schema.field("id").type == pa.int64()


def test_a_json_column_is_what_all_its_values_are(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(_formats, "READ_BYTES", 1)  # a line at a time
    values = [{"a": None}, {"a": 1}, {"a": 2.5, "b": ["x"]}, {"b": []}]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, values)) + "\n\n")
    found = table_of(tmp_path / "t.jsonl", [])
    assert found.schema == pa.schema({"a": pa.float64(), "b": pa.list_(pa.string())})
    assert [row["a"] for row in rows_of(found)] == [None, 1.0, 2.5, None]
    assert [row["b"] for row in rows_of(found)] == [None, None, ["x"], []]


# What stands in a column's first rows, and in a row beyond the MiB that pyarrow goes by.
LATE = {
    "a number after nothing": ("", "7", pa.int64()),
    "a fraction after numbers": ("7", "1.5", pa.float64()),
    "a word after nothing": ("", "n/a?", pa.string()),
    "a word after numbers": ("7", "none yet", pa.string()),
    "a time after days": ("2024-01-01", "2024-01-01 10:00:00.5", pa.string()),
    "no number at all": ("", "", pa.null()),
}


@pytest.mark.parametrize("name", LATE)
def test_a_csv_column_is_what_all_its_values_are(tmp_path, name) -> None:
    first, last, kind = LATE[name]
    long = "many words " * 20
    written = [f'{value},"{long}\n{place}"' for place, value in enumerate([first] * 6000 + [last])]
    (tmp_path / "t.csv").write_text("\n".join(["x,text", *written]))
    found = table_of(tmp_path / "t.csv", ["text"])
    assert (found.rows, found.schema) == (6001, pa.schema({"x": kind, "text": pa.string()}))
    rows = rows_of(found)
    assert rows[-1]["text"] == f"{long}\n6000"
    if kind == pa.string():
        assert (rows[0]["x"], rows[-1]["x"]) == (first, last)


def test_a_csv_column_may_be_guessed_otherwise_in_another_file(tmp_path) -> None:
    (tmp_path / "1.csv").write_text("zip,n\n01234,1\n")
    (tmp_path / "2.csv").write_text("n,zip\n2.5,AB12\n")
    found = table_of(tmp_path, [])
    assert rows_of(found) == [{"zip": "01234", "n": 1.0}, {"zip": "AB12", "n": 2.5}]


@pytest.mark.parametrize(
    "value", ["2024-01-01", "2024-01-01T10:00:00+02:00", ["2024-01-01"], {"at": ["2024-01-01"]}]
)
def test_texts_in_json_stay_texts_though_they_look_like_times(tmp_path, value) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps({"a": value}))
    assert rows_of(table_of(tmp_path / "t.jsonl", [])) == [{"a": value}]


def test_a_key_that_a_json_file_lacks_is_null_in_its_rows(tmp_path) -> None:
    for name, row in {"1": {"a": 1}, "2": {"b": "x", "a": 2}, "3": None}.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) if row else "")
    assert rows_of(table_of(tmp_path, [])) == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


def test_columns_may_stand_in_another_order_in_another_file(tmp_path) -> None:
    parquet.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"b": ["y"], "a": [2]}), tmp_path / "2.parquet")
    assert rows_of(table_of(tmp_path, [])) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.parametrize("name", ["t.csv", "t.arrow"])
def test_two_columns_of_one_name_are_refused(tmp_path, name) -> None:
    twice = pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], ["a", "a"])
    with pa.output_stream(tmp_path / name) as file:
        if name == "t.csv":
            csv.write_csv(twice, file)
        else:
            with ipc.new_file(file, twice.schema) as written:
                written.write_table(twice)
    with pytest.raises(InvalidRequestError, match="two columns are called 'a'"):
        table_of(tmp_path / name, ["a"])


@pytest.mark.parametrize("source", [table_of, paths_of])
def test_a_name_that_is_not_utf_8_is_refused_with_the_file(tmp_path, source) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.parquet")
    file.touch()
    with pytest.raises(InvalidRequestError, match="cannot be read: 'utf-8' codec"):
        source(file, [])


def test_an_empty_file_of_lines_has_no_columns(tmp_path) -> None:
    (tmp_path / "t.jsonl").write_text("\n")
    found = table_of(tmp_path / "t.jsonl", [])
    assert (found.rows, found.schema.names, rows_of(found)) == (0, [], [])


def test_files_follow_one_another_and_whole_numbers_go_with_fractions(tmp_path) -> None:
    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"a": [0.5]}), tmp_path / "2.parquet")
    found = table_of(tmp_path, [])
    assert (found.rows, rows_of(found)) == (3, [{"a": 1.0}, {"a": 2.0}, {"a": 0.5}])
    assert [name for name, _, _ in found.identity()] == ["1.parquet", "2.parquet"]


@pytest.mark.parametrize(
    ("second", "said"),
    [({"b": [1]}, "has the columns b, and"), ({"a": ["x"]}, "has not the columns of")],
)
def test_files_of_other_columns_are_refused_by_name(tmp_path, second, said) -> None:
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table(second), tmp_path / "2.parquet")
    with pytest.raises(InvalidRequestError, match=rf"2\.parquet {said}"):
        table_of([tmp_path / "1.parquet", tmp_path / "2.parquet"], [])


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl", "t.arrow"])
def test_a_file_that_is_something_else_is_named(tmp_path, name) -> None:
    (tmp_path / name).write_bytes(b"" if name == "t.csv" else b"{nothing like it")
    with pytest.raises(InvalidRequestError, match=rf"t\.{name[2:]} cannot be read: "):
        table_of(tmp_path / name, [])


@pytest.mark.parametrize("fault", [lambda packed: packed[:-20], lambda packed: packed[:-20] * 2])
@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz"])
def test_a_packed_file_that_is_cut_or_damaged_is_named(tmp_path, name, fault) -> None:
    packed = gzip.compress("\n".join(f'{{"a": {n * n}}}' for n in range(999)).encode())
    (tmp_path / name).write_bytes(fault(packed))
    with pytest.raises(InvalidRequestError, match=rf"{name} cannot be read: "):
        table_of(tmp_path / name, [])


def test_a_file_of_no_known_format_is_refused_with_those_that_are(tmp_path) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"")
    with pytest.raises(InvalidRequestError, match=r"no known format: none of \.parquet"):
        table_of(tmp_path / "t.xlsx", [])


def test_folders_patterns_and_files_are_taken_once_each(tmp_path) -> None:
    (tmp_path / "deeper").mkdir()
    kept = [tmp_path / "a.csv", tmp_path / "deeper" / "b.CSV"]
    for file in (*kept, tmp_path / "_c.csv", tmp_path / ".d.csv", tmp_path / "e.txt"):
        file.touch()
    (tmp_path / "f.csv").mkdir()
    assert files_of(tmp_path, [".csv"]) == tuple(kept)
    assert files_of(str(tmp_path / "*.csv"), [".csv"]) == (kept[0],)
    assert files_of([str(kept[1]), tmp_path, tmp_path / "*"], [".csv"]) == (kept[1], kept[0])
    assert files_of(tmp_path / "e.txt", [".csv"]) == (tmp_path / "e.txt",)  # since it is named


def test_what_another_job_wrote_is_read_only_where_it_is_asked_for(tmp_path) -> None:
    (tmp_path / "out").mkdir()
    for name in ("in.csv", "out/part.csv", "out/_job.journal"):
        (tmp_path / name).touch()
    assert files_of(tmp_path, [".csv"]) == (tmp_path / "in.csv",)
    assert files_of(tmp_path / "out", [".csv"]) == (tmp_path / "out" / "part.csv",)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere.csv", "nowhere.csv: no such file or folder"),
        ("*.csv", r"\*\.csv holds no file that ends in \.csv"),
        ((), r"the source holds no file that ends in \.csv"),
    ],
)
def test_a_source_without_files_is_refused(tmp_path, monkeypatch, source, said) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequestError, match=said):
        files_of(source, [".csv"])


def test_a_saved_dataset_is_read_in_its_own_order(tmp_path) -> None:
    files = ["data-00001-of-00002.arrow", "data-00000-of-00002.arrow"]
    for file in files:
        streamed(tmp_path / file)
    streamed(tmp_path / "cache-0123.arrow")
    state = {"_data_files": [{"filename": file} for file in files], "_split": "train"}
    (tmp_path / "state.json").write_text(json.dumps(state))
    found = table_of(tmp_path, ["text"])
    assert [file.name for file in found.files] == files
    assert rows_of(found) == ROWS * 2


def test_of_a_dataset_with_splits_one_has_to_be_named(tmp_path) -> None:
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    said = f"the splits train, test; give one of these, such as {tmp_path / 'train'}"
    with pytest.raises(InvalidRequestError, match=re.escape(said)):
        table_of(tmp_path, [])
