"""BAAI's embedding models."""

from __future__ import annotations

from ._profile import EmbedProfile, Profile
from ._shorthand import (
    FLAG,
    MTEB,
    SEARCH_PASSAGES,
    VLLM_TESTS,
    called,
    cite,
)

MAPPING = f"{FLAG}embedder/model_mapping.py"

BGE_M3 = Profile(
    name="bge-m3",
    pattern=called("bge-m3"),
    embed=EmbedProfile(
        pooling="CLS",
        normalized=True,
        embedding_size=1024,
        matryoshka=(),
        context=8192,
        prompts={"query": "", "document": ""},
        sources=cite(
            {
                MAPPING: "pooling prompts",
                "source: BAAI/bge-m3 modules.json": "normalized",
                f"{MTEB}BAAI/bge-m3": "embedding_size matryoshka context",
            }
        ),
    ),
    notes=(
        'Lexical weights and token vectors need `--hf-overrides \'{"architectures":'
        ' ["BgeM3EmbeddingModel"]}\'` and, from vLLM 0.20, a server for each of them'
        " (`--pooler-config.task`).",
        "vLLM sums over the query's tokens where FlagEmbedding takes their mean.",
    ),
)


def _english(size: str, width: int) -> Profile:
    model = f"bge-{size}-en-v1.5"
    return Profile(
        name=model,
        pattern=called(model),
        embed=EmbedProfile(
            pooling="CLS",
            normalized=True,
            embedding_size=width,
            context=512,
            prompts={"query": SEARCH_PASSAGES, "document": ""},
            sources=cite(
                {
                    MAPPING: "pooling",
                    f"source: BAAI/{model} modules.json": "normalized",
                    f"source: BAAI/{model} config.json": "embedding_size",
                    f"{MTEB}BAAI/{model}": "context prompts",
                }
            ),
        ),
    )


BGE_CHINESE = Profile(
    name="bge-zh-v1.5",
    pattern=called("bge-small-zh-v1.5", "bge-base-zh-v1.5", "bge-large-zh-v1.5"),
    embed=EmbedProfile(
        pooling="CLS",
        prompts={"query": "为这个句子生成表示以用于检索相关文章：", "document": ""},
        sources=cite({MAPPING: "pooling", f"{MTEB}BAAI/bge-base-zh-v1.5": "prompts"}),
    ),
)

BGE_LANGUAGE_MODELS = (
    Profile(
        name="bge-multilingual-gemma2",
        pattern=called("bge-multilingual-gemma2"),
        embed=EmbedProfile(
            pooling="LAST",
            embedding_size=3584,
            context=8192,
            prompts={
                "query": "<instruct>Given a question, retrieve passages that answer the question."
                "\n<query>",
                "document": "",
            },
            sources=cite(
                {
                    MAPPING: "pooling",
                    f"{MTEB}BAAI/bge-multilingual-gemma2": "embedding_size context",
                    "source: FlagOpen/FlagEmbedding examples/inference/embedder/decoder_only/"
                    "base_single_device.py": "prompts",
                }
            ),
        ),
        notes=(r"The task in the query's prompt is free: `<instruct>{task}\n<query>`.",),
    ),
    Profile(
        name="bge-en-icl",
        pattern=called("bge-en-icl"),
        embed=EmbedProfile(
            pooling="LAST",
            embedding_size=4096,
            context=32768,
            sources=cite({MAPPING: "pooling", f"{MTEB}BAAI/bge-en-icl": "embedding_size context"}),
        ),
        notes=(
            r"A query reads `<instruct>{task}\n<query>{query}\n<response>`: words before and after"
            " it, so no input type does it for you. Documents go plain.",
        ),
    ),
    Profile(
        name="bge-code-v1",
        pattern=called("bge-code-v1"),
        embed=EmbedProfile(pooling="LAST", sources=cite({f"{VLLM_TESTS}test_baai.py": "pooling"})),
        notes=(
            r"A query reads `<instruct>{task}\n<query>{query}`, and no task is the usual one, so no"
            " input type does it for you. Documents go plain.",
        ),
    ),
)

BGE_EMBEDDERS = (
    BGE_M3,
    _english("small", 384),
    _english("base", 768),
    _english("large", 1024),
    BGE_CHINESE,
    *BGE_LANGUAGE_MODELS,
)
