"""Formats of tables: what columns a file has, how many rows, and these a batch at a time."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from pyarrow import csv, ipc, json, parquet

READ_ROWS = 1024  # of a Parquet file, at once
READ_BYTES = 1 << 22  # of a file, at once, if a row is no longer
MAGIC = b"ARROW1"  # of an Arrow file; an Arrow stream has none

Batches: TypeAlias = Iterator[Any]
"""Of `pyarrow.RecordBatch`."""
Change: TypeAlias = Callable[[Any], Any]
"""Of a `pyarrow.DataType`."""


@dataclass(frozen=True, slots=True)
class Format:
    """How files of one kind are read.

    Attributes:
        scan: Given columns that are texts whatever they look like: the schema, and the rows.
            What has neither written down is read for it, so its faults are found here.
        read: The rows, given the schema that they are to have.
    """

    scan: Callable[[Path, Sequence[str]], tuple[Any, int]]
    read: Callable[[Path, Any], Batches]


def merged(one: pa.Schema, other: pa.Schema) -> pa.Schema:
    """One schema for both; a column of whole numbers in one and of fractions in the other has
    fractions.

    Raises:
        pyarrow.ArrowException: A column has two types that do not go together.
    """
    return pa.unify_schemas([one, other], promote_options="permissive")


def merged_or_texts(one: pa.Schema, other: pa.Schema) -> pa.Schema:
    """The same for columns that are guessed from texts: two types that do not go together are
    texts after all.
    """
    fields = []
    for mine, theirs in zip(one, other, strict=True):
        try:
            fields += merged(pa.schema([mine]), pa.schema([theirs]))
        except pa.ArrowException:
            fields.append(pa.field(mine.name, pa.string()))
    return pa.schema(fields)


def with_types(schema: pa.Schema, change: Change) -> pa.Schema:
    """The schema with each type as `change` makes it, those inside of others too."""
    return pa.schema([field.with_type(_changed(field.type, change)) for field in schema])


def _changed(kind: pa.DataType, change: Change) -> pa.DataType:
    types = pa.types
    if types.is_struct(kind):
        return pa.struct([part.with_type(_changed(part.type, change)) for part in kind])
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _changed(kind.value_type, change), kind.ordered)
    if types.is_list(kind) or types.is_large_list(kind):
        made = pa.list_ if types.is_list(kind) else pa.large_list
        return made(kind.value_field.with_type(_changed(kind.value_type, change)))
    return change(kind)


def _scan_parquet(file: Path, _: Sequence[str]) -> tuple[pa.Schema, int]:
    with parquet.ParquetFile(file) as opened:
        return opened.schema_arrow, opened.metadata.num_rows


def _read_parquet(file: Path, _: pa.Schema) -> Batches:
    # Without a buffer pyarrow reads a row group's columns whole, and with one a page of each.
    with parquet.ParquetFile(file, buffer_size=READ_BYTES) as opened:
        for number in range(opened.num_row_groups):
            group = opened.metadata.row_group(number)
            fit = READ_BYTES * group.num_rows // max(group.total_byte_size, 1)
            yield from opened.iter_batches(min(max(fit, 1), READ_ROWS), [number])


def _opened_csv(file: Path, types: Mapping[str, pa.DataType]) -> pa.RecordBatchReader:
    delimiter = "\t" if ".tsv" in file.name.lower() else ","
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    return csv.open_csv(
        file, parse_options=parse, convert_options=csv.ConvertOptions(column_types=types)
    )


def _scan_csv(file: Path, texts: Sequence[str]) -> tuple[pa.Schema, int]:
    """A column is what all its values are; pyarrow goes by the first MiB of them."""
    with _opened_csv(file, {}) as reader:
        names = reader.schema.names
    begun = [(name, pa.string() if name in texts else pa.null()) for name in names]
    rows, schema = 0, pa.schema(begun)
    with _opened_csv(file, dict.fromkeys(names, pa.string())) as reader:
        for batch in reader:
            schema, rows = merged_or_texts(schema, _guessed(batch, texts)), rows + len(batch)
    return schema, rows


def _guessed(batch: pa.RecordBatch, texts: Sequence[str]) -> pa.Schema:
    """What pyarrow takes the texts of a CSV file for."""
    part = BytesIO()
    csv.write_csv(batch, part)
    types = csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string()))
    parse = csv.ParseOptions(newlines_in_values=True)
    whole: pa.Table = csv.read_csv(
        BytesIO(part.getvalue()), parse_options=parse, convert_options=types
    )
    return whole.schema


def _read_csv(file: Path, schema: pa.Schema) -> Batches:
    with _opened_csv(file, dict(zip(schema.names, schema.types, strict=True))) as reader:
        yield from reader


def _json_tables(file: Path, options: json.ParseOptions | None) -> Iterator[pa.Table]:
    with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as opened:
        while lines := opened.readlines(READ_BYTES):
            if objects := [line for line in lines if line.strip()]:
                whole = json.ReadOptions(block_size=sum(map(len, objects)) + 1)
                yield json.read_json(BytesIO(b"".join(objects)), whole, options)


def _scan_json(file: Path, _: Sequence[str]) -> tuple[pa.Schema, int]:
    """A column is what all its values are, also those far down."""
    found = [(with_types(table.schema, _no_time), len(table)) for table in _json_tables(file, None)]
    schema = reduce(merged, [one for one, _ in found], pa.schema([]))
    return schema, sum(rows for _, rows in found)


def _no_time(kind: pa.DataType) -> pa.DataType:
    """JSON has no times; a text that pyarrow takes for one stays as it is written, zone and all."""
    return pa.string() if pa.types.is_timestamp(kind) else kind


def _read_json(file: Path, schema: pa.Schema) -> Batches:
    for table in _json_tables(file, json.ParseOptions(explicit_schema=schema)):
        yield from table.to_batches()


def _opened_arrow(file: Path) -> tuple[pa.Schema, Batches]:
    source = pa.OSFile(str(file))  # a mapped file would count as this process's memory
    is_file = source.read(len(MAGIC)) == MAGIC
    source.seek(0)
    if not is_file:
        stream = ipc.open_stream(source)
        return stream.schema, iter(stream)
    opened = ipc.open_file(source)
    return opened.schema, map(opened.get_batch, range(opened.num_record_batches))


def _scan_arrow(file: Path, _: Sequence[str]) -> tuple[pa.Schema, int]:
    schema, batches = _opened_arrow(file)
    return schema, sum(map(len, batches))


def _read_arrow(file: Path, _: pa.Schema) -> Batches:
    return _opened_arrow(file)[1]


_CSV, _JSON = Format(_scan_csv, _read_csv), Format(_scan_json, _read_json)
_ARROW = Format(_scan_arrow, _read_arrow)
FORMATS: Mapping[str, Format] = {
    ".parquet": Format(_scan_parquet, _read_parquet),
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), _CSV),
    **dict.fromkeys((".jsonl", ".jsonl.gz", ".ndjson"), _JSON),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), _ARROW),
}
"""By the ends of the files' names."""
