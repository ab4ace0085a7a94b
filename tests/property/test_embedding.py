"""Embedding anything: what is given is taken or refused in words, and streams equal calls."""

import numpy as np
from _script import BLOCKING, FakeVLLM, Talker, written
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vllm_modalities import Embeddings, InvalidRequestError
from vllm_modalities.endpoints._content import Chat, inputs_of, tokens_of
from vllm_modalities.vectors.compare import best
from vllm_modalities.vectors.precision import PRECISIONS

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
ANYTHING = st.recursive(
    SCALARS | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from(["role", "content", "type", "text"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(given_=ANYTHING)
def test_whatever_is_given_is_taken_in_one_kind_or_refused_in_words(given_) -> None:
    try:
        items = inputs_of("inputs", given_)
    except InvalidRequestError as error:
        assert "inputs" in str(error)  # noqa: PT017
        return
    assert len({type(item) for item in items}) <= 1
    for item in items:
        assert type(item) in (str, tuple, Chat)
        assert tokens_of(item) >= 1


@given(
    texts=st.lists(TEXTS, max_size=30),
    batch_size=st.integers(1, 12),
    most=st.integers(1, 5),
    size=st.integers(1, 9),
)
def test_a_stream_gives_what_one_call_gives(texts, batch_size, most, size) -> None:
    client = Talker(BLOCKING, FakeVLLM(width=size), max_concurrency=most)
    whole = client.embed(texts, batch_size=batch_size)
    batches = client.every("embed_iter", iter(texts), batch_size=batch_size)
    assert all(1 <= len(batch) <= batch_size for batch in batches)
    assert sum(map(len, batches)) == len(texts)
    for found, expected in zip((v for batch in batches for v in batch), whole, strict=True):
        np.testing.assert_array_equal(found, expected)


NUMBERS = st.floats(-200, 200, width=16)


@given(
    vectors=hnp.arrays(
        np.float32, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=NUMBERS
    ),
    name=st.sampled_from(list(PRECISIONS)),
)
def test_a_number_comes_back_as_near_as_its_precision_is(vectors, name) -> None:
    precision = PRECISIONS[name]
    raw = written(vectors, name).tobytes()
    assert len(raw) == vectors.size * precision.size
    found = precision.numbers(raw).reshape(vectors.shape).astype(np.float32)
    steps = {
        "float32": 0,
        "float16": 2**-11,
        "bfloat16": 2**-7,  # cut off, not rounded
        "fp8_e4m3": 2**-4,
        "fp8_e5m2": 2**-3,
    }
    smallest = {"fp8_e4m3": 2**-10, "fp8_e5m2": 2**-17}.get(name, 0)
    assert (np.abs(found - vectors) <= np.abs(vectors) * steps[name] + smallest).all()


@given(
    vectors=hnp.arrays(
        np.float32, st.tuples(st.integers(1, 9), st.integers(1, 20)), elements=NUMBERS
    )
)
def test_what_is_quantized_unpacks_to_what_is_left_of_it(vectors) -> None:
    result = Embeddings(vectors)
    signs = np.where(vectors >= 0, 1, -1)
    half_a_level = (vectors.max(axis=0) - vectors.min(axis=0)) / 255 / 2
    for kind in ("binary", "ubinary"):
        np.testing.assert_array_equal(result.quantize(kind).unpack(), signs)
    for kind in ("int8", "uint8"):
        error = np.abs(result.quantize(kind).unpack() - vectors)
        assert (error <= half_a_level + 1e-3).all()
    np.testing.assert_array_equal(result.quantize("float16").unpack(), vectors)


FEW = st.sampled_from([-np.inf, -1.0, 0.0, 2.0, np.inf, np.nan])  # so that there are equals


@given(
    scores=hnp.arrays(np.float32, st.tuples(st.integers(0, 3), st.integers(0, 40)), elements=FEW),
    k=st.integers(1, 50),
)
def test_of_equals_the_first_are_among_the_best(scores, k) -> None:
    places, found = best(scores, k)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(found, np.take_along_axis(scores, expected, axis=1))


@given(
    vectors=hnp.arrays(
        np.float32, st.tuples(st.integers(1, 9), st.integers(1, 5)), elements=NUMBERS
    ),
    k=st.integers(1, 12),
    metric=st.sampled_from(["cosine", "dot"]),
)
def test_the_nearest_are_those_that_sorting_all_gives(vectors, k, metric) -> None:
    result = Embeddings(vectors)
    places, scores = result.nearest(vectors, k, metric=metric)
    everything = result.similarity(result, metric=metric).T
    expected = -np.sort(-everything, axis=1)[:, :k]
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-3)
    found = np.take_along_axis(everything, places, axis=1)
    np.testing.assert_allclose(found, scores, rtol=1e-4, atol=1e-3)
