"""Jina's embedding models."""

from __future__ import annotations

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
                f"{MTEB}jinaai/jina-embeddings-v3": "embedding_size context prompts",
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
            "It answers on /pooling with a vector a token; the text's vector is their mean, of"
            " those that `use_activation=False` gives, brought to unit length.",
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

