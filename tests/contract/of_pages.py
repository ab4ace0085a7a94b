"""Cases of `/v1/chat/completions` with pages: DeepSeek-OCR, real code with random weights."""

from __future__ import annotations

import io
from functools import partial

from contract import seen
from contract.assets import blank, data_url, page
from contract.case import Case, post, sends
from PIL import Image

from vllm_modalities import OCRRequest

PROMPT = "Free OCR."
PAGE = data_url(page())
HUGE = data_url(blank(18_000, 10_000))  # some 22 KB

chat = partial(post, "ocr", "/v1/chat/completions")


def image(url: object) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": url}}


def saying(*parts: object, **given: object) -> dict[str, object]:
    content = [*parts, {"type": "text", "text": PROMPT}]
    return {
        "model": "deepseek-ocr",
        "messages": [{"role": "user", "content": content}],
        "temperature": 0.0,
        "max_completion_tokens": 4,
        **given,
    }


def read(**given: object) -> dict[str, object]:
    return saying(image(PAGE), **given)


def picture(kind: str) -> str:
    file = io.BytesIO()
    Image.new("RGB", (48, 32), "white").save(file, kind)
    return data_url(file.getvalue(), f"image/{kind.lower()}")


# What every release was recorded without.
BARE = {"stream": None, "repetition_detection": None}

READING = [
    chat(
        "a page",
        read(
            max_completion_tokens=8,
            skip_special_tokens=False,
            vllm_xargs={
                "ngram_size": 30,
                "window_size": 90,
                "whitelist_token_ids": [128821, 128822],
            },
        ),
        call=lambda c: c.ocr(page(), task="text", max_tokens=8, extra_body=BARE),
        observe=seen.finish,
    ),
    chat("tokens of a page", read(), observe=seen.tokens),
    chat(
        "max_tokens",
        read(max_tokens=2) | {"max_completion_tokens": None},
        call=None,
        observe=seen.finish,
    ),
    *(
        chat(f"a page as {kind}", saying(image(picture(kind))), observe=seen.tokens)
        for kind in ("JPEG", "WEBP")
    ),
    chat("two pages", saying(image(PAGE), image(PAGE)), observe=seen.tokens),
    chat("three pages, with two allowed", saying(image(PAGE), image(PAGE), image(PAGE))),
    chat("a page of one pixel", saying(image(data_url(page("", (1, 1))))), observe=seen.tokens),
    chat(
        "text alone",
        saying(),
        observe=seen.tokens,
        gates={"ocr-template": "18 tokens"},  # nine letters, where each is a token, and a start
    ),
    chat(
        "the text before the page",
        {
            **read(),
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": PROMPT}, image(PAGE)]}
            ],
        },
        observe=seen.tokens,
    ),
    chat("no messages, read", read() | {"messages": []}),
    chat("an unknown model, read", read(model="nobody")),
    chat("a page beyond the context", read(max_completion_tokens=100_000)),
]

PICTURES = [
    chat("an image that is none", saying(image("data:image/png;base64,AAAA"))),
    chat("base64 that is none", saying(image("data:image/png;base64,!!"))),
    chat("a data URL without base64", saying(image("data:image/png,AAAA"))),
    chat("a PDF as an image", saying(image(data_url(b"%PDF-1.7", "application/pdf")))),
    chat("a file URL", saying(image("file:///etc/hostname"))),
    chat("an unknown scheme", saying(image("ftp://example.org/a.png"))),
    chat("an image URL that cannot be reached", saying(image("http://127.0.0.1:9/a.png"))),
    chat("an empty image URL", saying(image(""))),
    chat(
        "an image_url that is a text",
        saying({"type": "image_url", "image_url": PAGE}),
        observe=seen.tokens,
    ),
    chat(
        "an audio part",
        saying({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}),
    ),
    chat("an unknown part", saying({"type": "page", "page": PAGE})),
    chat(
        "an image of 180 million pixels",
        saying(image(HUGE)),
        call=sends(OCRRequest, saying(image(HUGE)), pixels=18_000 * 10_000),
        observe=seen.tokens,
        gates={"ocr-pixels": "500 .*"},
    ),
]

ARGUMENTS = [
    *(
        chat(f"vllm_xargs={value!r}", read(vllm_xargs=value), observe=seen.finish)
        for value in (
            {"ngram_size": 30, "window_size": 90},
            {"ngram_size": "3"},
            {"ngram_size": 1.5},
            {"ngram_size": 0},
            {"ngram_size": 3, "window_size": -1},
            {"ngram_size": 3, "whitelist_token_ids": 7},
            {"unknown": 1},
            {"unknown": True},
            {"unknown": {"a": 1}},
            {},
        )
    ),
    chat("vllm_xargs with null", read(vllm_xargs={"ngram_size": None}), observe=seen.finish),
    chat("vllm_xargs as text", read(vllm_xargs='{"ngram_size": 3}'), observe=seen.finish),
    chat(
        "a whitelist of texts",
        read(vllm_xargs={"ngram_size": 2, "whitelist_token_ids": ["1"]}),
        observe=seen.finish,
        ignored=True,
    ),
    chat("stream, read", read(stream=True), call=None, observe=seen.stream),
    chat(
        "stream with wrong vllm_xargs",
        read(stream=True, vllm_xargs={"ngram_size": "3"}),
        call=None,
        observe=seen.stream,
    ),
    chat(
        "mm_processor_kwargs, read",
        read(mm_processor_kwargs={"a": 1}),
        observe=seen.tokens,
        gates={"trusted-mm-processor-kwargs": "400 .*"},
    ),
    chat(
        "media_io_kwargs, read",
        read(media_io_kwargs={"image": {"a": 1}}),
        observe=seen.tokens,
        gates={"trusted-media-io-kwargs": "400 .*"},
    ),
    chat(
        "repetition_detection",
        read(repetition_detection={"max_pattern_size": 8, "min_pattern_size": 1, "min_count": 3}),
        observe=seen.finish,
    ),
    chat(
        "repetition_detection that is none",
        read(repetition_detection="a"),
        call=None,
        observe=seen.tokens,
        gates={"ocr-repetition-detection": ".* tokens"},
    ),
    chat("an unknown field, read", read(prompt_mode="a"), observe=seen.finish, ignored=True),
]

PAGE_CASES: list[Case] = [*READING, *PICTURES, *ARGUMENTS]
