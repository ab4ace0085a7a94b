"""Columns of the input that a job reads: that they are there, and of the kind it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from .._inputs import invalid
from ..errors import InvalidRequestError
from ._tables import Source, Table, table_of


def texts_in(source: Source, name: str, argument: str = "column") -> Table:
    """The table in the files of `source`, whose column `name`, which `argument` gives, has texts.

    Raises:
        InvalidRequestError: There is no such column, or it holds no texts; as `table_of` does.
    """
    return _table(source, name, argument, _is_text, "texts")


def files_in(source: Source, name: str) -> Table:
    """The same, whose column has files: paths, bytes, or what `datasets` keeps of one.

    Source: datasets 5.2.0 src/datasets/features/audio.py and image.py, `pa_type`: a struct of
    `bytes` and `path`, of which one may be null.
    """
    return _table(source, name, "column", _is_file, "paths or the bytes of files")


def file_of(value: Any) -> Any:
    """The path or bytes that are such a column's value, or whatever another column's is."""
    return value["bytes"] or value["path"] if isinstance(value, dict) else value


def check_lists(schema: pa.Schema, name: str, argument: str) -> None:
    """Raise InvalidRequestError if there is no such column, or it holds no lists of texts."""
    _check(schema, name, argument, _is_list_of_texts, "lists of texts")


def _table(
    source: Source, name: str, argument: str, fits: Callable[[pa.DataType], bool], what: str
) -> Table:
    table = table_of(source, (name,))
    _check(table.schema, name, argument, fits, what)
    return table


def _check(
    schema: pa.Schema, name: str, argument: str, fits: Callable[[pa.DataType], bool], what: str
) -> None:
    if name not in schema.names:
        names = ", ".join(schema.names) or "none"
        raise invalid(argument, f"the input has no column {name!r}; it has {names}")
    kind = schema.field(name).type
    if not fits(kind):
        raise invalid(argument, f"the column {name!r} holds {kind}, and must hold {what}")


def _is_text(kind: pa.DataType) -> bool:
    """Whether values of this type are texts; those of a column of nulls may be."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_null(kind))


def _is_file(kind: pa.DataType) -> bool:
    if not pa.types.is_struct(kind):
        return _is_bytes(kind) or _is_text(kind)
    parts = {part.name: part.type for part in kind}
    return {"bytes", "path"} <= set(parts) and _is_bytes(parts["bytes"]) and _is_text(parts["path"])


def _is_list_of_texts(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(is_list) and _is_text(kind.value_type)


def missing(column: str, what: str = "is null") -> InvalidRequestError:
    """The error of a row that has nothing to send."""
    return invalid(column, f"the value of {column!r} {what}")
