"""An `Encoder` where libraries want a `SentenceTransformer`."""

from __future__ import annotations

import inspect
import sys
from types import SimpleNamespace
from typing import Any, get_type_hints

import numpy as np
import pytest
from conftest import QUERY, TEXTS
from semhash import SemHash

from vllm_modalities import Client
from vllm_modalities.integrations.sentence_transformers import EncodeOptions, Encoder
from vllm_modalities.simulator import Served, Simulator, simulate


@pytest.fixture
def encoder(client: Client) -> Encoder:
    return Encoder(client)


def test_semhash_finds_near_duplicates_with_it(encoder: Encoder) -> None:
    records = [*TEXTS, TEXTS[0], "Bread rises since yeast makes gas!"]
    index = SemHash.from_records(records, model=encoder)
    found = index.self_deduplicate(threshold=0.99)
    assert found.selected == TEXTS
    assert [one.record for one in found.filtered] == records[3:]


def test_vectors_are_the_client_s(client: Client, encoder: Encoder) -> None:
    expected = client.embed(TEXTS).vectors
    for given in (TEXTS, tuple(TEXTS), np.array(TEXTS), iter(TEXTS)):
        assert np.array_equal(encoder.encode(given), expected)
    assert np.array_equal(encoder.encode(sentences=TEXTS), expected)
    assert np.array_equal(encoder.encode(TEXTS[0]), expected[0])
    assert len(encoder.encode([])) == 0
    assert encoder.get_sentence_embedding_dimension() == expected.shape[1]


def test_vectors_are_cut_made_unit_and_quantized(client: Client, encoder: Encoder) -> None:
    whole = client.embed(TEXTS)
    cut = encoder.encode(TEXTS, truncate_dim=8)
    assert np.array_equal(cut, whole.vectors[:, :8])
    assert np.array_equal(Encoder(client, truncate_dim=8).encode(TEXTS), cut)
    unit = encoder.encode(TEXTS, truncate_dim=8, normalize_embeddings=True)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-6)
    bits = encoder.encode(TEXTS, precision="ubinary")
    assert np.array_equal(bits, whole.quantize("ubinary").vectors)


def test_words_go_before_texts(client: Client, encoder: Encoder) -> None:
    expected = client.embed([f"search: {text}" for text in TEXTS]).vectors
    assert np.array_equal(encoder.encode(TEXTS, prompt="search: "), expected)
    assert np.array_equal(encoder.encode_query(TEXTS, prompt="search: "), expected)


def test_queries_and_documents_get_the_model_s_own_words() -> None:
    served = Served(task="embed", model="intfloat/e5-small-v2")
    with simulate(tasks=[served]) as servers, Client(servers.urls) as client:
        query, passage = (client.embed(TEXTS, input_type=one).vectors for one in KINDS)
        encoder = Encoder(client, query_type="query", document_type="document")
        assert np.array_equal(encoder.encode_query(TEXTS), query)
        assert np.array_equal(encoder.encode_document(TEXTS, prompt_name=None), passage)
        assert np.array_equal(encoder.encode_document(TEXTS, prompt_name="query"), query)
    assert not np.array_equal(query, passage)


KINDS = ("query", "document")


def test_a_long_text_is_cut_where_that_is_asked_for(servers: Simulator, client: Client) -> None:
    Encoder(client, truncate="end").encode(TEXTS)
    assert servers.requests[-1].fields["truncate_prompt_tokens"] == -1


def test_similarities_are_cosines(client: Client, encoder: Encoder) -> None:
    vectors, query = encoder.encode(TEXTS), encoder.encode(QUERY)
    expected = client.embed(QUERY).similarity(vectors)
    np.testing.assert_allclose(encoder.similarity(query, vectors), expected, rtol=1e-6)
    pairs = encoder.similarity_pairwise(vectors, vectors[::-1])
    np.testing.assert_allclose(pairs, np.diag(encoder.similarity(vectors, vectors[::-1])), 1e-5)


def test_callers_may_pass_what_has_no_effect(servers: Simulator, encoder: Encoder) -> None:
    expected = encoder.encode(TEXTS)
    before = servers.count
    found = encoder.encode(
        *(TEXTS, None, None, 1, False),
        device="cuda:0",
        pool={},
        chunk_size=1,
        convert_to_numpy=True,
    )
    assert np.array_equal(found, expected)
    assert servers.count - before == len(TEXTS)


def test_tensors_are_made_where_they_are_wanted(encoder: Encoder, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=lambda one: ("T", one)))
    kind, rows = encoder.encode(TEXTS, convert_to_tensor=True)
    assert kind == "T"
    assert rows.shape == (3, 384)
    assert len(encoder.encode(TEXTS, convert_to_numpy=False)) == 2  # list() of the pair
    assert encoder.encode(QUERY, convert_to_numpy=False)[1].shape == (384,)


def test_what_cannot_be_done_is_refused(encoder: Encoder) -> None:
    with pytest.raises(ValueError, match="embed_tokens"):
        encoder.encode(TEXTS, output_value="token_embeddings")
    with pytest.raises(ValueError, match="quantization must be"):
        encoder.encode(TEXTS, precision="int4")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="task"):
        encoder.encode(TEXTS, task="retrieval")  # type: ignore[call-arg]


def test_the_options_are_the_arguments_of_encode() -> None:
    arguments: dict[str, Any] = get_type_hints(Encoder.encode)
    del arguments["return"], arguments["inputs"]
    assert get_type_hints(EncodeOptions) == arguments
    assert list(inspect.signature(Encoder.encode).parameters)[1] == "inputs"
