"""A batch of Ray Data's in each of its formats: columns out of it, and columns into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._inputs import invalid

Batch = TypeVar("Batch")  # a dict of arrays of numpy's, a Table of Arrow's, a DataFrame of pandas'


def values(batch: Any, name: str) -> list[Any]:
    """A column, a value a row: Python's own values, and arrays of numpy's where they are tensors.

    Raises:
        InvalidRequestError: There is no such column.
    """
    if name not in _names(batch):
        others = ", ".join(map(repr, _names(batch)))
        raise invalid("column", f"the table has no column {name!r}; it has {others}")
    column = batch[name]
    return column.to_pylist() if isinstance(batch, pa.Table) else list(column)


def extended(batch: Batch, columns: Mapping[str, pa.Array]) -> Batch:
    """The batch with more columns, in its own format.

    They come with types, since Ray guesses the types of what is in a pandas or numpy batch: one
    without errors would have a column of another type than one with some.

    Raises:
        InvalidRequestError: It has one of these columns.
    """
    given: Any = batch
    for name in columns:
        if name in _names(given):
            raise invalid("prefix", f"the table already has a column {name!r}; choose a prefix")
    if isinstance(given, Mapping):
        given = {**given, **{name: _numpy(column) for name, column in columns.items()}}
    elif isinstance(given, pa.Table):
        for name, column in columns.items():
            given = given.append_column(name, column)
    else:
        typed = {name: _pandas(column, given.index) for name, column in columns.items()}
        given = given.assign(**typed)
    return cast("Batch", given)


def vectors(found: NDArray[Any], failed: NDArray[np.bool_]) -> pa.Array:
    """One vector a row, shape (n, width), as a fixed-size list; null where it failed."""
    flat = pa.array(found.reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, found.shape[1], mask=pa.array(failed))


def _names(batch: Any) -> list[str]:
    return list(batch.column_names if isinstance(batch, pa.Table) else batch)


def _numpy(column: pa.Array) -> NDArray[Any]:
    """NaN for vectors and numbers that are null, None for all else.

    Lists stay Python's: of arrays of unequal lengths Ray makes tensors in some batches only.
    """
    found: NDArray[Any] = np.empty(len(column), object)
    if pa.types.is_fixed_size_list(column.type):
        found = column.values.to_numpy().reshape(-1, column.type.list_size)  # NaN under nulls
    elif pa.types.is_list(column.type):
        found[:] = column.to_pylist()
    else:
        found = column.to_numpy(zero_copy_only=False)
    return found


def _pandas(column: pa.Array, index: Any) -> Any:
    import pandas as pd

    return pd.Series(pd.arrays.ArrowExtensionArray(column), index=index)
