"""MaxSim: the same as one pair after the other, in whichever shape and storage the vectors come."""

import io

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vllm_modalities import TokenEmbeddings, VLLMModalitiesError, maxsim
from vllm_modalities.vectors import maxsim as module

WIDTH = 3
SOME, NONE = np.ones((2, WIDTH), np.float32), np.empty((0, WIDTH), np.float32)


def items(most: int = 6) -> st.SearchStrategy[list[np.ndarray]]:
    """Items of few tokens, also of none."""
    tokens = st.integers(0, 5)
    numbers = st.integers(0, 2**16).map(np.random.default_rng)
    one = st.builds(
        lambda rng, n: rng.standard_normal((n, WIDTH)).astype(np.float32), numbers, tokens
    )
    return st.lists(one, min_size=0, max_size=most)


def pair_by_pair(queries: list[np.ndarray], documents: list[np.ndarray]) -> np.ndarray:
    """vllm/entrypoints/pooling/scoring/utils.py, `compute_maxsim_score`."""
    scores = [
        (query @ document.T).max(axis=1).sum() if len(query) and len(document) else np.nan
        for query in queries
        for document in documents
    ]
    return np.array(scores, np.float32).reshape(len(queries), len(documents))


@pytest.fixture(autouse=True, params=[1, 3])
def many_blocks(monkeypatch, request) -> None:
    monkeypatch.setattr(module, "BLOCK", 7 * WIDTH)
    monkeypatch.setattr(module, "GROUP", 4)
    monkeypatch.setattr(module, "PIECE", 3)
    monkeypatch.setattr(module, "SMALL", 2 * 3 * WIDTH)
    monkeypatch.setattr(module, "SHARE", 1)
    monkeypatch.setattr(module, "_cores", lambda: request.param)


CORES = module._cores


@given(queries=items(), documents=items(20))
@example(queries=[SOME], documents=[NONE, NONE])
@example(queries=[NONE], documents=[SOME])
def test_maxsim_is_each_pair_s_own_whether_packed_or_not(queries, documents) -> None:
    expected = pair_by_pair(queries, documents)
    packed = TokenEmbeddings.from_arrays(documents)
    for scores in (
        maxsim(queries, documents),
        maxsim(queries, packed),
        TokenEmbeddings.from_arrays(queries).maxsim(packed),
    ):
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


@given(queries=items(), documents=items(40))
def test_how_many_threads_there_are_makes_no_difference(queries, documents) -> None:
    found = maxsim(queries, documents)
    with pytest.MonkeyPatch.context() as patch:
        for threads in (1, 2, 5):
            patch.setattr(module, "_cores", lambda: threads)  # noqa: B023
            np.testing.assert_array_equal(maxsim(queries, documents), found)


@given(
    count=st.integers(0, 70), dim=st.integers(1, 5), width=st.integers(1, 9), seed=st.integers(0, 9)
)
def test_a_product_in_small_parts_is_the_whole_product(count, dim, width, seed) -> None:
    rng = np.random.default_rng(seed)
    block, queries = (rng.standard_normal(shape) for shape in ((count, dim), (dim, width)))
    found = module._product(block, queries, np.full(count * width + 3, np.nan))
    np.testing.assert_allclose(found, block @ queries, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("told", "threads"),
    [
        ({"OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "4"}, 3),
        ({"OMP_NUM_THREADS": "4"}, 4),
        ({"OMP_NUM_THREADS": "4,2"}, 8),
        ({"OPENBLAS_NUM_THREADS": ""}, 8),
        ({}, 8),
    ],
    ids=str,
)
@pytest.mark.parametrize("knows_its_own", [True, False])
def test_there_are_as_many_threads_as_numpy_s_own_products_take(
    monkeypatch, told, threads, knows_its_own
) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(module.os, "cpu_count", lambda: 9 if knows_its_own else 8)
    if knows_its_own:
        monkeypatch.setattr(module.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    else:
        monkeypatch.delattr(module.os, "sched_getaffinity", raising=False)
    assert CORES() == threads


def test_what_goes_wrong_in_a_thread_is_told() -> None:
    class Failing(list):
        def __getitem__(self, place):
            raise OSError("the file is gone")

    with pytest.raises(OSError, match="the file is gone"):
        maxsim(SOME, Failing([SOME] * 40))


@given(queries=items(), documents=items(20), k=st.integers(1, 30))
def test_the_best_k_are_the_first_of_all_in_order(queries, documents, k) -> None:
    scores = maxsim(queries, documents)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    places, best = maxsim(queries, documents, top_k=k)
    np.testing.assert_array_equal(best, np.take_along_axis(scores, order, axis=1))
    np.testing.assert_array_equal(best, np.take_along_axis(scores, places, axis=1))
    assert all(len(set(row)) == min(k, len(documents)) for row in places.tolist())
    packed = TokenEmbeddings.from_arrays(queries).maxsim(documents, top_k=k)
    np.testing.assert_array_equal(packed[0], places)


@given(queries=items(), documents=items(20))
def test_stored_small_the_scores_are_nearly_the_same(queries, documents) -> None:
    packed = TokenEmbeddings.from_arrays(documents)
    exact = maxsim(queries, packed)
    greatest = max((np.abs(array).max(initial=0) for array in (*queries, *documents)), default=0)
    for storage, error in (("float16", 2**-10), ("int8", 1 / 250)):
        small = packed.quantize(storage)
        assert small.vectors.dtype == storage
        # A number is off by `error` of the greatest at most, and a pair has 5 x WIDTH of them.
        off = 5 * WIDTH * greatest**2 * error + 1e-6
        np.testing.assert_allclose(maxsim(queries, small), exact, rtol=0, atol=off)


@given(arrays=items(), data=st.data())
def test_items_come_back_as_they_went_in(arrays, data) -> None:
    packed = TokenEmbeddings.from_arrays(arrays)
    assert (len(packed), packed.lengths.tolist()) == (len(arrays), [len(a) for a in arrays])
    for found, array in zip(packed, arrays, strict=True):
        np.testing.assert_array_equal(found, array)
    step = data.draw(st.sampled_from([1, 2, -1]))
    for stored in (packed, packed.quantize("int8")):
        part = stored[::step]
        for found, array in zip(part, list(stored)[::step], strict=True):
            np.testing.assert_array_equal(found, array)


@given(arrays=items())
def test_the_mean_is_of_unit_length_and_of_nothing_it_is_nan(arrays) -> None:
    means = TokenEmbeddings.from_arrays(arrays).mean().vectors
    for mean, array in zip(means, arrays, strict=True):
        if not len(array):
            assert np.isnan(mean).all()
            continue
        exact = array.mean(axis=0)
        np.testing.assert_allclose(mean, exact / np.linalg.norm(exact), rtol=1e-3, atol=1e-4)


@given(arrays=items(), first=st.integers(0, 3), last=st.integers(0, 3))
def test_the_mean_leaves_out_what_it_is_told_to(arrays, first, last) -> None:
    means = TokenEmbeddings.from_arrays(arrays).mean(skip=(first, last)).vectors
    for mean, array in zip(means, arrays, strict=True):
        kept = array[first : max(len(array) - last, 0)]
        exact = kept.mean(axis=0) if len(kept) else np.full(WIDTH, np.nan)
        np.testing.assert_allclose(mean, exact / np.linalg.norm(exact), rtol=1e-3, atol=1e-4)


def test_a_single_array_is_one_item_and_three_axes_are_many() -> None:
    rng = np.random.default_rng(0)
    query, cube = rng.standard_normal((2, 3)), rng.standard_normal((4, 5, 3))
    expected = pair_by_pair([query], list(cube))
    np.testing.assert_allclose(maxsim(query, cube), expected, rtol=1e-5)
    assert maxsim(cube[0], query).shape == (1, 1)


def test_widths_that_differ_are_refused() -> None:
    two, three = np.ones((2, 2)), np.ones((2, 3))
    with pytest.raises(ValueError, match="queries are 2 numbers wide, documents 3"):
        maxsim([two], [three])
    with pytest.raises(ValueError, match="of one dim"):
        maxsim([two], [two, three])
    with pytest.raises(ValueError, match="of one dim"):
        maxsim([two], [np.ones(3)])
    with pytest.raises(ValueError, match="tokens, dim"):
        TokenEmbeddings.from_arrays([np.ones(3)])
    with pytest.raises(ValueError, match="of one dim"):
        TokenEmbeddings.from_arrays([two, three])


@given(arrays=items(), storage=st.sampled_from([None, "float16", "int8"]))
def test_what_was_saved_is_loaded(arrays, storage) -> None:
    packed = TokenEmbeddings.from_arrays(arrays)
    packed = packed.quantize(storage) if storage else packed
    parts = {name: getattr(packed, name) for name in ("vectors", "offsets", "scales")}
    with io.BytesIO() as file:
        np.savez(file, **{name: part for name, part in parts.items() if part is not None})
        file.seek(0)
        loaded = TokenEmbeddings(**np.load(file))
    np.testing.assert_array_equal(maxsim(loaded, loaded), maxsim(packed, packed))


SHORT = TokenEmbeddings.from_arrays([SOME]).quantize("int8")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((SOME, np.array([1, 2])), "from 0 to 2"),
        ((SOME, np.array([0, 3])), "from 0 to 2"),
        ((SHORT.vectors, SHORT.offsets), "a scale each"),
        ((SHORT.vectors, SHORT.offsets, SHORT.scales[:1]), "a scale each"),
        ((SOME, SHORT.offsets, SHORT.scales), "floats have none"),
    ],
    ids=str,
)
def test_parts_that_do_not_belong_together_are_refused(parts, words) -> None:
    with pytest.raises(ValueError, match=words):
        TokenEmbeddings(*parts)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("storage", ["float16", "int8"])
def test_what_is_not_finite_is_not_stored_short(number, storage) -> None:
    packed = TokenEmbeddings.from_arrays([SOME, NONE, SOME * number, SOME])
    with pytest.raises(ValueError, match=r"items \[2\] are not finite"):
        packed.quantize(storage)


@pytest.mark.parametrize("skip", [(-1, 0), (0, -1)])
def test_the_mean_reads_no_other_item_s_tokens(skip) -> None:
    with pytest.raises(ValueError, match="skip must be two numbers from 0 on"):
        TokenEmbeddings.from_arrays([SOME, SOME]).mean(skip=skip)


def test_where_all_items_failed_every_score_is_nan() -> None:
    nothing = TokenEmbeddings.from_arrays([np.empty((0, 0), np.float32)] * 2)
    for found in (maxsim([SOME], nothing), maxsim(nothing, [SOME]).T):
        np.testing.assert_array_equal(found, np.full((1, 2), np.nan))


def test_other_storage_and_no_place_at_all_are_refused() -> None:
    packed = TokenEmbeddings.from_arrays([np.ones((2, 3))])
    with pytest.raises(ValueError, match="int4"):
        packed.quantize("int4")
    with pytest.raises(ValueError, match="top_k must be at least 1"):
        maxsim(packed, packed, top_k=0)


def test_a_slice_keeps_the_failures_of_its_items() -> None:
    errors = tuple((place, VLLMModalitiesError("no")) for place in (0, 3))
    arrays = [np.ones((n, 2)) for n in (0, 1, 2, 0)]
    packed = TokenEmbeddings.from_arrays(arrays)
    failed = TokenEmbeddings(packed.vectors, packed.offsets, failures=errors)
    assert failed[2:].failures == ((1, errors[1][1]),)
    assert "4 items, 3 x 2 float32" in repr(failed)
    assert "2 failed" in repr(failed)


def test_half_precision_stays_half() -> None:
    packed = TokenEmbeddings.from_arrays([np.ones((2, 3), np.float16)])
    assert packed.vectors.dtype == np.float16
    assert packed[0].dtype == np.float32
