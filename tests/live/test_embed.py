"""What `embed` gives is what the server computed, and what it refuses the server refuses."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import numpy as np
import pytest
from _both import KEY, ask

from vllm_modalities import (
    AuthenticationError,
    BadRequestError,
    Client,
    EmbeddingRequest,
    InvalidRequestError,
    PartialFailureError,
    UnknownModelError,
)
from vllm_modalities._rig import Rig, Running
from vllm_modalities.integrations.sentence_transformers import Encoder

RELATED = (
    ("The train to Berlin leaves from platform seven.", "Passengers to Berlin: platform seven."),
    ("Bread rises because yeast makes gas.", "The dough grows as the yeast feeds."),
)
TEXTS = [text for pair in RELATED for text in pair]

pytestmark = pytest.mark.servers("embed", "embed-matryoshka")


def raw_call(server: Running, body: dict[str, Any]) -> Any:
    """One request as anyone would make it, without this package."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(
        f"{server.base_url}/v1/embeddings", json.dumps(body).encode(), headers
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_related_sentences_are_closer_than_unrelated_ones(servers: Rig) -> None:
    closeness = ask(servers["embed"].base_url, "embed", TEXTS).similarity(
        ask(servers["embed"].base_url, "embed", TEXTS)
    )
    related = [closeness[0, 1], closeness[2, 3]]
    unrelated = closeness[:2, 2:]
    assert min(related) > unrelated.max() + 0.3


@pytest.mark.parametrize("transport", ["auto", "bytes", "base64", "float"])
def test_vectors_equal_those_of_a_raw_call(servers: Rig, transport: Any) -> None:
    answer = raw_call(servers["embed"], {"model": "minilm", "input": TEXTS})
    expected = np.array([row["embedding"] for row in answer["data"]], dtype=np.float32)
    with Client(servers["embed"].base_url, transport=transport) as client:
        for _ in range(2):  # the second time, the width is known
            np.testing.assert_allclose(client.embed(TEXTS), expected, atol=1e-5)


def test_an_encoder_gives_the_client_s_vectors(servers: Rig) -> None:
    with Client(servers["embed"].base_url) as client:
        found = Encoder(client).encode(TEXTS, normalize_embeddings=True)
        np.testing.assert_allclose(found, client.embed(TEXTS), atol=1e-5)


def test_a_thousand_texts_come_back_in_order(servers: Rig) -> None:
    texts = [f"Number {number} of a list." for number in range(1000)]
    many = ask(servers["embed"].base_url, "embed", texts)
    few = ask(servers["embed"].base_url, "embed", texts[::97])
    assert many.vectors.shape == (1000, 384)
    np.testing.assert_allclose(many.vectors[::97], few, atol=1e-4)


def test_a_text_longer_than_the_context_fails_alone(servers: Rig) -> None:
    long = "word " * 400
    with Client(servers["embed"].base_url) as client, pytest.raises(PartialFailureError) as caught:
        client.embed([*TEXTS, long, *TEXTS, long])
    places = [place for place, _ in caught.value.failures]
    assert places == [4, 9]
    assert all(isinstance(error, BadRequestError) for _, error in caught.value.failures)
    assert np.isfinite(caught.value.results.vectors).all(axis=1).sum() == 8


def test_truncation_keeps_the_side_that_was_asked_for(servers: Rig) -> None:
    url = servers["embed"].base_url
    start, end = "yeast bread dough " * 100, "train platform Berlin " * 100
    whole = start + end
    bread, train = (
        ask(url, "embed", "yeast bread dough"),
        ask(url, "embed", "train platform Berlin"),
    )
    kept_start = ask(url, "embed", whole, truncate="end")
    kept_end = ask(url, "embed", whole, truncate="start")
    assert kept_start.similarity(bread)[0, 0] > kept_start.similarity(train)[0, 0]
    assert kept_end.similarity(train)[0, 0] > kept_end.similarity(bread)[0, 0]


@pytest.mark.parametrize("dimensions", [1, 128, 384])
def test_shortened_vectors_are_the_unit_prefix(servers: Rig, dimensions: int) -> None:
    url = servers["embed-matryoshka"].base_url
    short = ask(url, "embed", TEXTS, dimensions=dimensions)
    assert short.dimensions == dimensions
    np.testing.assert_allclose(short, ask(url, "embed", TEXTS).truncate(dimensions), atol=1e-4)


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [("embed-matryoshka", 385), ("embed-matryoshka", 0), ("embed-matryoshka", -1), ("embed", 128)],
)
def test_the_server_refuses_the_dimensions_that_we_refuse(
    servers: Rig, name: str, dimensions: int
) -> None:
    server = servers[name]
    with Client(server.base_url, api_key=KEY) as client:
        with pytest.raises(InvalidRequestError, match="dimensions"):
            client.embed(TEXTS, dimensions=dimensions)
        with pytest.raises(BadRequestError):
            client.with_options(validation="off").embed(TEXTS, dimensions=dimensions)
    with pytest.raises(urllib.error.HTTPError, match="400"):
        body = {"model": server.spec.served_name, "input": TEXTS, "dimensions": dimensions}
        raw_call(server, body)


def test_a_wrong_key_is_an_error_that_says_how_to_pass_the_right_one(servers: Rig) -> None:
    server = servers["embed-matryoshka"]
    with (
        Client(server.base_url, api_key="not the key") as client,
        pytest.raises(AuthenticationError, match="api_key") as caught,
    ):
        client.embed("a text")
    assert caught.value.status_code == 401
    assert caught.value.request_id
    assert "not the key" not in str(caught.value)


def test_a_wrong_model_is_refused_with_the_names_that_are_served(servers: Rig) -> None:
    with (
        Client(servers["embed"].base_url) as client,
        pytest.raises(UnknownModelError, match="minilm"),
    ):
        client.embed("a text", model="no such model")


def test_a_request_model_is_sent_as_it_is(servers: Rig) -> None:
    with Client(servers["embed"].base_url) as client:
        answer = client.send(EmbeddingRequest(input="a text", use_activation=False)).json()
    length = np.linalg.norm(answer["data"][0]["embedding"])
    assert abs(length - 1) > 0.1


def test_an_input_type_that_the_server_does_not_know_is_its_400(servers: Rig) -> None:
    from vllm_modalities import Profile

    nobody = Profile(name="nobody", pattern="minilm")  # hides the built-in profile
    with (
        Client(servers["embed"].base_url, profiles=[nobody]) as client,
        pytest.raises(BadRequestError, match="input_type"),
    ):
        client.embed("a text", input_type="query")


def test_a_profile_prompt_equals_the_prompt_written_out(servers: Rig) -> None:
    from vllm_modalities import Profile
    from vllm_modalities.profiles import EmbedProfile

    prompted = Profile(
        name="prompted",
        pattern="minilm",
        embed=EmbedProfile(prompts={"query": "query: ", "document": ""}, sources={}),
    )
    with Client(servers["embed"].base_url, profiles=[prompted]) as client:
        by_name = client.embed("bread", input_type="search_query")
        np.testing.assert_allclose(by_name, client.embed("query: bread"), atol=1e-6)
