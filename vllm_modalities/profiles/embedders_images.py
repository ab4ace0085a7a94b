"""Models that embed texts and images into one space, a vector each."""

from __future__ import annotations

from ._profile import EmbedProfile, Profile
from ._shorthand import MTEB, VLLM_DOCS, VLLM_EXAMPLES, called, cite

QWEN3_VL = "source: QwenLM/Qwen3-VL-Embedding@8ce3aab "


def _qwen3_vl(size: str, width: int) -> Profile:
    return Profile(
        name=f"Qwen3-VL-Embedding-{size}",
        pattern=called(f"qwen3-vl-embedding-{size}"),
        embed=EmbedProfile(
            pooling="LAST",
            embedding_size=width,
            context=32768,
            sources=cite({f"{QWEN3_VL}README.md": "pooling embedding_size context"}),
        ),
        notes=(
            "It takes messages: an instruction as the system's, such as `Retrieve images or text"
            " relevant to the user's query.`, and the text or image as the user's. Without one it"
            " is `Represent the user's input.`",
            "It was trained to be cut (Matryoshka).",
        ),
    )


NEMOTRON_VL = Profile(
    name="llama-nemotron-embed-vl-1b-v2",
    pattern=called("llama-nemotron-embed-vl-1b-v2"),
    embed=EmbedProfile(
        embedding_size=2048,
        context=10240,
        prompts={"query": "query: ", "document": "passage: "},
        sources=cite(
            {
                f"{MTEB}nvidia/llama-nemotron-embed-vl-1b-v2": "embedding_size context",
                f"{VLLM_EXAMPLES}embed/template/nemotron_embed_vl.jinja": "prompts",
            }
        ),
    ),
    notes=(
        "It needs vLLM 0.17.0 or later, --trust-remote-code and, for messages,"
        " `--chat-template nemotron_embed_vl.jinja`.",
        "A message's role, `query` or `document`, puts the prefix in front; then add none.",
    ),
)

VLM2VEC = (
    Profile(
        name="VLM2Vec-Full",
        pattern=called("vlm2vec-full"),
        embed=EmbedProfile(
            pooling="LAST",
            normalized=True,
            embedding_size=3072,
            sources=cite(
                {
                    f"{VLLM_DOCS}embed.md, models that are converted": "pooling normalized",
                    f"{VLLM_EXAMPLES}embed/vision_embedding_online.py": "embedding_size",
                }
            ),
        ),
        notes=(
            "It needs --trust-remote-code and `--chat-template vlm2vec_phi3v.jinja`.",
            "Say `Represent the given image.` with an image, or `Represent the given image with the"
            " following question: {question}`; texts to find go plain.",
        ),
    ),
    Profile(
        name="VLM2Vec-V2.0",
        pattern=called("vlm2vec-v2.0"),
        embed=EmbedProfile(
            embedding_size=1536,
            sources=cite({f"{MTEB}VLM2Vec/VLM2Vec-V2.0": "embedding_size"}),
        ),
    ),
)

DSE_QWEN2 = Profile(
    name="dse-qwen2-2b-mrl-v1",
    pattern=called("dse-qwen2-2b-mrl-v1"),
    embed=EmbedProfile(
        pooling="LAST",
        normalized=True,
        embedding_size=1536,
        sources=cite(
            {
                f"{VLLM_DOCS}embed.md, models that are converted": "pooling normalized",
                f"{VLLM_EXAMPLES}embed/vision_embedding_online.py": "embedding_size",
            }
        ),
    ),
    notes=(
        "It needs --trust-remote-code and `--chat-template dse_qwen2_vl.jinja`.",
        "A query is `Query: {query}` with an image of 56 by 56 pixels; a document is its image with"
        " `What is shown in this image?`",
    ),
)

IMAGE_EMBEDDERS = (
    _qwen3_vl("2B", 2048),
    _qwen3_vl("8B", 4096),
    NEMOTRON_VL,
    *VLM2VEC,
    DSE_QWEN2,
)
