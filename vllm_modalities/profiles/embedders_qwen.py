"""Embedding models on Qwen's language models, and those of Alibaba's gte family."""

from __future__ import annotations

from collections.abc import Mapping

from ._profile import EmbedProfile, Profile
from ._shorthand import FLAG, MTEB, VLLM_DOCS, VLLM_TESTS, WEB_SEARCH, called, cite

QWEN3 = "source: QwenLM/Qwen3-Embedding@f4ad0c4 "
QWEN3_PROMPTS = {"query": f"Instruct: {WEB_SEARCH}\nQuery:", "document": ""}
QWEN3_NOTES = (
    r"The task in the query's prompt is free, in English: `Instruct: {task}\nQuery:`, with no"
    " space at the end.",
    "It pools an `<|endoftext|>` that the tokenizer appends; token ids need it too.",
    "It takes `dimensions` if served with `--hf-overrides '{\"is_matryoshka\": true}'`.",
)


def _qwen3(size: str, width: int) -> Profile:
    return Profile(
        name=f"Qwen3-Embedding-{size}",
        pattern=called(f"qwen3-embedding-{size}"),
        embed=EmbedProfile(
            pooling="LAST",
            embedding_size=width,
            matryoshka=range(32, width + 1),
            context=32768,
            prompts=QWEN3_PROMPTS,
            sources=cite(
                {
                    f"{VLLM_TESTS}test_gte.py": "pooling",
                    f"{MTEB}Qwen/Qwen3-Embedding-{size}": "embedding_size context",
                    f"{QWEN3}examples/qwen3_embedding_vllm.py; keras-team/keras-hub PR #2455": (
                        "matryoshka"
                    ),
                    f"{QWEN3}README.md": "prompts",
                }
            ),
        ),
        notes=QWEN3_NOTES,
    )


QWEN3_EMBEDDING = Profile(
    name="Qwen3-Embedding",
    pattern=called("qwen3-embedding"),
    embed=EmbedProfile(
        pooling="LAST",
        context=32768,
        prompts=QWEN3_PROMPTS,
        sources=cite(
            {f"{VLLM_TESTS}test_gte.py": "pooling", f"{QWEN3}README.md": "context prompts"}
        ),
    ),
    notes=("Its name does not say its size, so its width is not known.", *QWEN3_NOTES),
)


def _gte_qwen2(
    size: str, width: int, normalized: bool | None, places: Mapping[str, str]
) -> Profile:
    return Profile(
        name=f"gte-Qwen2-{size}-instruct",
        pattern=called(f"gte-qwen2-{size}-instruct"),
        embed=EmbedProfile(
            pooling="LAST",
            normalized=normalized,
            embedding_size=width,
            context=32768,
            prompts={"query": f"Instruct: {WEB_SEARCH}\nQuery: ", "document": ""},
            sources=cite(
                {
                    f"{FLAG}embedder/model_mapping.py": "pooling",
                    f"{FLAG}embedder/model_mapping.py, its form; the task is free": "prompts",
                    f"{MTEB}Alibaba-NLP/gte-Qwen2-{size}-instruct": "context",
                    **places,
                }
            ),
        ),
        notes=(
            r"The task in the query's prompt is free: `Instruct: {task}\nQuery: `, with a space at"
            " the end.",
            "It needs --trust-remote-code: only its own tokenizer appends the token it pools.",
        ),
    )


GTE = (
    _gte_qwen2(
        "1.5B",
        1536,
        None,
        {"source: Alibaba-NLP/gte-Qwen2-1.5B-instruct config.json": "embedding_size"},
    ),
    _gte_qwen2(
        "7B",
        3584,
        True,
        {
            "source: Alibaba-NLP/gte-Qwen2-7B-instruct config.json": "embedding_size",
            "source: Alibaba-NLP/gte-Qwen2-7B-instruct modules.json": "normalized",
        },
    ),
    Profile(
        name="gte-modernbert-base",
        pattern=called("gte-modernbert-base"),
        embed=EmbedProfile(
            pooling="CLS",
            embedding_size=768,
            context=8192,
            prompts={"query": "", "document": ""},
            sources=cite(
                {
                    f"{VLLM_TESTS}test_gte.py": "pooling",
                    f"{MTEB}Alibaba-NLP/gte-modernbert-base": "embedding_size context prompts",
                }
            ),
        ),
    ),
    Profile(
        name="gte-multilingual-base",
        pattern=called("gte-multilingual-base"),
        embed=EmbedProfile(
            pooling="CLS",
            normalized=True,
            embedding_size=768,
            matryoshka=range(128, 769),
            context=8192,
            prompts={"query": "", "document": ""},
            sources=cite(
                {
                    f"{VLLM_TESTS}test_gte.py": "pooling",
                    "source: Alibaba-NLP/gte-multilingual-base modules.json": "normalized",
                    f"{MTEB}Alibaba-NLP/gte-multilingual-base": "embedding_size context prompts",
                    "card: Alibaba-NLP/gte-multilingual-base": "matryoshka",
                }
            ),
        ),
        notes=(
            'It needs `--hf-overrides \'{"architectures": ["GteNewModel"]}\'` and'
            " --trust-remote-code.",
        ),
    ),
    Profile(
        name="gte-large",
        pattern=called("gte-large") + r"(?![-_.](?:en|zh)[-_.]?)",
        embed=EmbedProfile(
            pooling="MEAN",
            embedding_size=1024,
            context=512,
            prompts={"query": "", "document": ""},
            sources=cite(
                {
                    f"{VLLM_TESTS}test_gte.py": "pooling",
                    f"{MTEB}thenlper/gte-large": "embedding_size context prompts",
                }
            ),
        ),
    ),
)

QWEN_EMBEDDERS = (
    _qwen3("0.6B", 1024),
    _qwen3("4B", 2560),
    _qwen3("8B", 4096),
    QWEN3_EMBEDDING,
    *GTE,
    Profile(
        name="Qwen2-7B-Instruct-embed-base",
        pattern=called("qwen2-7b-instruct-embed-base"),
        embed=EmbedProfile(
            pooling="MEAN",
            embedding_size=3584,
            prompts={"query": "", "document": ""},
            sources=cite({f"{VLLM_DOCS}embed.md": "pooling embedding_size prompts"}),
        ),
        notes=('It needs `--pooler-config \'{"pooling_type": "MEAN"}\'`.',),
    ),
)
