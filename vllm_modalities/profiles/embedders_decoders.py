"""Embedding models on language models: stella, nvidia's, voyage."""

from __future__ import annotations

from ._profile import EmbedProfile, Profile
from ._shorthand import MTEB, VLLM, VLLM_EXAMPLES, VLLM_TESTS, WEB_SEARCH, called, cite

S2P = f"Instruct: {WEB_SEARCH}.\nQuery: "
S2S = "Instruct: Retrieve semantically similar text.\nQuery: "


def _stella(size: str, *notes: str) -> Profile:
    model = f"stella_en_{size}_v5"
    return Profile(
        name=model,
        pattern=called(model),
        embed=EmbedProfile(
            normalized=False,
            embedding_size=1024,
            matryoshka=(),
            prompts={"query": S2P, "document": "", "s2p_query": S2P, "s2s_query": S2S},
            sources=cite(
                {
                    f"source: NovaSearch/{model} modules.json": "normalized embedding_size",
                    f"card: NovaSearch/{model}": "matryoshka prompts",
                }
            ),
        ),
        notes=(
            *notes,
            "Vectors of other widths come from heads of their own, which vLLM does not load.",
            "It was trained on 512 tokens.",
        ),
    )


STELLA = (_stella("1.5B", "It needs --trust-remote-code."), _stella("400M"))

JASPER = (
    Profile(
        name="jasper_en_vision_language_v1",
        pattern=called("jasper_en_vision_language_v1"),
        notes=(
            "No vLLM release up to 0.33.0 serves it; serve NovaSearch/stella_en_1.5B_v5 or, for"
            " images, Qwen/Qwen3-VL-Embedding-2B instead.",
        ),
    ),
    Profile(
        name="Jasper-Token-Compression-600M",
        pattern=called("jasper-token-compression-600m"),
        embed=EmbedProfile(
            embedding_size=2048,
            sources=cite({f"{MTEB}infgrad/Jasper-Token-Compression-600M": "embedding_size"}),
        ),
    ),
)

NEMOTRON = (
    Profile(
        name="llama-nemotron-embed-1b-v2",
        pattern=called("llama-nemotron-embed-1b-v2"),
        embed=EmbedProfile(
            pooling="MEAN",
            embedding_size=2048,
            matryoshka=(384, 512, 768, 1024, 2048),
            context=8192,
            prompts={"query": "query: ", "document": "passage: "},
            sources=cite(
                {
                    f"{VLLM}model_executor/models/llama.py; its config.json": "pooling",
                    "card: nvidia/llama-nemotron-embed-1b-v2": "embedding_size matryoshka context",
                    f"{VLLM_EXAMPLES}embed/template/nemotron_embed_vl.jinja": "prompts",
                }
            ),
        ),
    ),
    Profile(
        name="llama-embed-nemotron-8b",
        pattern=called("llama-embed-nemotron-8b"),
        embed=EmbedProfile(
            embedding_size=4096,
            prompts={
                "query": "Instruct: Given a question, retrieve passages that answer the question\n"
                "Query: ",
                "document": "",
            },
            sources=cite(
                {
                    f"{MTEB}nvidia/llama-embed-nemotron-8b": "embedding_size",
                    "source: embeddings-benchmark/mteb mteb/models/model_implementations/"
                    "nvidia_models.py, TASK_PROMPTS": "prompts",
                }
            ),
        ),
        notes=(r"The task in the query's prompt is free: `Instruct: {task}\nQuery: `.",),
    ),
)

VOYAGE_4_NANO = Profile(
    name="voyage-4-nano",
    pattern=called("voyage-4-nano"),
    embed=EmbedProfile(
        pooling="MEAN",
        embedding_size=2048,
        matryoshka=(256, 512, 1024, 2048),
        context=32000,
        prompts={
            "query": "Represent the query for retrieving supporting documents: ",
            "document": "Represent the document for retrieval: ",
        },
        sources=cite(
            {
                f"{VLLM_TESTS}test_voyage.py": "pooling",
                f"{MTEB}voyageai/voyage-4-nano": "embedding_size matryoshka context prompts",
            }
        ),
    ),
    notes=(
        'It needs `--hf-overrides \'{"architectures": ["VoyageQwen3BidirectionalEmbedModel"],'
        ' "num_labels": 2048}\'`.',
    ),
)

DECODERS = (*STELLA, *JASPER, *NEMOTRON, VOYAGE_4_NANO)
