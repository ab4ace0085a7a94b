"""Cases of `/v1/embeddings` and `/v2/embed`: a small embedder, one that shortens, one with chat."""

from __future__ import annotations

from functools import partial

from contract import seen
from contract.assets import data_url, page
from contract.case import AUTHORIZED, KEY, Case, get, post

TEXT, TEXTS = "a cat", ["a cat", "trains to Berlin"]
LONG = "cat " * 300  # the embedder reads 256 tokens
BASE64 = {"encoding_format": "base64", "endianness": "little"}
SMALL = {**BASE64, "embed_dtype": "float16"}  # where the numbers are not what a case is about
PICTURE = data_url(page())
MESSAGE = {"role": "user", "content": TEXT}

plain = partial(post, "embed", "/v1/embeddings")
cohere = partial(post, "embed", "/v2/embed")


def fields(**given: object) -> dict[str, object]:
    """A text for the small embedder, with what else is given."""
    return {"model": "minilm", "input": TEXT, **SMALL, **given}


def wire(encoding: str, **given: object) -> dict[str, object]:
    return {"model": "minilm", "input": TEXT, "encoding_format": encoding, **given}


FORMATS = [
    plain("a text, as floats", wire("float"), observe=seen.vectors),
    *(
        plain(
            f"{encoding}, {kind}, {order}-endian",
            wire(encoding, embed_dtype=kind, endianness=order),
            observe=seen.vectors,
        )
        for encoding in ("base64", "bytes")
        for kind, order in (
            *(("float32", "little"), ("float32", "big"), ("float32", "native")),
            *(("float16", "little"), ("bfloat16", "little")),
            *(("fp8_e4m3", "little"), ("fp8_e5m2", "little")),
        )
    ),
    *(
        plain(
            f"two texts, {encoding}",
            wire(encoding, input=TEXTS, embed_dtype="float16", endianness="little"),
            observe=observe,
        )
        for encoding, observe in (
            *(("base64", seen.vectors), ("bytes", seen.vectors), ("bytes_only", seen.lone)),
        )
    ),
    plain("an unknown encoding_format", wire("hex"), observe=seen.vectors),
    plain("an unknown embed_dtype", wire("base64", embed_dtype="float64"), observe=seen.vectors),
    plain("an unknown endianness", wire("base64", endianness="middle"), observe=seen.vectors),
    # The client's own call for one text of a model whose width is not known yet.
    plain(
        "a text, by embed",
        {"model": "minilm", "input": [TEXT], **BASE64},
        call=lambda c: c.embed(TEXT),
        observe=seen.vectors,
    ),
]

INPUTS = [
    plain("token ids", fields(input=[101, 4937, 102]), observe=seen.tokens),
    plain("token ids of two texts", fields(input=[[101, 4937], [102]]), observe=seen.vectors),
    plain(
        "a negative token id",
        fields(input=[-1]),
        observe=seen.vectors,
        gates={"negative-token-id": "[45]00 .*"},
    ),
    plain("a token id out of the vocabulary", fields(input=[99_999_999]), observe=seen.vectors),
    plain("fractions for token ids", fields(input=[1.5]), observe=seen.vectors),
    plain("texts and token ids mixed", fields(input=["a", 1]), observe=seen.vectors),
    plain("an empty text", fields(input=""), observe=seen.tokens),
    plain("no text at all", fields(input=[]), observe=seen.vectors),
    plain("no token ids", fields(input=[[]]), observe=seen.vectors),
    plain("null for input", fields(input=None), call=None, observe=seen.vectors),
    plain("no input", {"model": "minilm"}, observe=seen.vectors),
    plain("emoji and a NUL", fields(input="😀é\0x"), observe=seen.tokens),
    plain("a text beyond the context", fields(input=LONG), observe=seen.tokens),
    plain("one text of two beyond the context", fields(input=[TEXT, LONG]), observe=seen.tokens),
    plain("token ids beyond the context", fields(input=[4937] * 300), observe=seen.tokens),
    plain("messages, without a chat template", {"model": "minilm", "messages": [MESSAGE]}),
    plain("no model", {"input": TEXT, **SMALL}, call=None, observe=seen.vectors),
    plain("an unknown model", fields(model="nobody"), observe=seen.vectors),
]

OPTIONS = [
    plain("dimensions on a model that cannot shorten", fields(dimensions=128)),
    plain("use_activation=false", fields(use_activation=False), observe=seen.vectors),
    plain("use_activation=true", fields(use_activation=True), observe=seen.vectors),
    plain(
        "normalize=false",
        fields(normalize=False),
        observe=seen.vectors,
        gates={"normalize-ignored": "384, norm 1.00", "normalize-removed": "400 .*"},
    ),
    plain(
        "truncate_prompt_tokens=-1",
        fields(input=LONG, truncate_prompt_tokens=-1),
        observe=seen.tokens,
    ),
    plain(
        "truncate_prompt_tokens=0",
        fields(truncate_prompt_tokens=0),
        observe=seen.tokens,
        gates={"embeddings-truncate-to-nothing": "400 .*"},
    ),
    plain("truncate_prompt_tokens=-2", fields(truncate_prompt_tokens=-2), observe=seen.tokens),
    plain("truncate_prompt_tokens=4", fields(truncate_prompt_tokens=4), observe=seen.tokens),
    plain(
        "truncate_prompt_tokens above the context",
        fields(truncate_prompt_tokens=100_000),
        observe=seen.tokens,
    ),
    *(
        plain(
            f"truncation_side={side}",
            fields(input="bread " * 9 + "train", truncate_prompt_tokens=4, truncation_side=side),
            observe=seen.tokens,
        )
        for side in ("left", "right")
    ),
    plain(
        "an unknown truncation_side",
        fields(truncation_side="middle"),
        observe=seen.tokens,
        gates={"pooling-truncation-side": ".* tokens"},
    ),
    plain(
        "padding=max_length",
        fields(padding="max_length"),
        observe=seen.tokens,
        gates={"pooling-padding": "4 tokens"},
        ignored=True,
    ),
    plain(
        "padding=do_not_pad",
        fields(padding="do_not_pad"),
        observe=seen.tokens,
        ignored=True,
    ),
    plain(
        "an unknown padding",
        fields(padding="middle"),
        observe=seen.tokens,
        gates={"pooling-padding": "4 tokens"},
    ),
    plain("add_special_tokens=false", fields(add_special_tokens=False), observe=seen.tokens),
    plain("user", fields(user="somebody"), observe=seen.vectors),
    plain("priority=5", fields(priority=5), observe=seen.vectors),
    plain("priority=2**63", fields(priority=2**63), observe=seen.vectors),
    plain(
        "request_id",
        fields(request_id="given"),
        observe=seen.identity,
        gates={"pooling-request-id": "id ignored"},
    ),
    plain(
        "a header X-Request-Id",
        fields(),
        headers={"X-Request-Id": "given"},
        observe=seen.identity,
    ),
    plain(
        "an empty cache_salt",
        fields(cache_salt=""),
        gates={
            "pooling-cache-salt-empty-0.25.0": "400 .*",
            "pooling-cache-salt-empty-0.29.0": "400 .*",
        },
    ),
    plain("cache_salt", fields(cache_salt="salt-of-mine")),
    plain(
        "a cache_salt of 1025 characters",
        fields(cache_salt="s" * 1025),
        gates={"pooling-cache-salt-1024": "400 .*", "pooling-cache-salt-128": "400 .*"},
    ),
    plain(
        "a cache_salt of 129 characters",
        fields(cache_salt="s" * 129),
        gates={"pooling-cache-salt-128": "400 .*"},
    ),
    plain("a cache_salt of 128 characters", fields(cache_salt="s" * 128)),
    plain(
        "a cache_salt with a slash",
        fields(cache_salt="a/b"),
        gates={"pooling-cache-salt-characters": "400 .*"},
    ),
    plain(
        "mm_processor_kwargs",
        fields(mm_processor_kwargs={"a": 1}),
        gates={"trusted-mm-processor-kwargs": "400 .*"},
    ),
    plain("mm_processor_kwargs={}", fields(mm_processor_kwargs={})),
    plain("an unknown field", fields(dimension=5), observe=seen.vectors, ignored=True),
    plain(
        "chat_template_kwargs with plain text",
        fields(chat_template_kwargs={"a": 1}),
        observe=seen.tokens,
        gates={"embeddings-chat-options": "4 tokens"},
        ignored=True,
    ),
]

MALFORMED = [
    get(
        "embed",
        "/v1/embeddings",
        "broken JSON",
        method="POST",
        headers={"Content-Type": "application/json"},
        text="{bad",
    ),
    get(
        "embed",
        "/v1/embeddings",
        "JSON that is called text",
        method="POST",
        headers={"Content-Type": "text/plain"},
        text='{"input": "a"}',
    ),
    get(
        "embed",
        "/v1/embeddings",
        "JSON that is no object",
        method="POST",
        headers={"Content-Type": "application/json"},
        text='["a"]',
    ),
    get("embed", "/v1/embeddings", "GET where POST is meant"),
    get("embed", "/v1/no-such-route", "an unknown route"),
    post(
        "embed",
        "/v1/audio/transcriptions",
        "a route of another task",
        {"model": "minilm"},
        call=None,
    ),
    post(
        "embed",
        "/v1/chat/completions",
        "chat",
        {"model": "minilm", "messages": [MESSAGE]},
    ),
    post("embed", "/classify", "classify", {"model": "minilm", "input": TEXT}),
]


def texts(**given: object) -> dict[str, object]:
    return {"model": "minilm", "texts": [TEXT], "embedding_types": ["base64"], **given}


CONTENT = [{"content": [{"type": "text", "text": TEXT}]}]

COHERE = [
    cohere("texts", {"model": "minilm", "texts": [TEXT]}, observe=seen.vectors),
    *(
        cohere(f"embedding_types=[{kind}]", texts(embedding_types=[kind]), observe=seen.kinds)
        for kind in ("float", "base64", "binary", "ubinary", "int8")
    ),
    cohere("two embedding_types", texts(embedding_types=["binary", "base64"]), observe=seen.kinds),
    cohere("input_type on a model without prompts", texts(input_type="query")),
    cohere("a text beyond the context is cut at its end", texts(texts=[LONG]), observe=seen.tokens),
    *(
        cohere(f"truncate={how}", texts(texts=[LONG], truncate=how), observe=seen.tokens)
        for how in ("END", "START", "NONE", "MIDDLE")
    ),
    cohere("max_tokens with END", texts(max_tokens=3, truncate="END"), observe=seen.tokens),
    cohere("max_tokens with NONE", texts(max_tokens=3, truncate="NONE"), observe=seen.tokens),
    cohere("output_dimension on a model that cannot shorten", texts(output_dimension=128)),
    cohere("images on a model for texts", {"model": "minilm", "images": [PICTURE]}),
    cohere("inputs without a chat template", {"model": "minilm", "inputs": CONTENT}),
    cohere("texts and inputs", texts(inputs=CONTENT), observe=seen.kinds),
    cohere("neither texts nor inputs nor images", {"model": "minilm"}),
    cohere("no text at all, by Cohere's shape", texts(texts=[]), observe=seen.kinds),
    cohere("an empty text, by Cohere's shape", texts(texts=[""]), observe=seen.tokens),
    cohere(
        "an unknown field, by Cohere's shape",
        texts(normalize=False),
        observe=seen.vectors,
        ignored=True,
    ),
    cohere("an unknown model, by Cohere's shape", texts(model="nobody")),
]

short = partial(post, "embed-matryoshka", "/v1/embeddings", headers=AUTHORIZED)


def sized(dimensions: object, text: str = TEXT) -> dict[str, object]:
    body = {"model": "minilm-matryoshka", "input": text, **BASE64}
    return body if dimensions is None else {**body, "dimensions": dimensions}


DIMENSIONS = [
    *(
        short(
            f"dimensions={size}",
            {**sized(size), "input": [TEXT]},
            call=lambda c, size=size: c.embed(TEXT, dimensions=size),
            observe=seen.vectors,
            ignored=size > 384,
        )
        for size in (128, 384, 385, 0, -1)
    ),
    *(
        short(f"dimensions={size!r}", sized(size), call=None, observe=seen.vectors)
        for size in ("128", 128.5, True)
    ),
    *(
        # What the client asks to learn which sizes a model takes.
        short(f"a probe of {what}", {**sized(None, "a"), **probe}, call=None, observe=seen.vectors)
        for what, probe in (
            ("0 dimensions", {"dimensions": 0}),
            ("383 dimensions", {"dimensions": 383}),
            ("382 dimensions", {"dimensions": 382}),
            ("the width", {}),
        )
    ),
    *(
        post(
            "embed-matryoshka",
            "/v2/embed",
            f"output_dimension={size}, {kind}",
            {
                "model": "minilm-matryoshka",
                "texts": [TEXT],
                "embedding_types": [kind],
                "output_dimension": size,
            },
            headers=AUTHORIZED,
            observe=seen.kinds,
            ignored=size > 384,
        )
        for size, kind in ((128, "base64"), (385, "base64"), (100, "binary"))
    ),
    post(
        "embed-matryoshka",
        "/pooling",
        "dimensions on /pooling",
        {"model": "minilm-matryoshka", "input": TEXT, "dimensions": 128},
        headers=AUTHORIZED,
    ),
]

GUARDED = [
    *(
        post("embed-matryoshka", path, f"{path} without the key", body, call=None)
        for path, body in (
            ("/v1/embeddings", {"input": TEXT, **SMALL}),
            ("/v2/embed", {"texts": [TEXT], "embedding_types": ["base64"]}),
            ("/pooling", {"input": TEXT, **SMALL}),
            ("/v1/rerank", {"query": TEXT, "documents": TEXTS}),
            ("/rerank", {"query": TEXT, "documents": TEXTS}),
            ("/v1/score", {"queries": TEXT, "documents": TEXTS}),
            ("/score", {"queries": TEXT, "documents": TEXTS}),
            ("/tokenize", {"prompt": TEXT}),
        )
    ),
    *(
        short(f"a key {what}", sized(384), headers={"Authorization": value}, call=None)
        for what, value in (
            ("that is wrong", "Bearer nobody"),
            ("in small letters", f"bearer {KEY}"),
            ("as a password", f"Basic {KEY}"),
        )
    ),
    short(
        "the answer's X-Request-Id",
        sized(384),
        headers={**AUTHORIZED, "X-Request-Id": "given"},
        call=None,
        observe=seen.header("x-request-id"),
    ),
    short(
        "the X-Request-Id of an error",
        sized(0),
        headers={"X-Request-Id": "given"},
        call=None,
        observe=seen.header("x-request-id"),
    ),
]

CHUNKED = [
    # This server splits what is longer than its context.
    short(
        "a text of three chunks",
        {"model": "minilm-matryoshka", "input": "bread and trains " * 200, **SMALL},
        call=None,
        observe=seen.vectors,
        gates={"embeddings-chunked-norm": r"384, norm 0\..*"},
    ),
]

chat = partial(post, "qwen3-embed", "/v1/embeddings")


def said(**given: object) -> dict[str, object]:
    return {"model": "qwen3-embed", "messages": [MESSAGE], **SMALL, **given}


def typed(**given: object) -> dict[str, object]:
    return {"model": "qwen3-embed", "texts": [TEXT], "embedding_types": ["base64"], **given}


CHAT = [
    chat("a text", {"model": "qwen3-embed", "input": TEXT, **SMALL}, observe=seen.tokens),
    chat("messages", said(), observe=seen.tokens),
    chat("messages with add_special_tokens", said(add_special_tokens=True), observe=seen.tokens),
    chat(
        "a batch of conversations",
        said(messages=[[MESSAGE], [MESSAGE]]),
        observe=seen.vectors,
        gates={"embeddings-message-batch": "400 .*"},
    ),
    chat(
        "messages in input",
        {"model": "qwen3-embed", "input": [MESSAGE], **SMALL},
        observe=seen.tokens,
        gates={"embeddings-message-input": "400 .*"},
    ),
    chat(
        "a batch of conversations in input",
        {"model": "qwen3-embed", "input": [[MESSAGE], [MESSAGE]], **SMALL},
        observe=seen.vectors,
        gates={"embeddings-message-input": "400 .*"},
    ),
    chat(
        "messages and input",
        said(input="trains to Berlin and back"),
        observe=seen.tokens,
        gates={"embeddings-both-shapes": "13 tokens"},  # those of the messages
        ignored=True,
    ),
    chat("no messages", said(messages=[]), observe=seen.tokens),
    chat("content in parts", said(messages=[{"role": "user", "content": CONTENT[0]["content"]}])),
    chat("add_generation_prompt", said(add_generation_prompt=True), observe=seen.tokens),
    chat("continue_final_message", said(continue_final_message=True), observe=seen.tokens),
    chat(
        "both endings",
        said(add_generation_prompt=True, continue_final_message=True),
        gates={"chat-both-endings": "400 .*"},
    ),
    chat(
        "chat_template",
        said(chat_template="{{ messages[0].content }}"),
        gates={"chat-template-trusted": "400 .*"},
    ),
    chat("chat_template_kwargs", said(chat_template_kwargs={"a": 1}), observe=seen.tokens),
    chat(
        "media_io_kwargs",
        said(media_io_kwargs={"image": {"a": 1}}),
        gates={"trusted-media-io-kwargs": "400 .*"},
    ),
    chat(
        "media_io_kwargs that is no object",
        said(media_io_kwargs="a"),
        gates={"media-io-kwargs-unknown": "200"},
    ),
    chat(
        "an image on a model for texts",
        said(
            messages=[
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": PICTURE}}],
                }
            ]
        ),
    ),
    post("qwen3-embed", "/v2/embed", "a text by Cohere's shape", typed(), observe=seen.tokens),
    post(
        "qwen3-embed",
        "/v2/embed",
        "input_type=query",
        typed(input_type="query"),
        observe=seen.tokens,
        # The model reads characters: before the text, the prompt would make it 94.
        gates={"cohere-system-message": "114 tokens"},
    ),
    post(
        "qwen3-embed",
        "/v2/embed",
        "input_type=document, whose prompt is empty",
        typed(input_type="document"),
        observe=seen.tokens,
    ),
    post("qwen3-embed", "/v2/embed", "an unknown input_type", typed(input_type="search_query")),
    post(
        "qwen3-embed",
        "/v2/embed",
        "inputs",
        {"model": "qwen3-embed", "inputs": CONTENT, "embedding_types": ["base64"]},
        observe=seen.tokens,
    ),
    post(
        "qwen3-embed",
        "/tokenize",
        "messages to token ids",
        {"model": "qwen3-embed", "messages": [MESSAGE]},
        observe=seen.ids,
    ),
    post(
        "qwen3-embed",
        "/pooling",
        "messages on /pooling",
        {"model": "qwen3-embed", "messages": [MESSAGE], **SMALL},
        observe=seen.tokens,
    ),
    post(
        "qwen3-embed",
        "/pooling",
        "messages in input on /pooling",
        {"model": "qwen3-embed", "input": [MESSAGE], **SMALL},
        observe=seen.tokens,
    ),
]

EMBEDDING_CASES: list[Case] = [
    *FORMATS,
    *INPUTS,
    *OPTIONS,
    *MALFORMED,
    *COHERE,
    *DIMENSIONS,
    *GUARDED,
    *CHUNKED,
    *CHAT,
]
