"""Cases of `/pooling`, `/classify` and `/tokenize`, on every kind of pooling model."""

from __future__ import annotations

from functools import partial

from contract import seen
from contract.case import Case, post

TEXT, TEXTS = "a cat", ["a cat", "trains to Berlin"]
SMALL = {"encoding_format": "base64", "endianness": "little", "embed_dtype": "float16"}

pooling = partial(post, "embed", "/pooling")


def fields(**given: object) -> dict[str, object]:
    return {"model": "minilm", "input": TEXT, **SMALL, **given}


OF_AN_EMBEDDER = [
    pooling("a text pooled, as floats", {"model": "minilm", "input": TEXT}, observe=seen.vectors),
    pooling("texts pooled", fields(input=TEXTS), observe=seen.vectors),
    pooling(
        "texts pooled, bytes", fields(input=TEXTS, encoding_format="bytes"), observe=seen.vectors
    ),
    pooling(
        "texts pooled, bytes_only",
        fields(input=TEXTS, encoding_format="bytes_only"),
        observe=seen.lone,
    ),
    pooling("token ids pooled", fields(input=[101, 4937, 102]), observe=seen.vectors),
    *(
        pooling(
            f"task={task}",
            fields(task=task),
            observe=seen.vectors,
            gates={
                "encode": {"pooling-task-encode": "400 .*"},
                "score": {"pooling-task-score": "400 .*"},
            }.get(task, {}),
        )
        for task in (
            *("embed", "token_embed", "classify", "token_classify"),
            *("score", "encode", "plugin", "nonsense"),
        )
    ),
    pooling(
        "task=embed&token_classify",
        fields(task="embed&token_classify"),
        observe=seen.vectors,
    ),
    pooling("dimensions pooled", fields(dimensions=128)),
    pooling("use_activation=false pooled", fields(use_activation=False), observe=seen.vectors),
    pooling(
        "normalize=false pooled",
        fields(normalize=False),
        observe=seen.vectors,
        gates={"normalize-ignored": "384, norm 1.00", "normalize-removed": "400 .*"},
    ),
    pooling("no text at all pooled", fields(input=[])),
    pooling(
        "messages in input pooled",
        fields(input=[{"role": "user", "content": TEXT}]),
    ),
    pooling(
        "request_id pooled",
        fields(request_id="given"),
        observe=seen.identity,
        gates={"pooling-request-id": "id ignored"},
    ),
    pooling(
        "padding=max_length pooled",
        fields(padding="max_length"),
        observe=seen.tokens,
        gates={"pooling-padding": "4 tokens"},
        ignored=True,
    ),
    pooling(
        "data for a plugin", {"model": "minilm", "data": {"a": 1}, "task": "plugin"}, call=None
    ),
]

TOKENIZING = [
    post(
        "embed",
        "/tokenize",
        "text to token ids",
        {"model": "minilm", "prompt": TEXT},
        observe=seen.ids,
    ),
    post(
        "embed",
        "/tokenize",
        "text to tokens in letters",
        {"model": "minilm", "prompt": TEXT, "return_token_strs": True},
        observe=seen.strings,
    ),
    post(
        "embed",
        "/tokenize",
        "text to token ids without special ones",
        {"model": "minilm", "prompt": TEXT, "add_special_tokens": False},
        observe=seen.ids,
    ),
    post(
        "embed",
        "/tokenize",
        "an empty text to token ids",
        {"model": "minilm", "prompt": ""},
        observe=seen.ids,
    ),
    post("embed", "/tokenize", "nothing to tokenize", {"model": "minilm"}),
    post(
        "embed",
        "/detokenize",
        "token ids to text",
        {"model": "minilm", "tokens": [101, 4937, 102]},
        observe=seen.prompt,
    ),
    post("embed", "/detokenize", "a negative id to text", {"model": "minilm", "tokens": [-1]}),
]

classify = partial(post, "classify", "/classify")


def classed(**given: object) -> dict[str, object]:
    return {"model": "classifier", "input": TEXT, **given}


CLASSIFYING = [
    classify("a text classified", classed(), observe=seen.classes),
    classify("texts classified", classed(input=TEXTS), observe=seen.classes),
    classify("token ids classified", classed(input=[101, 4937, 102]), observe=seen.classes),
    classify("an empty text classified", classed(input=""), observe=seen.classes),
    classify("no text at all classified", classed(input=[]), observe=seen.classes),
    classify(
        "use_activation=false classified",
        classed(use_activation=False),
        observe=seen.classes,
        gates={"ranking-bert-logits": "positive -6.*"},
    ),
    classify(
        "normalize=false classified",
        classed(normalize=False),
        observe=seen.classes,
        gates={"normalize-ignored": "positive .*", "normalize-removed": "400 .*"},
        ignored=True,
    ),
    classify("a text beyond the context classified", classed(input="cat " * 600)),
    classify(
        "truncate_prompt_tokens=-1 classified",
        classed(input="cat " * 600, truncate_prompt_tokens=-1),
        observe=seen.tokens,
    ),
    classify(
        "request_id classified",
        classed(request_id="given"),
        observe=seen.identity,
        gates={"pooling-request-id": "id ignored"},
    ),
    classify("an unknown model classified", classed(model="nobody")),
    *(
        post(
            "classify",
            "/pooling",
            f"task={task} on a classifier",
            {**classed(), "task": task},
            observe=observe,
        )
        for task, observe in (
            ("classify", seen.vectors),
            ("token_classify", seen.vectors),
            ("embed", seen.answered),
        )
    ),
    post(
        "classify",
        "/v1/rerank",
        "rerank by three labels",
        {"model": "classifier", "query": TEXT, "documents": TEXTS},
    ),
    post(
        "classify",
        "/v1/embeddings",
        "embed by a classifier",
        {"model": "classifier", "input": TEXT},
    ),
]

late = partial(post, "late-interaction", "/pooling")


def tokenwise(**given: object) -> dict[str, object]:
    return {"model": "colbert", "input": TEXT, **SMALL, **given}


LATE = [
    late("token vectors, as floats", {"model": "colbert", "input": TEXT}, observe=seen.vectors),
    late("token vectors, base64", tokenwise(), observe=seen.vectors),
    late(
        "token vectors of two texts, bytes",
        tokenwise(input=TEXTS, encoding_format="bytes", embed_dtype="float16"),
        observe=seen.vectors,
    ),
    late("token vectors, bytes_only", tokenwise(encoding_format="bytes_only"), observe=seen.lone),
    late("task=token_embed by token vectors", tokenwise(task="token_embed"), observe=seen.vectors),
    late("task=embed by token vectors", tokenwise(task="embed"), observe=seen.vectors),
    late("dimensions of token vectors", tokenwise(dimensions=16)),
    post("late-interaction", "/v1/embeddings", "token vectors on /v1/embeddings", tokenwise()),
    post(
        "late-interaction",
        "/v2/embed",
        "token vectors on /v2/embed",
        {"model": "colbert", "texts": [TEXT], "embedding_types": ["base64"]},
    ),
]

OURS = {"encoding_format": "bytes", "endianness": "little"}
LATE += [
    late(
        "token vectors of two texts, as the client asks",
        {"model": "colbert", "input": TEXTS, "task": "token_embed", **OURS},
        observe=seen.vectors,
        call=lambda client: client.embed_tokens(TEXTS),
    ),
]

weights = partial(post, "token-classify", "/pooling")


def weighed(**given: object) -> dict[str, object]:
    return {"model": "bge-m3", "input": TEXTS, "task": "token_classify", **given}


WEIGHING = [
    weights("token weights, as floats", weighed(), observe=seen.vectors),
    weights(
        "token weights, as the client asks",
        weighed(**OURS),
        observe=seen.vectors,
        call=lambda client: client.token_classify(TEXTS),
    ),
    weights("token weights as logits", weighed(use_activation=False, **OURS), observe=seen.vectors),
    weights("token vectors by token weights", weighed(task="token_embed"), observe=seen.vectors),
    post(
        "token-classify",
        "/v1/embeddings",
        "token weights on /v1/embeddings",
        {"model": "bge-m3", "input": TEXT},
        observe=seen.vectors,
        call=None,  # routes tell which servers are asked; before 0.21 this one would answer
    ),
    post(
        "token-classify",
        "/tokenize",
        "the tokens that are weighed",
        {"model": "bge-m3", "prompt": TEXT},
    ),
]

POOLING_CASES: list[Case] = [*OF_AN_EMBEDDER, *TOKENIZING, *CLASSIFYING, *LATE, *WEIGHING]
