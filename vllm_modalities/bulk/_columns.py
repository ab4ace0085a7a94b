"""Columns of the input that a job reads: that they are there, and of the kind it needs."""

from __future__ import annotations

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
    table = table_of(source, (name,))
    kind = _kind(table.schema, name, argument)
    if not is_text(kind):
        raise invalid(argument, f"the column {name!r} holds {kind}, and must hold texts")
    return table


def check_lists(schema: pa.Schema, name: str, argument: str) -> None:
    """Raise InvalidRequestError if there is no such column, or it holds no lists of texts."""
    kind = _kind(schema, name, argument)
    if not (_is_list(kind) and is_text(kind.value_type)):
        raise invalid(argument, f"the column {name!r} holds {kind}, and must hold lists of texts")


def is_text(kind: pa.DataType) -> bool:
    """Whether values of this type are texts; those of a column of nulls may be."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _kind(schema: pa.Schema, name: str, argument: str) -> Any:
    if name not in schema.names:
        names = ", ".join(schema.names) or "none"
        raise invalid(argument, f"the input has no column {name!r}; it has {names}")
    return schema.field(name).type


def missing(column: str, what: str = "is null") -> InvalidRequestError:
    """The error of a row that has nothing to send."""
    return invalid(column, f"the value of {column!r} {what}")
