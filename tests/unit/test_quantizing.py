"""Vectors in fewer bits, and which are closest to which."""

import numpy as np
import pytest

from vllm_modalities import Embeddings, QuantizedEmbeddings, Usage

VECTORS = np.array(
    [[1, -1, 0.5, 0, -0.0, -3, 2, 8, 1], [0, 0, -1, 1, 5, 1, -1, -8, -1]], np.float32
)
RESULT = Embeddings(VECTORS, model="m", usage=Usage(3, 3), warnings=("doubtful",))


def test_bits_say_whether_a_number_is_at_least_0_the_first_in_the_highest_bit() -> None:
    found = RESULT.quantize("ubinary")
    np.testing.assert_array_equal(found.vectors, [[0b10111011, 0b1000_0000], [0b11011100, 0]])
    assert found.vectors.dtype == np.uint8
    signed = RESULT.quantize("binary").vectors
    np.testing.assert_array_equal(signed.astype(int), found.vectors.astype(int) - 128)
    assert signed.dtype == np.int8


@pytest.mark.parametrize("kind", ["binary", "ubinary"])
def test_unpacked_bits_are_1_and_minus_1(kind) -> None:
    found = RESULT.quantize(kind).unpack()
    np.testing.assert_array_equal(found, np.where(VECTORS >= 0, 1, -1))
    assert found.dtype == np.float32


@pytest.mark.parametrize("kind", ["binary", "ubinary"])
def test_the_cosine_of_bits_counts_those_that_differ(kind) -> None:
    found = RESULT.quantize(kind)
    differ = (np.signbit(VECTORS[0] + 0) != np.signbit(VECTORS[1] + 0)).sum()
    np.testing.assert_allclose(found.similarity(found)[0, 1], 1 - 2 * differ / 9, rtol=1e-6)


def test_levels_are_spread_over_the_range_of_each_dimension() -> None:
    vectors = np.array([[0, -1, 7], [255, 4.1, 7], [127.6, 0, 7], [64.4, -0.8, 7]], np.float32)
    found = Embeddings(vectors).quantize("uint8")
    np.testing.assert_array_equal(
        found.vectors, [[0, 0, 0], [255, 255, 0], [128, 50, 0], [64, 10, 0]]
    )
    np.testing.assert_array_equal(found.ranges, vectors[:2])
    signed = Embeddings(vectors).quantize("int8")
    np.testing.assert_array_equal(signed.vectors.astype(int), found.vectors.astype(int) - 128)
    assert (found.vectors.dtype, signed.vectors.dtype) == (np.uint8, np.int8)
    np.testing.assert_allclose(found.unpack(), vectors, atol=0.501)
    np.testing.assert_array_equal(signed.unpack(), found.unpack())


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(
    ("calibration", "words"),
    [
        ([[0, 1], [np.nan, 1]], r"rows of calibration \[1\] are not finite"),
        ([[0, np.inf]], r"rows of calibration \[0\] are not finite"),
        ([[0], [1]], "1 numbers a vector, not 2"),
        ([[0, 1, 2]], "3 numbers a vector, not 2"),
        (np.empty((0, 2)), "calibration has no vectors"),
    ],
)
def test_levels_that_cover_no_range_are_refused(kind, calibration, words) -> None:
    with pytest.raises(ValueError, match=words):
        Embeddings(np.eye(2, dtype=np.float32)).quantize(kind, calibration=calibration)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_levels_of_half_precision_are_as_near_as_those_of_the_same_numbers(kind) -> None:
    half = np.random.default_rng(7).standard_normal((50, 16)).astype(np.float16)
    whole = Embeddings(half.astype(np.float32)).quantize(kind)
    found = Embeddings(half).quantize(kind)
    np.testing.assert_array_equal(found.vectors, whole.vectors)
    np.testing.assert_array_equal(found.ranges, whole.ranges)
    assert found.ranges.dtype == np.float32


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_levels_may_cover_the_range_of_others(kind) -> None:
    known = Embeddings(np.array([[-255, 0], [0, 510]], np.float32))
    other = Embeddings(np.array([[-256, 201], [-55.3, 511]], np.float32))
    found = other.quantize(kind, calibration=known)
    low = np.iinfo(found.vectors.dtype).min
    np.testing.assert_array_equal(found.vectors.astype(int) - low, [[0, 100], [200, 255]])
    for same in (known.quantize(kind).ranges, known.quantize(kind), known.vectors.tolist()):
        again = other.quantize(kind, calibration=same)
        np.testing.assert_array_equal(again.vectors, found.vectors)


def test_half_precision_is_half_as_long() -> None:
    found = RESULT.quantize("float16")
    assert found.vectors.dtype == np.float16
    np.testing.assert_array_equal(found.unpack(), VECTORS)


KINDS = ["binary", "ubinary", "int8", "uint8", "float16"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_sequence_and_an_array_that_knows_where_it_is_from(kind) -> None:
    found = RESULT.quantize(kind)
    assert (len(found), found.dimensions, found.quantization) == (2, 9, kind)
    assert (found.model, found.usage, found.warnings) == ("m", Usage(3, 3), ("doubtful",))
    assert repr(found) == f"QuantizedEmbeddings(2 x 9, {kind!r}, model='m')"
    np.testing.assert_array_equal(np.asarray(found), found.vectors)
    np.testing.assert_array_equal(np.stack(list(found)), found.vectors)
    np.testing.assert_array_equal(found[1], found.vectors[1])
    np.testing.assert_array_equal(found[1:].unpack(), found.unpack()[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_no_vector_gives_no_vector(kind) -> None:
    assert Embeddings(np.empty((0, 9), np.float32)).quantize(kind).unpack().shape == (0, 9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_failed_has_no_bits(kind, number) -> None:
    vectors = VECTORS.copy()
    vectors[1, 3] = number
    with pytest.raises(ValueError, match=r"rows \[1\] are not finite"):
        Embeddings(vectors).quantize(kind)


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match=r"quantization must be 'binary', .*got 'int4'"):
        RESULT.quantize("int4")
    with pytest.raises(ValueError, match="'binary' takes no calibration"):
        RESULT.quantize("binary", calibration=VECTORS)


POINTS = Embeddings(np.array([[1, 0], [0, 2], [3, 3], [-1, 0], [1, 0]], np.float32))


def test_the_nearest_come_first_and_of_equals_the_first() -> None:
    places, scores = POINTS.nearest([[1, 0], [0, 1]], 3)
    np.testing.assert_array_equal(places, [[0, 4, 2], [1, 2, 0]])
    np.testing.assert_allclose(scores, [[1, 1, 0.5**0.5], [1, 0.5**0.5, 0]], atol=1e-6)
    assert (places.dtype, scores.dtype) == (np.int64, np.float32)


def test_the_nearest_by_dot_product_are_others() -> None:
    places, scores = POINTS.nearest([1, 0], 2, metric="dot")
    np.testing.assert_array_equal(places, [[2, 0]])
    np.testing.assert_array_equal(scores, [[3, 1]])


def test_all_are_nearest_where_there_are_no_more() -> None:
    places, _ = POINTS.nearest([1, 0], 99)
    np.testing.assert_array_equal(places, [[0, 4, 2, 1, 3]])


def test_what_failed_is_nearest_to_nothing() -> None:
    vectors = POINTS.vectors.copy()
    vectors[0] = np.nan
    places, scores = Embeddings(vectors).nearest([1, 0], 5)
    np.testing.assert_array_equal(places, [[4, 2, 1, 3, 0]])
    assert np.isnan(scores[0, 4])


def test_none_is_nearest_among_none_and_to_none() -> None:
    none = Embeddings(np.empty((0, 2), np.float32))
    assert [part.shape for part in none.nearest([1, 0], 3)] == [(1, 0)] * 2
    assert [part.shape for part in POINTS.nearest(none, 3)] == [(0, 3)] * 2


def test_many_queries_are_compared_a_part_at_a_time(monkeypatch) -> None:
    rng = np.random.default_rng(7)
    points = Embeddings(rng.standard_normal((40, 8)).astype(np.float32))
    queries = rng.standard_normal((33, 8)).astype(np.float32)
    whole = points.nearest(queries, 5)
    monkeypatch.setattr("vllm_modalities.vectors.compare.AT_ONCE", 100)
    for one, other in zip(points.nearest(queries, 5), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_quantized_finds_its_own(kind) -> None:
    rng = np.random.default_rng(7)
    points = Embeddings(rng.standard_normal((40, 64)).astype(np.float32))
    short = points.quantize(kind)
    for found in (short.nearest(points, 1), short.nearest(short, 1), points.nearest(short, 1)):
        np.testing.assert_array_equal(found[0][:, 0], np.arange(40))
    np.testing.assert_allclose(short.similarity(points), points.similarity(short).T, atol=1e-5)


def test_the_dot_product_is_another_metric() -> None:
    np.testing.assert_array_equal(RESULT.similarity(VECTORS, "dot"), VECTORS @ VECTORS.T)
    np.testing.assert_array_equal(RESULT.similarity(RESULT, metric="dot"), VECTORS @ VECTORS.T)


def test_what_does_not_compare_is_refused() -> None:
    with pytest.raises(ValueError, match="9 and 3 numbers do not compare"):
        RESULT.similarity([1, 2, 3])
    with pytest.raises(ValueError, match="3 and 9 numbers do not compare"):
        RESULT.nearest([1, 2, 3])
    with pytest.raises(ValueError, match="metric must be 'cosine' or 'dot', got 'euclid'"):
        RESULT.similarity(RESULT, "euclid")
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        RESULT.nearest(RESULT, 0)


def test_half_precision_is_compared_and_cut_in_full() -> None:
    half = Embeddings(np.array([[300, 400], [1, 0]], np.float16))
    np.testing.assert_allclose(half.similarity(half), [[1, 0.6], [0.6, 1]], rtol=1e-3)
    cut = half.truncate(1)
    assert cut.vectors.dtype == np.float16
    np.testing.assert_array_equal(cut.vectors, [[1], [1]])


def test_a_quantized_result_is_made_by_quantizing() -> None:
    assert isinstance(RESULT.quantize("int8"), QuantizedEmbeddings)
