"""A page reaches the real processor with its arguments, and the answer comes back as a document.

The weights are random, so what the model says has no meaning; what changes it has.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from _both import ask
from _pdfs import pdf
from PIL import Image

from vllm_modalities import BadRequestError, Client, Document, InvalidRequestError, MediaError
from vllm_modalities._rig import Rig

PAGE = Path(__file__).parents[2] / "examples" / "assets" / "invoice.png"

pytestmark = pytest.mark.servers("deepseek-ocr")


def read(servers: Rig, source: Any = PAGE, *, keep: bool = False, **options: Any) -> Document:
    if keep:
        # Whole, so that the answer can be looked into.
        own = {"logprobs": True, "stream": False}
        options["extra_body"] = {**own, **options.get("extra_body", {})}
    with Client(servers["deepseek-ocr"].base_url, keep_raw=keep) as client:
        return client.ocr(source, max_tokens=40, **options)


def said(document: Document) -> list[tuple[str, float]]:
    """The model's own tokens, and how sure it was of each, before they are parsed."""
    assert document.raw is not None
    tokens = json.loads(document.raw[0])["choices"][0]["logprobs"]["content"]
    return [(token["token"], token["logprob"]) for token in tokens]


def test_a_page_comes_back_as_a_document_and_a_cut_one_says_so(servers: Rig) -> None:
    document = ask(servers["deepseek-ocr"].base_url, "ocr", PAGE, max_tokens=40)
    page = document.pages[0]
    with Image.open(PAGE) as image:
        assert (page.width, page.height) == image.size
    assert page.finish_reason == "length"
    assert any("cut" in warning for warning in document.warnings)


def test_the_n_gram_processor_gets_its_arguments(servers: Rig) -> None:
    def with_arguments(**arguments: Any) -> list[str]:
        tokens = said(read(servers, keep=True, extra_body={"vllm_xargs": arguments}))
        return [token for token, _ in tokens]

    free = with_arguments(ngram_size=10_000)
    limited = with_arguments(ngram_size=2, window_size=90)
    assert limited != free
    everything = list(range(300))  # the tiny tokenizer has fewer tokens
    allowed = with_arguments(ngram_size=2, window_size=90, whitelist_token_ids=everything)
    assert allowed == free


def test_the_image_reaches_the_processor_in_its_own_size(servers: Rig) -> None:
    """DeepSeek-OCR reads a small image whole, and a large one in tiles too."""

    def tokens(width: int, height: int) -> int:
        document = read(servers, Image.new("RGB", (width, height), "white"), keep=True)
        assert document.raw is not None
        return int(json.loads(document.raw[0])["usage"]["prompt_tokens"])

    small, high, wide = tokens(64, 48), tokens(600, 800), tokens(2000, 1300)
    assert small < 400 < min(high, wide)
    assert high != wide


@pytest.mark.parametrize(
    "wrong",
    [
        {"ngram_size": "3"},
        {"ngram_size": 1.5},
        {"ngram_size": 0},
        {"ngram_size": 3, "window_size": -1},
        {"ngram_size": 3, "whitelist_token_ids": 7},
    ],
)
def test_the_server_refuses_the_arguments_that_we_refuse(
    servers: Rig, wrong: dict[str, Any]
) -> None:
    with Client(servers["deepseek-ocr"].base_url) as client:
        with pytest.raises(InvalidRequestError, match="vllm_xargs"):
            client.ocr(PAGE, max_tokens=8, extra_body={"vllm_xargs": wrong})
        with pytest.raises(BadRequestError):
            client.with_options(validation="off").ocr(
                PAGE, max_tokens=8, extra_body={"vllm_xargs": wrong}
            )


def test_a_whitelist_of_strings_is_refused_since_the_server_would_drop_it(servers: Rig) -> None:
    arguments = {"ngram_size": 2, "whitelist_token_ids": ["1", "2"]}
    with pytest.raises(InvalidRequestError, match="whitelist_token_ids"):
        read(servers, extra_body={"vllm_xargs": arguments})


@pytest.mark.parametrize("mode", ["RGBA", "L", "P", "CMYK", "1", "I;16"])
def test_images_of_every_mode_are_read(servers: Rig, mode: str) -> None:
    page = Image.new(mode, (64, 48))
    document = read(servers, page)
    assert (document.pages[0].width, document.pages[0].height) == (64, 48)


def test_a_photo_is_read_upright(servers: Rig) -> None:
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    Image.new("RGB", (80, 40), "white").save(file, "JPEG", exif=exif)
    page = read(servers, file.getvalue()).pages[0]
    assert (page.width, page.height) == (40, 80)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("no-such-page.png", "no-such-page.png"),
        (b"", "empty"),
        (b"The quick brown fox.", "text"),
        (PAGE.read_bytes()[:2000], "truncated|cut|incomplete"),
        (b"%PDF-1.7 ...", "PDF"),
    ],
)
def test_what_holds_no_image_is_named_and_not_sent(servers: Rig, source: Any, found: str) -> None:
    with pytest.raises(MediaError, match=found):
        read(servers, source)


def test_a_pdf_of_three_pages_is_read_page_by_page(servers: Rig, tmp_path: Path) -> None:
    path, journal = tmp_path / "report.pdf", tmp_path / "journal"
    path.write_bytes(pdf(3))
    document = ask(servers["deepseek-ocr"].base_url, "ocr", path, max_tokens=20)
    assert [page.number for page in document] == [1, 2, 3]
    assert [page.width for page in document] == [400] * 3
    # Cut by the caller, so none of them was asked for again, and each says so.
    assert [page.finish_reason for page in document] == ["length"] * 3
    with Client(servers["deepseek-ocr"].base_url) as client:
        first = client.ocr(path, max_tokens=20, journal=journal)
        again = client.ocr(path, max_tokens=20, journal=journal)
        pages = list(client.ocr_iter([path, PAGE], max_tokens=20, ordered=False))
    assert again.to_dict() == first.to_dict() == document.to_dict()
    assert sorted((page.source, page.number) for page in pages) == [(0, 1), (0, 2), (0, 3), (1, 1)]


def test_a_loop_ends_long_before_the_last_token(servers: Rig) -> None:
    """Random weights go round and round by themselves."""
    with Client(servers["deepseek-ocr"].base_url) as client:
        page = client.ocr(PAGE, repair=False, extra_body={"vllm_xargs": {}}).pages[0]
    assert page.finish_reason in {"stop", "length", "repetition"}
    assert (page.finish_reason == "stop") == (not any("cut" in one for one in page.warnings))
