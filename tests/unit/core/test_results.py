"""`Embeddings` and `Usage`: what one does with them."""

import numpy as np
import pytest

from vllm_modalities import Embeddings, Usage

VECTORS = np.array([[3, 4, 0], [0, 0, 2], [0, 0, 0]], np.float32)


def test_it_is_a_sequence_of_vectors_and_an_array() -> None:
    result = Embeddings(VECTORS, model="m")
    assert (len(result), result.dimensions) == (3, 3)
    np.testing.assert_array_equal(result[0], VECTORS[0])
    np.testing.assert_array_equal(result[-1], VECTORS[-1])
    np.testing.assert_array_equal(list(result), VECTORS)
    np.testing.assert_array_equal(np.asarray(result), VECTORS)
    assert np.asarray(result, dtype=np.float64).dtype == np.float64
    assert result.to_list() == VECTORS.tolist()
    np.testing.assert_array_equal(result[1:].vectors, VECTORS[1:])
    np.testing.assert_array_equal(result[::-1].vectors, VECTORS[::-1])


def test_the_repr_is_short() -> None:
    assert repr(Embeddings(np.zeros((999, 1024), np.float32), model="m")) == (
        "Embeddings(999 x 1024, model='m')"
    )


def test_truncate_cuts_and_gives_unit_length_again() -> None:
    np.testing.assert_allclose(
        Embeddings(VECTORS).truncate(2).vectors, [[0.6, 0.8], [0, 0], [0, 0]], rtol=1e-6
    )


@pytest.mark.parametrize("dimensions", [0, -1, 4])
def test_truncate_to_what_is_not_there_is_refused(dimensions) -> None:
    with pytest.raises(ValueError, match="from 1 to 3"):
        Embeddings(VECTORS).truncate(dimensions)


def test_similarity_is_the_cosine_with_each_of_the_other() -> None:
    result = Embeddings(VECTORS[:2])
    np.testing.assert_allclose(result.similarity(result), np.eye(2), atol=1e-6)
    np.testing.assert_allclose(result.similarity([3.0, 4.0, 0.0]), [[1], [0]], atol=1e-6)


def test_usage_adds_up() -> None:
    assert Usage(1, 2) + Usage(10, 20) == Usage(11, 22)
