"""intfloat's e5 embedding models."""

from __future__ import annotations

from ._profile import EmbedProfile, Profile
from ._shorthand import FLAG, MTEB, VLLM_TESTS, WEB_SEARCH, called, cite

PREFIXES = {"query": "query: ", "document": "passage: "}
INSTRUCTION = {"query": f"Instruct: {WEB_SEARCH}\nQuery: ", "document": ""}
FREE_TASK = (
    r"The task in the query's prompt is free: `Instruct: {task}\nQuery: `, with a space at the end."
)
MAPPING = f"{FLAG}embedder/model_mapping.py"


def _english(size: str, width: int) -> Profile:
    model = f"e5-{size}"
    return Profile(
        name=model,
        pattern=rf"(?<!multilingual[-_.]){called(model)}",
        embed=EmbedProfile(
            pooling="MEAN",
            embedding_size=width,
            matryoshka=(),
            context=512,
            prompts=PREFIXES,
            sources=cite(
                {
                    MAPPING: "pooling",
                    f"{MTEB}intfloat/{model} and -v2": "embedding_size matryoshka context prompts",
                }
            ),
        ),
        notes=("Every text needs one of its two prefixes.",),
    )


def _multilingual(size: str, width: int) -> Profile:
    model = f"multilingual-e5-{size}"
    return Profile(
        name=model,
        pattern=called(model),
        embed=EmbedProfile(
            pooling="MEAN",
            normalized=True,
            embedding_size=width,
            context=512,
            prompts=PREFIXES,
            sources=cite(
                {
                    f"{VLLM_TESTS}test_intfloat.py": "pooling",
                    f"source: intfloat/{model} modules.json": "normalized",
                    f"{MTEB}intfloat/{model}": "embedding_size context prompts",
                }
            ),
        ),
        notes=("Every text needs one of its two prefixes.",),
    )


E5_EMBEDDERS = (
    Profile(
        name="multilingual-e5-large-instruct",
        pattern=called("multilingual-e5-large-instruct"),
        embed=EmbedProfile(
            pooling="MEAN",
            embedding_size=1024,
            context=512,
            prompts=INSTRUCTION,
            sources=cite(
                {
                    MAPPING: "pooling",
                    f"{MTEB}intfloat/multilingual-e5-large-instruct": "embedding_size",
                    f"{MTEB}intfloat/multilingual-e5-large-instruct, 514 positions less 2": (
                        "context"
                    ),
                    "card: intfloat/multilingual-e5-large-instruct": "prompts",
                }
            ),
        ),
        notes=(FREE_TASK,),
    ),
    Profile(
        name="e5-mistral-7b-instruct",
        pattern=called("e5-mistral-7b-instruct"),
        embed=EmbedProfile(
            pooling="LAST",
            embedding_size=4096,
            context=32768,
            prompts=INSTRUCTION,
            sources=cite(
                {
                    MAPPING: "pooling",
                    f"{MTEB}intfloat/e5-mistral-7b-instruct": "embedding_size context",
                    "card: intfloat/e5-mistral-7b-instruct, web_search_query": "prompts",
                }
            ),
        ),
        notes=(
            FREE_TASK,
            "Its makers advise at most 4096 tokens.",
            "It pools a `</s>` (id 2) that its tokenizer no longer appends under transformers 5;"
            " see what /tokenize answers, and append it where it is missing.",
        ),
    ),
    _multilingual("small", 384),
    _multilingual("base", 768),
    _multilingual("large", 1024),
    _english("small", 384),
    _english("base", 768),
    _english("large", 1024),
)
