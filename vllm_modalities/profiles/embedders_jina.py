"""Jina's embedding models."""

from __future__ import annotations

from dataclasses import replace

from ._profile import EmbedProfile, Profile
from ._shorthand import MTEB, VLLM, VLLM_EXAMPLES, VLLM_TESTS, called, cite


def _v2(size: str, width: int) -> Profile:
    model = f"jina-embeddings-v2-{size}-en"
    return Profile(
        name=model,
        pattern=called(model),
        embed=EmbedProfile(
            embedding_size=width,
            context=8192,
            prompts={"query": "", "document": ""},
            sources=cite({f"{MTEB}jinaai/{model}": "embedding_size context prompts"}),
        ),
        notes=(
            "No vLLM release up to 0.33.0 serves it (issues #16639 and #48127 are open); serve"
            " jinaai/jina-embeddings-v3 or jinaai/jina-embeddings-v5-text-small instead.",
        ),
    )


V3_PROMPTS = {
    "query": "Represent the query for retrieving evidence documents: ",
    "document": "Represent the document for retrieval: ",
}

JINA_V3 = Profile(
    name="jina-embeddings-v3",
    pattern=called("jina-embeddings-v3"),
    embed=EmbedProfile(
        pooling="MEAN",
        normalized=True,
        embedding_size=1024,
        matryoshka=(32, 64, 128, 256, 512, 768, 1024),
        context=8192,
        prompts={
            **V3_PROMPTS,
            "retrieval.query": V3_PROMPTS["query"],
            "retrieval.passage": V3_PROMPTS["document"],
        },
        sources=cite(
            {
                f"{VLLM_TESTS}test_jina.py": "pooling",
                "source: jinaai/jina-embeddings-v3 modules.json": "normalized",
                "source: jinaai/jina-embeddings-v3 config.json": "matryoshka",
                f"{MTEB}jinaai/jina-embeddings-v3": "embedding_size context",
                f"{MTEB}jinaai/jina-embeddings-v3; their names are those of its"
                " config_sentence_transformers.json": "prompts",
            }
        ),
    ),
    notes=(
        "vLLM merges only the text-matching adapter into the weights, so retrieval is weaker than"
        " the original's.",
        "It needs --trust-remote-code.",
    ),
)

JINA_V4 = (
    Profile(
        name="jina-embeddings-v4-vllm",
        pattern=called(
            "jina-embeddings-v4-vllm-retrieval",
            "jina-embeddings-v4-vllm-text-matching",
            "jina-embeddings-v4-vllm-code",
        ),
        embed=EmbedProfile(
            pooling="ALL",
            embedding_size=2048,
            matryoshka=(128, 256, 512, 1024, 2048),
            context=32768,
            prompts={"query": "Query: ", "document": "Passage: "},
            sources=cite(
                {
                    f"{VLLM_EXAMPLES}token_embed/jina_embeddings_v4_offline.py": "pooling prompts",
                    "card: jinaai/jina-embeddings-v4": "embedding_size matryoshka context",
                }
            ),
        ),
        notes=(
            "It answers on /pooling with a vector a token; a text's vector is"
            " `client.embed_tokens(texts, normalize=False).mean()`, and `embed` refuses.",
            "Of an image, only the tokens from `<|vision_start|>` (151652) to `<|vision_end|>`"
            " (151653) count, both included.",
        ),
    ),
    Profile(
        name="jina-embeddings-v4",
        pattern=called("jina-embeddings-v4"),
        notes=(
            "No vLLM release up to 0.33.0 serves this repository; serve"
            " jinaai/jina-embeddings-v4-vllm-retrieval, -vllm-text-matching or -vllm-code instead.",
        ),
    ),
)

V5_CODE = f"{VLLM}model_executor/models/jina.py"
V5_TASKS = (
    'A server does one task, retrieval by default; `--hf-overrides \'{"jina_task":'
    ' "text-matching"}\'`, or classification or clustering, chooses another.',
    "The other tasks want `Document: ` in front of every text.",
)


JINA_V5_SMALL = Profile(
    name="jina-embeddings-v5-text-small",
    pattern=called("jina-embeddings-v5-text-small"),
    embed=EmbedProfile(
        pooling="LAST",
        normalized=True,
        embedding_size=1024,
        context=32768,
        prompts={"query": "Query: ", "document": "Document: "},
        sources=cite(
            {
                V5_CODE: "pooling normalized",
                f"{MTEB}jinaai/jina-embeddings-v5-text-small": "embedding_size context prompts",
            }
        ),
    ),
    notes=("It needs vLLM 0.20.0 or later, and --trust-remote-code.", *V5_TASKS),
)

JINA_V5_NANO = Profile(
    name="jina-embeddings-v5-text-nano",
    pattern=called("jina-embeddings-v5-text-nano"),
    embed=EmbedProfile(
        pooling="LAST",
        normalized=True,
        embedding_size=768,
        matryoshka=(32, 64, 128, 256, 512, 768),
        prompts={"query": "Query: ", "document": "Document: "},
        sources=cite(
            {
                V5_CODE: "pooling normalized",
                f"{MTEB}jinaai/jina-embeddings-v5-text-nano": "embedding_size prompts",
                "card: jinaai/jina-embeddings-v5-text-nano": "matryoshka",
            }
        ),
    ),
    notes=("It needs vLLM 0.27.0 or later, and --trust-remote-code.", *V5_TASKS),
)


def _symmetric(profile: Profile) -> Profile:
    """The same model with the weights of a task whose texts are all alike."""
    assert profile.embed
    tasks = ("text-matching", "classification", "clustering")
    embed = replace(
        profile.embed,
        prompts={"query": "Document: ", "document": "Document: "},
        sources={**profile.embed.sources, "prompts": f"{VLLM_TESTS}test_jina.py"},
    )
    name = f"{profile.name} of the other tasks"
    return replace(
        profile,
        name=name,
        pattern=called(*(f"{profile.name}-{task}" for task in tasks)),
        embed=embed,
        notes=profile.notes[:1],
    )


JINA_EMBEDDERS = (
    _v2("small", 512),
    _v2("base", 768),
    JINA_V3,
    *JINA_V4,
    _symmetric(JINA_V5_SMALL),
    _symmetric(JINA_V5_NANO),
    JINA_V5_SMALL,
    JINA_V5_NANO,
)
