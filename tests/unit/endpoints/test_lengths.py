"""Vectors of texts that an old release embedded in chunks: their length is put right, or left."""

import numpy as np
import pytest
from _script import FakeVLLM, vector_of

from vllm_modalities import Profile
from vllm_modalities.profiles import EmbedProfile

UNIT, CHUNKED = ["short", "brief"], ["long one", "long other"]


def unit(text: str, width: int = 4) -> np.ndarray:
    vector = vector_of(text, width)
    return vector / np.linalg.norm(vector)


def chunking(version: str = "0.30.0", length: float = 0.5, **told) -> FakeVLLM:
    """A server that gives texts that begin with "long" vectors of another length."""

    def vector(text: str, width: int) -> np.ndarray:
        return unit(text, width) * np.float32(length if "long" in text else 1)

    return FakeVLLM(version=version, vector=vector, **told)


def lengths(result) -> list[float]:
    return [round(float(length), 3) for length in np.linalg.norm(result.vectors, axis=1)]


def test_one_vector_of_unit_length_shows_that_all_are_meant_to_be(talk) -> None:
    result = talk(chunking()).embed(["short", *CHUNKED])
    np.testing.assert_allclose(result.vectors, [unit(t) for t in ("short", *CHUNKED)], atol=1e-6)
    (warning,) = result.warnings
    assert warning.startswith("2 of 3 vectors: ")
    assert "vllm/entrypoints/pooling/embed" in warning
    assert result.vectors.dtype == np.float32


def test_vectors_of_any_length_are_left_alone(talk) -> None:
    result = talk(chunking()).embed(CHUNKED)
    assert (lengths(result), result.warnings) == ([0.5, 0.5], ())


@pytest.mark.parametrize("texts", [UNIT, CHUNKED, [*UNIT, *CHUNKED]])
def test_normalize_true_asks_for_unit_length(talk, texts) -> None:
    result = talk(chunking()).embed(texts, normalize=True)
    assert lengths(result) == [1] * len(texts)
    assert len(result.warnings) == any("long" in text for text in texts)


def test_normalize_false_leaves_all_as_they_are(talk) -> None:
    result = talk(chunking()).embed(["short", "long one"], normalize=False)
    assert (lengths(result), result.warnings) == ([1, 0.5], ())


@pytest.mark.parametrize(("normalized", "length"), [(True, 1), (False, 0.5), (None, 0.5)])
def test_a_profile_may_say_that_the_model_s_vectors_have_unit_length(
    talk, normalized, length
) -> None:
    facts = EmbedProfile(normalized=normalized, sources={})
    profiles = [Profile(name="Mine", pattern="^m$", embed=facts)]
    assert lengths(talk(chunking(), profiles=profiles).embed(CHUNKED)) == [length] * 2


@pytest.mark.parametrize("version", ["0.31.0", "0.32.0", "0.31.0rc1"])
def test_a_release_that_gets_it_right_is_believed(talk, version) -> None:
    result = talk(chunking(version)).embed(["short", "long one"], normalize=True)
    assert (lengths(result), result.warnings) == ([1, 0.5], ())


@pytest.mark.filterwarnings("ignore:.*does not tell its vLLM release")
def test_an_unknown_release_is_believed(talk) -> None:
    assert lengths(talk(chunking(None)).embed(["short", "long one"])) == [1, 0.5]


@pytest.mark.parametrize("length", [0.999, 1.001])
def test_what_half_precision_rounds_is_left_alone(talk, length) -> None:
    result = talk(chunking(length=length)).embed(["short", "long one"], normalize=True)
    assert lengths(result) == [1, length]
    assert result.warnings == ()


def test_as_little_as_chunking_takes_off_is_put_right(talk) -> None:
    """Five chunks of much the same words: 0.9945, as seen on vLLM 0.30.0."""
    result = talk(chunking(length=0.9945)).embed(["short", "long one"])
    assert lengths(result) == [1, 1]
    assert len(result.warnings) == 1


@pytest.mark.parametrize("transport", ["auto", "bytes", "base64", "float"])
def test_every_wire_format_is_put_right(talk, transport) -> None:
    client = talk(chunking(), transport=transport, max_concurrency=1)
    result = client.embed(["short", "long one", "brief"], batch_size=1, normalize=True)
    assert lengths(result) == [1, 1, 1]


def test_words_that_the_server_puts_before_texts_change_nothing_of_it(talk) -> None:
    server = chunking(prompts={"query": "ask "})
    assert lengths(talk(server).embed(["short", "long one"], input_type="query")) == [1, 1]


@pytest.mark.parametrize(
    ("transport", "batches", "came"),
    [
        ("float", 2, "float"),
        ("base64", 2, "base64"),
        ("bytes", 2, "base64+bytes"),
        ("auto", 2, "base64+bytes"),
        ("auto", 1, "base64"),
        ("bytes", 1, "base64"),
    ],
)
def test_a_result_says_in_which_form_its_vectors_came(talk, transport, batches, came) -> None:
    client = talk(FakeVLLM(), transport=transport, max_concurrency=1)
    assert client.embed(["a", "b"], batch_size=2 // batches).transport == came
