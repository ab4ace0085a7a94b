"""Vectors of texts: near where texts are, the same everywhere, and written as a server does."""

import base64
import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities.simulator._encoding import TYPES, packed, raw
from vllm_modalities.simulator._recordings import load
from vllm_modalities.simulator._vectors import closeness, embedded, unit

TEXT = "Trains to Berlin leave on time."


def test_texts_that_share_words_are_nearer_than_texts_that_do_not() -> None:
    near = closeness("the train to Berlin is late", "late is the train to Berlin")
    related = closeness("the train to Berlin is late", "trains leave for Berlin")
    far = closeness("the train to Berlin is late", "yeast turns sugar into gas")
    assert near > 0.99
    assert near > related > far + 0.2


@given(text=st.text(), width=st.integers(1, 300))
def test_every_text_has_a_vector_of_any_width(text, width) -> None:
    vector = unit(embedded(text, width))
    assert vector.shape == (width,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert (vector == unit(embedded(text, width))).all()


@given(st.text(), st.text())
def test_closeness_is_the_same_both_ways(one, other) -> None:
    assert closeness(one, other) == pytest.approx(closeness(other, one), abs=1e-6)


def test_vectors_are_the_same_in_another_process() -> None:
    code = (
        "import hashlib; from vllm_modalities.simulator._vectors import embedded;"
        f"print(hashlib.sha256(embedded({TEXT!r}, 384).tobytes()).hexdigest())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    ours = hashlib.sha256(embedded(TEXT, 384).tobytes()).hexdigest()
    assert ran.stdout.strip() == ours


def recorded(kind: str, order: str = "little") -> bytes:
    """The first vector of that type, as a real server wrote it."""
    case = load("embed").cases[f"base64, {kind}, {order}-endian"]
    return base64.b64decode(case.answers[-1].body["data"][0]["embedding"])


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_is_written_byte_by_byte_as_a_server_wrote_it(kind) -> None:
    vector = np.frombuffer(recorded("float32"), "<f4")
    ours, theirs = raw(vector, kind), recorded(kind)
    assert len(ours) == len(theirs)
    # Two batches of the server itself differ in the last bit of a few numbers.
    assert np.mean(np.frombuffer(ours, np.uint8) != np.frombuffer(theirs, np.uint8)) < 0.02


def test_big_endian_is_the_same_turned_around() -> None:
    vector = np.frombuffer(recorded("float32"), "<f4")
    assert raw(vector, big=True) == vector.astype(">f4").tobytes()


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=50))
def test_a_narrow_number_is_the_nearest_that_there_is(numbers) -> None:
    vector = np.array(numbers, np.float32)
    halves = np.frombuffer(raw(vector, "bfloat16"), "<u2").astype("<u4") << 16
    assert np.abs(halves.view("<f4") - vector).max() <= 2**-8
    assert (np.signbit(halves.view("<f4")) == np.signbit(vector)).all()


def test_signs_are_packed_as_a_server_packed_them() -> None:
    cases = load("embed").cases
    floats = cases["embedding_types=[float]"].answers[-1].body["embeddings"]["float"][0]
    bits = cases["embedding_types=[ubinary]"].answers[-1].body["embeddings"]["ubinary"][0]
    assert packed(np.array(floats, np.float32)).tolist() == bits
