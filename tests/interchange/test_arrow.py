"""Texts of other libraries go in as they are, and vectors come out without a copy."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from _script import BLOCKING, FakeVLLM, Talker, vectors_of

from vllm_modalities import InvalidRequestError

TEXTS = ["first", "zweiter: ü", ""]
COLUMNS = {
    "pandas": pd.Series,
    "pandas, strings": lambda texts: pd.Series(texts, dtype="string"),
    "pandas, arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow, chunked": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_column_of_texts_is_many_texts(column) -> None:
    client = Talker(BLOCKING, FakeVLLM())
    expected = vectors_of(TEXTS, 4)
    np.testing.assert_array_equal(client.embed(column(TEXTS)), expected)
    batches = client.every("embed_iter", column(TEXTS), batch_size=2)
    np.testing.assert_array_equal(np.vstack([batch.vectors for batch in batches]), expected)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_text_that_is_missing_is_named(column) -> None:
    with pytest.raises(InvalidRequestError, match="item 1 of inputs must be"):
        Talker(BLOCKING, FakeVLLM()).embed(column(["a", None, "b"]))


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_is_refused_with_the_way_to_go(table) -> None:
    with pytest.raises(InvalidRequestError, match="give one column of it"):
        Talker(BLOCKING, FakeVLLM()).embed(table({"text": TEXTS}))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_arrow_takes_vectors_without_a_copy(dtype) -> None:
    vectors = Talker(BLOCKING, FakeVLLM()).embed(TEXTS, dtype=dtype)
    column = pa.FixedSizeListArray.from_arrays(vectors.vectors.ravel(), vectors.dimensions)
    assert column.type == pa.list_(pa.from_numpy_dtype(dtype), 4)
    np.testing.assert_array_equal(np.stack(column.to_numpy(zero_copy_only=False)), vectors)
    assert column.values.buffers()[1].address == vectors.vectors.ctypes.data


def test_arrow_takes_bits_without_a_copy() -> None:
    packed = Talker(BLOCKING, FakeVLLM(width=16)).embed(TEXTS).quantize("ubinary")
    column = pa.FixedSizeListArray.from_arrays(packed.vectors.ravel(), packed.vectors.shape[1])
    assert column.values.buffers()[1].address == packed.vectors.ctypes.data
