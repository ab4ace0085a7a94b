"""Families beside DeepSeek-OCR, on vLLM's own code for them, with random weights.

What the models say has no meaning; that a request is taken, and how a server sees the page, has.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PIL import Image

from vllm_modalities import Client, Document, InvalidRequestError
from vllm_modalities._rig import Rig
from vllm_modalities.documents.preparing import prepare
from vllm_modalities.profiles import PROFILES, profile_of

PAGE = Image.new("RGB", (600, 800), "white")
FAMILIES = {"olmocr": ("olmOCR", ["markdown"]), "dots-ocr": ("dots.ocr", ["markdown", "text"])}

pytestmark = pytest.mark.servers(*FAMILIES)


def read(servers: Rig, family: str, page: Image.Image = PAGE, **options: object) -> Document:
    with Client(servers[family].base_url, keep_raw=True) as client:
        return client.ocr(page, max_tokens=10, extra_body={"stream": False}, **options)


def tokens(document: Document) -> int:
    """Of the request: the words and the picture."""
    assert document.raw is not None
    return int(json.loads(document.raw[0])["usage"]["prompt_tokens"])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_server_finds_its_family_and_takes_its_requests(servers: Rig, family: str) -> None:
    name, tasks = FAMILIES[family]
    with Client(servers[family].base_url) as client:
        (model,) = client.servers()[0].models
    assert model.profile.name == name
    for task in tasks:
        page = read(servers, family, task=task).pages[0]
        assert (page.width, page.height) == PAGE.size
        assert page.finish_reason in {"length", "stop"}


@pytest.mark.parametrize("task", ["layout", "text", "table", "formula"])
def test_what_is_asked_in_two_steps_is_taken(servers: Rig, task: str) -> None:
    """MinerU2.5 is a Qwen2-VL, and olmOCR's server here a Qwen2.5-VL, which takes the same."""
    mineru = replace(profile_of(PROFILES, "MinerU2.5"), pattern="olmocr")
    with Client(servers["olmocr"].base_url, profiles=[mineru], keep_raw=True) as client:
        document = client.ocr(PAGE, task=task, max_tokens=10, extra_body={"stream": False})
    assert document.pages[0].finish_reason in {"length", "stop"}
    assert tokens(document) > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_the_server_sees_the_page_in_the_size_that_it_was_prepared_in(
    servers: Rig, family: str
) -> None:
    """Both models make a token of 28x28 pixels, so their number tells the size that was read."""
    profile = profile_of(PROFILES, FAMILIES[family][0]).ocr
    assert profile is not None
    assert profile.image is not None

    def patches(page: Image.Image) -> int:
        width, height = prepare(page, profile.image).image.size
        return round(width / 28) * round(height / 28)

    small, large = Image.new("RGB", (300, 200)), Image.new("RGB", (1100, 900))
    seen = tokens(read(servers, family, large)) - tokens(read(servers, family, small))
    assert seen == patches(large) - patches(small)


def test_the_picture_of_dots_stands_where_its_own_words_put_it_once(servers: Rig) -> None:
    """Else vLLM would put a second one, or a line feed behind the first."""
    words = profile_of(PROFILES, "dots.ocr").ocr
    assert words is not None
    text = words.prompts["text"]
    ours = tokens(read(servers, "dots-ocr", prompt=text))
    longer = tokens(read(servers, "dots-ocr", prompt=f"{text}."))
    assert longer == ours + 1
    with pytest.raises(InvalidRequestError, match="stands for the picture"):
        read(servers, "dots-ocr", prompt=f"<|img|><|imgpad|><|endofimg|>{text}")
