"""Every family is asked in its own words, sees the page in its own way, and its boxes come back.

The servers here look at the picture that they are sent: they find the red rectangle on it, and say
where it is in the family's own numbers and grammar.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from _script import BLOCKING, URL, Answer, FakeVLLM, Talker
from PIL import Image, ImageDraw

from vllm_modalities import InvalidRequestError, MediaError
from vllm_modalities.documents.grammars import GRAMMARS
from vllm_modalities.profiles import GENERIC_OCR, PROFILES

CHAT = "/v1/chat/completions"
Box = tuple[float, float, float, float]


def numbers(*edges: float) -> str:
    return ", ".join(str(round(edge)) for edge in edges)


def locations(x0: float, y0: float, x1: float, y1: float) -> str:
    corners = (x0, y0, x1, y0, x1, y1, x0, y1)
    return "Oak" + "".join(f"<|LOC_{round(edge)}|>" for edge in corners)


def figure(x0: float, y0: float, x1: float, y1: float) -> str:
    place = (x0, y0, x1 - x0, y1 - y0)
    return (
        f"---\nis_table: False\n---\n![Oak](page_{'_'.join(str(round(one)) for one in place)}.png)"
    )


# By family: a name it is served by, the task, what it calls the right and the bottom edge (None: it
# counts pixels), and how it writes where the oak is.
FAMILIES: dict[str, tuple[str, str, float | None, Callable[..., str]]] = {
    "DeepSeek-OCR": (
        "DeepSeek-OCR",
        "markdown",
        999,
        lambda *box: f"<|ref|>text<|/ref|><|det|>[[{numbers(*box)}]]<|/det|>\nOak",
    ),
    "DeepSeek-OCR-2": (
        "DeepSeek-OCR-2",
        "markdown",
        999,
        lambda *box: f"<|ref|>text<|/ref|><|det|>[[{numbers(*box)}]]<|/det|>\nOak",
    ),
    "Unlimited-OCR": (
        "Unlimited-OCR",
        "markdown",
        999,
        lambda *box: f"<|det|>text [{numbers(*box)}]<|/det|>Oak",
    ),
    "dots.ocr": (
        "dots.mocr",
        "markdown",
        None,
        lambda *box: f'[{{"bbox": [{numbers(*box)}], "category": "Text", "text": "Oak"}}]',
    ),
    "PaddleOCR-VL": ("PaddleOCR-VL-1.6", "layout", 1000, locations),
    "Nemotron-Parse": (
        "Nemotron-Parse-2.0",
        "markdown",
        1,
        lambda x0, y0, x1, y1: f"<x_{x0:.4f}><y_{y0:.4f}>Oak<x_{x1:.4f}><y_{y1:.4f}><class_Text>",
    ),
    "HunyuanOCR": (
        "HunyuanOCR",
        "layout",
        1000,
        lambda x0, y0, x1, y1: f"Oak({round(x0)},{round(y0)}),({round(x1)},{round(y1)})",
    ),
    "MinerU2.5": (
        "MinerU2.5-2509-1.2B",
        "layout",
        1000,
        lambda *box: (
            f"<|box_start|>{numbers(*box).replace(',', '')}<|box_end|>"
            "<|ref_start|>text<|ref_end|>Oak"
        ),
    ),
    "Chandra": (
        "chandra",
        "markdown",
        1024,
        lambda *box: f'<div data-bbox="[{numbers(*box)}]" data-label="Text">Oak</div>',
    ),
    "Chandra 2": (
        "chandra-ocr-2",
        "markdown",
        1000,
        lambda *box: (
            f'<div data-bbox="{numbers(*box).replace(",", "")}" data-label="Text">Oak</div>'
        ),
    ),
    "Granite-Docling": (
        "granite-docling-258M",
        "markdown",
        500,
        lambda *box: f"<text>{''.join(f'<loc_{round(edge)}>' for edge in box)}Oak</text>",
    ),
    "LightOnOCR": (
        "LightOnOCR-2-1B-bbox",
        "markdown",
        1000,
        lambda *box: f"![Oak](image_1.png){numbers(*box).replace(' ', '')}",
    ),
    "olmOCR": ("olmOCR-2-7B-1025", "markdown", None, figure),
}


def sent(server: FakeVLLM) -> Image.Image:
    """The picture of the last request."""
    *_, message = server.posts[-1].body["messages"]
    url = message["content"][0]["image_url"]["url"]
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))


def red(picture: Image.Image) -> Box:
    """Where the red rectangle is, in pixels of the picture."""
    pixels = np.asarray(picture.convert("RGB")).astype(int)
    ys, xs = np.nonzero((pixels[..., 0] > 128) & (pixels[..., 1] < 128))
    return xs.min(), ys.min(), xs.max() + 1, ys.max() + 1


def looking(family: str) -> FakeVLLM:
    """A server of the family that says where the red rectangle is on the picture it gets."""
    model, _, edge, writes = FAMILIES[family]
    server = FakeVLLM("chat", model=model, says="")

    def answer(usual: Answer) -> Answer:
        picture = sent(server)
        x0, y0, x1, y1 = red(picture)
        across, down = (edge / side if edge else 1 for side in picture.size)
        said = json.loads(usual.content)
        words = writes(x0 * across, y0 * down, x1 * across, y1 * down)
        said["choices"][0]["message"]["content"] = words
        return replace(usual, content=json.dumps(said).encode())

    server.always(CHAT, answer)
    return server


# Numbers of 500 or 1000 a side are no finer than a pixel on a page of these sides.
PAGES = {
    "upright": (420, 490),
    "wide": (500, 140),
    "high": (110, 480),
    "of odd sides": (333, 487),
}
BOX = (30.0, 42.0, 96.0, 126.0)


def page(size: tuple[int, int]) -> Image.Image:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle((BOX[0], BOX[1], BOX[2] - 1, BOX[3] - 1), fill="red")
    return image


@pytest.mark.parametrize("size", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_box_comes_back_within_a_pixel(family: str, size: tuple[int, int]) -> None:
    server = looking(family)
    document = Talker(BLOCKING, server).ocr(page(size), task=FAMILIES[family][1])
    (block,) = document.pages[0].blocks
    assert "Oak" in block.text
    assert np.abs(np.subtract(block.boxes, BOX)).max() <= 1
    assert document.warnings == ()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_box_on_a_turned_photo_is_in_pixels_of_the_upright_page(family: str) -> None:
    file, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    lying = page((420, 490)).transpose(Image.Transpose.ROTATE_90)
    lying.save(file, "PNG", exif=exif)
    document = Talker(BLOCKING, looking(family)).ocr(file.getvalue(), task=FAMILIES[family][1])
    assert (document.pages[0].width, document.pages[0].height) == (420, 490)
    assert np.abs(np.subtract(document.pages[0].blocks[0].boxes, BOX)).max() <= 1


def test_a_page_with_too_many_pixels_for_the_model_is_made_smaller() -> None:
    image = Image.new("RGB", (3400, 1900), "white")
    ImageDraw.Draw(image).rectangle((400, 800, 1199, 1599), fill="red")
    for family in ("olmOCR", "LightOnOCR", "Chandra"):
        server = looking(family)
        document = Talker(BLOCKING, server).ocr(image)
        assert max(sent(server).size) < 3400
        (boxes,) = document.pages[0].blocks[0].boxes
        # A number of a coarse scale, or a pixel of the small picture, is some pixels of the page.
        assert np.abs(np.subtract(boxes, (400, 800, 1200, 1600))).max() <= 4


def test_every_family_with_places_is_tried_here() -> None:
    with_places = {
        profile.name
        for profile in PROFILES
        if profile.ocr and {profile.ocr.grammar, *profile.ocr.grammars.values()} - {"plain"}
    }
    assert with_places - {"Nemotron-Parse 1.1", "Nanonets-OCR"} == set(FAMILIES)


def test_every_profile_names_grammars_that_there_are() -> None:
    for profile in PROFILES:
        if profile.ocr:
            assert {profile.ocr.grammar, *profile.ocr.grammars.values()} <= set(GRAMMARS)
            assert set(profile.ocr.grammars) <= set(profile.ocr.prompts)


ASKED = {
    "Unlimited-OCR": ("Unlimited-OCR", "<image>document parsing."),
    "dots.ocr": ("dots.ocr", "<|img|><|imgpad|><|endofimg|>Please output the layout information"),
    "GLM-OCR": ("GLM-OCR", "Text Recognition:"),
    "PaddleOCR-VL": ("PaddleOCR-VL", "OCR:"),
    "Nemotron-Parse": (
        "NVIDIA-Nemotron-Parse-v1.1",
        "</s><s><predict_bbox><predict_classes><output_markdown>",
    ),
    "olmOCR": ("olmOCR-2-7B-1025", "Attached is one page of a document that you must process."),
    "Qianfan-OCR": ("Qianfan-OCR", "Parse this document to Markdown."),
    "Nanonets-OCR": ("Nanonets-OCR2-3B", "Extract the text from the above document as if"),
}


@pytest.mark.parametrize(("model", "words"), ASKED.values(), ids=ASKED)
def test_a_family_is_asked_in_its_own_words_behind_the_page(model: str, words: str) -> None:
    server = FakeVLLM("chat", model=model, says="Oak.")
    document = Talker(BLOCKING, server).ocr(page((100, 140)))
    (message,) = server.posts[0].body["messages"]
    picture, text = message["content"]
    assert (picture["type"], text["type"]) == ("image_url", "text")
    assert text["text"].startswith(words)
    assert "Oak." in document.markdown


def test_a_model_that_wants_no_words_gets_none() -> None:
    server = FakeVLLM("chat", model="LightOnOCR-2-1B", says="Oak.")
    Talker(BLOCKING, server).ocr(page((100, 140)))
    fields = dict(server.posts[0].body)
    (message,) = fields.pop("messages")
    assert [part["type"] for part in message["content"]] == ["image_url"]
    assert fields.pop("stream") is True
    assert fields.pop("repetition_detection")
    assert fields == {"model": "LightOnOCR-2-1B", "temperature": 0.2, "top_p": 0.9}


@pytest.mark.parametrize(
    ("model", "system"),
    [("HunyuanOCR", ""), ("MinerU2.5-2509-1.2B", "You are a helpful assistant.")],
)
def test_what_the_system_says_comes_first(model: str, system: str) -> None:
    server = FakeVLLM("chat", model=model, says="Oak.")
    Talker(BLOCKING, server).ocr(page((100, 140)), task="table")
    first, second = server.posts[0].body["messages"]
    assert first == {"role": "system", "content": system}
    assert second["role"] == "user"


def test_a_phrase_is_put_in_its_place() -> None:
    server = FakeVLLM("chat", model="DeepSeek-OCR", says="")
    Talker(BLOCKING, server).ocr(page((100, 140)), task="locate", phrase="Total {phrase}")
    text = server.posts[0].body["messages"][0]["content"][1]["text"]
    assert text == "Locate <|ref|>Total {phrase}<|/ref|> in the image."


@pytest.mark.parametrize(
    ("options", "field", "words"),
    [
        ({"task": "locate"}, "phrase", "needs a `phrase`"),
        ({"phrase": "Total"}, "phrase", "takes no `phrase`"),
        ({"prompt": "Read <image> it."}, "prompt", "stands for the picture"),
        ({"task": "locate", "phrase": "<image>"}, "prompt", "stands for the picture"),
    ],
    ids=str,
)
def test_words_that_a_server_would_take_wrong_are_refused(options, field, words) -> None:
    server = FakeVLLM("chat", model="DeepSeek-OCR", says="")
    with pytest.raises(InvalidRequestError, match=words) as caught:
        Talker(BLOCKING, server).ocr(page((100, 140)), **options)
    assert caught.value.findings[0].field == field
    assert server.posts == []


def test_braces_in_words_of_the_caller_s_own_are_words() -> None:
    server = FakeVLLM("chat", model="mine", says="Oak.")
    Talker(BLOCKING, server, base_url={"ocr": URL}).ocr(page((9, 9)), prompt="Give {phrase}.")
    assert server.posts[0].body["messages"][0]["content"][1]["text"] == "Give {phrase}."


def test_a_page_that_is_too_long_for_the_model_is_refused() -> None:
    server = FakeVLLM("chat", model="dots.ocr", says="[]")
    with pytest.raises(MediaError, match="at most 200 times"):
        Talker(BLOCKING, server).ocr(Image.new("RGB", (4020, 20)))
    assert server.posts == []


def test_any_vision_model_knows_the_usual_tasks() -> None:
    assert set(GENERIC_OCR.prompts) == {"markdown", "text", "table", "formula", "figure"}
