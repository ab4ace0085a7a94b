"""Tables in files: which files a source means, what stands in them, and their rows in order."""

from __future__ import annotations

import json
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from pyarrow import parquet

from .._inputs import invalid
from ._formats import FORMATS, Batches, Format, merged, merged_or_texts, with_types

JOURNAL = "_job.journal"  # in the folder that a job writes to

Source: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""Files, folders of them and patterns such as `"in/*.parquet"`; one or several."""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one or several files, one after another.

    Attributes:
        files: Where they stand.
        schema: Of all of them.
        rows: How many there are.
    """

    files: tuple[Path, ...]
    schema: pa.Schema
    rows: int

    def batches(self) -> Batches:
        """All rows in order, in batches as the files have them.

        Raises:
            InvalidRequestError: A file cannot be read.
        """
        for file in self.files:
            with _readable(file):
                for batch in _format(file).read(file, self.schema):
                    yield batch.select(self.schema.names).cast(self.schema)

    def identity(self) -> list[list[Any]]:
        """What tells these files from others: name, bytes and time of change (ns) of each."""
        stats = ((file.name, file.stat()) for file in self.files)
        return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]


class Listing(Table):
    """Files that are rows themselves: a table of their paths."""

    def batches(self) -> Batches:
        """Their paths."""
        for file in self.files:
            with _readable(file):
                yield pa.record_batch([pa.array([str(file)], pa.string())], schema=self.schema)


def table_of(source: Source, texts: Sequence[str]) -> Table:
    """The table in the files of `source`; what does not say its columns and rows is read for them.

    Args:
        source: Files, folders and patterns.
        texts: Columns of texts, which a CSV file may seem to have numbers in.

    Raises:
        InvalidRequestError: There is no such file, it is of no known format or cannot be read, or
            the files have different columns.
    """
    files = files_of(source, FORMATS)
    formats = {_format(file) for file in files}
    rows, schema = 0, None
    for file in files:
        with _readable(file):
            found, count = _format(file).scan(file, texts)
            found = with_types(found.remove_metadata(), _not_a_view)
            if found != schema:
                _check_kept(found)
        schema, rows = _both(schema, found, file, files[0], formats), rows + count
    return Table(files, schema, rows)


def _both(
    known: pa.Schema | None, found: pa.Schema, file: Path, first: Path, formats: set[Format]
) -> pa.Schema:
    """The schema of the files so far, and of one more."""
    if known is None:
        return found
    # A key that all of a JSON file's rows lack is lacking no more than one that some lack.
    if set(known.names) != set(found.names) and formats != {FORMATS[".jsonl"]}:
        names = ", ".join(found.names), ", ".join(known.names)
        raise invalid("source", f"{file} has the columns {names[0]}, and {first} has {names[1]}")
    if formats == {FORMATS[".csv"]}:
        return merged_or_texts(known, pa.schema([found.field(name) for name in known.names]))
    try:
        return merged(known, found)
    except pa.ArrowException as error:
        raise invalid("source", f"{file} has not the columns of {first}: {error}") from None


def _not_a_view(kind: pa.DataType) -> pa.DataType:
    """Texts and bytes as pyarrow can take some of; as views, which polars writes, it cannot."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(kind) else kind


def _check_kept(schema: pa.Schema) -> None:
    """Raise InvalidRequestError if the output could not have these columns beside a new one."""
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise invalid("source", f"two columns are called {twice[0]!r}")
    for field in schema:
        try:
            nothing = pa.schema([field]).empty_table().take(pa.array([], pa.int64()))
            parquet.write_table(nothing, BytesIO())
        except pa.ArrowException as error:
            raise invalid(
                "source",
                f"the column {field.name!r} holds {field.type}, which a Parquet file cannot keep:"
                f" {error}",
            ) from None


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    # gzip has two errors of its own, and a name that is not UTF-8 has one.
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeError) as error:
        raise invalid("source", f"{file} cannot be read: {error}") from error


def _format(file: Path) -> Format:
    for ending, found in FORMATS.items():
        if file.name.lower().endswith(ending):
            return found
    raise invalid("source", f"{file} is of no known format: none of {' '.join(FORMATS)}")


def files_of(source: Source, kinds: Iterable[str]) -> tuple[Path, ...]:
    """The files of `source`, each once; of folders and patterns those that end in one of `kinds`.

    Raises:
        InvalidRequestError: There is none.
    """
    several = (source,) if isinstance(source, str | os.PathLike) else tuple(source)
    endings = tuple(sorted(kinds))
    found = dict.fromkeys(chain.from_iterable(_files(Path(one), endings) for one in several))
    if not found:
        names = ", ".join(map(str, several)) or "the source"
        raise invalid("source", f"{names} holds no file that ends in {' '.join(endings)}")
    return tuple(found)


def _files(path: Path, endings: tuple[str, ...]) -> list[Path]:
    if path.is_dir():
        # What another job has written below is not meant.
        below = (one for one in path.rglob("*") if one.parent == path or not is_job(one.parent))
        return _saved_dataset(path) or _inside(below, endings)
    if path.exists():
        return [path]
    if has_magic(str(path)):  # a pattern may begin anywhere, and so has no folder to look in
        return _inside(map(Path, glob(str(path), recursive=True)), endings)  # noqa: PTH207
    raise invalid("source", f"{path}: no such file or folder")


def is_job(folder: Path) -> bool:
    """Whether it is the folder that a job writes to."""
    return (folder / JOURNAL).is_file()


def _inside(paths: Iterable[Path], endings: tuple[str, ...]) -> list[Path]:
    """Those to be read; what begins with _ or . is kept beside tables, and is none."""
    return sorted(
        one
        for one in paths
        if one.name.lower().endswith(endings) and one.name[0] not in "._" and one.is_file()
    )


def _saved_dataset(folder: Path) -> list[Path]:
    """The Arrow files of a dataset that Hugging Face's `datasets` has saved, in order.

    Source: datasets 5.2.0 src/datasets/arrow_dataset.py, `Dataset.save_to_disk`, and
    dataset_dict.py, `DatasetDict.save_to_disk`.
    """
    splits, state = folder / "dataset_dict.json", folder / "state.json"
    if splits.is_file():
        names = json.loads(splits.read_text("utf-8"))["splits"]
        raise invalid(
            "source",
            f"{folder} holds a dataset of the splits {', '.join(names)}; give one of these, such as"
            f" {folder / names[0]}",
        )
    if not state.is_file():
        return []
    return [folder / one["filename"] for one in json.loads(state.read_text("utf-8"))["_data_files"]]
