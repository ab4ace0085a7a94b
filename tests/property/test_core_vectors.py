"""Vectors: cutting, comparing, batching."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import Embeddings
from vllm_modalities._many import batches

NUMBERS = st.floats(-1000, 1000, width=32).map(lambda x: 0.0 if abs(x) < 1e-3 else x)


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    flat = draw(st.lists(NUMBERS, min_size=rows * columns, max_size=rows * columns))
    return np.array(flat, np.float32).reshape(rows, columns)


@given(vectors=matrices(), data=st.data())
def test_truncated_vectors_have_unit_length_or_are_zero(vectors, data) -> None:
    size = data.draw(st.integers(1, vectors.shape[1]))
    cut = Embeddings(vectors).truncate(size)
    assert cut.vectors.dtype == np.float32
    lengths = np.linalg.norm(cut.vectors, axis=1)
    zero = ~vectors[:, :size].any(axis=1)
    np.testing.assert_allclose(lengths, np.where(zero, 0, 1), rtol=1e-5)


@given(vectors=matrices())
def test_similarity_lies_in_minus_1_to_1_and_is_symmetric(vectors) -> None:
    before = vectors.copy()
    result = Embeddings(vectors)
    found = result.similarity(result)
    assert found.shape == (len(vectors), len(vectors))
    assert np.abs(found).max() <= 1 + 1e-5
    np.testing.assert_allclose(found, found.T, atol=1e-5)
    np.testing.assert_array_equal(vectors, before)


@given(sizes=st.lists(st.integers(0, 50)), count=st.integers(1, 10), size=st.integers(1, 100))
def test_batches_are_the_items_in_order_and_within_both_bounds(sizes, count, size) -> None:
    found = list(batches(sizes, count=count, size=size))
    assert [place for batch in found for place in batch] == list(range(len(sizes)))
    for batch in found:
        assert 1 <= len(batch) <= count
        assert len(batch) == 1 or sum(sizes[place] for place in batch) <= size
