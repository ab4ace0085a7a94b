"""Images to a model that embeds what it sees, of random weights: how they reach it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from live._started import serving
from PIL import Image

from vllm_modalities import Client
from vllm_modalities._rig import SERVERS, Report, Spec

SMALL, LARGE = (Image.new("RGB", (28 * n, 28 * n), "red") for n in (4, 20))
SIDES = (16, 400)  # patches of 28x28 pixels, each a token of Qwen2.5-VL's


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, report: Report) -> Iterator[Client]:
    logs: Path = tmp_path_factory.mktemp("logs")
    flags = ("--runner", "pooling", "--convert", "embed", *SERVERS["olmocr"].flags)
    spec = Spec("sees", "qwen-vl", "sees", flags=flags)
    with serving(spec, logs, report) as url, Client(url) as made:
        yield made


def test_the_model_sees_every_patch_of_an_image(client: Client) -> None:
    read = [client.embed(image).usage.prompt_tokens for image in (SMALL, LARGE)]
    assert read[1] - read[0] == SIDES[1] - SIDES[0]
    counted = client.tokenize([SMALL, LARGE]).counts
    assert counted[1] - counted[0] == SIDES[1] - SIDES[0]


def test_images_and_texts_together_are_one_vector_each(client: Client) -> None:
    found = client.embed([SMALL, {"content": ["a caption", LARGE]}, {"content": ["a caption"]}])
    assert found.vectors.shape == (3, 64)
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-5)
    alone = client.embed({"content": ["a caption", LARGE]})
    np.testing.assert_allclose(found.vectors[1], alone.vectors[0], atol=1e-5)


def test_images_are_ranked_as_score_says(client: Client) -> None:
    documents = [SMALL, ["a caption", LARGE], "a text"]
    scores = client.score("a query", documents).scores
    ranked = client.rerank("a query", documents)
    assert ranked.score_type == "bi-encoder"
    assert [one.index for one in ranked] == list(np.argsort(-scores, kind="stable"))
    np.testing.assert_allclose([one.score for one in ranked], np.sort(scores)[::-1], atol=1e-5)
