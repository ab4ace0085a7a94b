"""Embedding models on encoders: nomic, mixedbread, EmbeddingGemma, Sentence Transformers."""

from __future__ import annotations

from ._profile import EmbedProfile, Profile
from ._shorthand import MTEB, SEARCH_PASSAGES, VLLM_TESTS, called, cite

NOMIC_PREFIXES = {
    "query": "search_query: ",
    "document": "search_document: ",
    "classification": "classification: ",
    "clustering": "clustering: ",
}
GEMMA_CODE = "source: huggingface/transformers src/transformers/models/gemma3/"
GEMMA_2 = (
    "source: embeddings-benchmark/mteb mteb/models/model_implementations/google_embeddinggemma.py"
)

ALL_MINILM = Profile(
    name="all-MiniLM-L6-v2",
    pattern=called("all-minilm-l6"),
    embed=EmbedProfile(
        pooling="MEAN",
        normalized=True,
        embedding_size=384,
        matryoshka=(),
        context=256,
        prompts={"query": "", "document": ""},
        sources={
            "pooling": "server: 1_Pooling/config.json as served by vLLM 0.32.0",
            "normalized": "server: unit length seen on vLLM 0.32.0",
            "embedding_size": "server: 384 seen on vLLM 0.32.0",
            "matryoshka": "card: sentence-transformers/all-MiniLM-L6-v2",
            "context": "source: sentence_bert_config.json; max_model_len 256 seen on vLLM 0.32.0",
            "prompts": "card: sentence-transformers/all-MiniLM-L6-v2",
        },
    ),
)

NOMIC = (
    Profile(
        name="nomic-embed-text-v1",
        pattern=called("nomic-embed-text-v1"),
        embed=EmbedProfile(
            pooling="MEAN",
            normalized=True,
            embedding_size=768,
            prompts=NOMIC_PREFIXES,
            sources=cite(
                {
                    f"{VLLM_TESTS}test_nomic.py": "pooling",
                    "source: nomic-ai/nomic-embed-text-v1 modules.json": "normalized",
                    f"{MTEB}nomic-ai/nomic-embed-text-v1": "embedding_size",
                    "card: nomic-ai/nomic-embed-text-v1": "prompts",
                }
            ),
        ),
        notes=(
            "It needs --trust-remote-code.",
            "It was trained on 2048 tokens; its config has 8192 positions.",
        ),
    ),
    Profile(
        name="nomic-embed-text-v1.5",
        pattern=called("nomic-embed-text-v1.5"),
        embed=EmbedProfile(
            pooling="MEAN",
            embedding_size=768,
            matryoshka=(64, 128, 256, 512, 768),
            prompts=NOMIC_PREFIXES,
            sources=cite(
                {
                    f"{VLLM_TESTS}test_nomic.py": "pooling",
                    f"{MTEB}nomic-ai/nomic-embed-text-v1.5": "embedding_size",
                    "card: nomic-ai/nomic-embed-text-v1.5": "matryoshka prompts",
                }
            ),
        ),
        notes=(
            "It needs --trust-remote-code.",
            "It was trained on 2048 tokens; its config has 8192 positions.",
            "Its makers cut vectors after a layer norm, (x - mean) / std over the whole vector,"
            " which vLLM does not do: take full width, do that, cut, and bring to unit length.",
        ),
    ),
    Profile(
        name="nomic-embed-text-v2-moe",
        pattern=called("nomic-embed-text-v2-moe"),
        embed=EmbedProfile(
            pooling="MEAN",
            normalized=True,
            embedding_size=768,
            matryoshka=(256, 768),
            context=512,
            prompts=NOMIC_PREFIXES,
            sources=cite(
                {
                    f"{VLLM_TESTS}test_nomic.py": "pooling",
                    "source: nomic-ai/nomic-embed-text-v2-moe modules.json": "normalized",
                    f"{MTEB}nomic-ai/nomic-embed-text-v2-moe": "embedding_size context prompts",
                    "card: nomic-ai/nomic-embed-text-v2-moe": "matryoshka",
                }
            ),
        ),
        notes=("It needs --trust-remote-code.",),
    ),
    Profile(
        name="modernbert-embed-base",
        pattern=called("modernbert-embed-base"),
        embed=EmbedProfile(
            normalized=True,
            embedding_size=768,
            context=8192,
            prompts=NOMIC_PREFIXES,
            sources=cite(
                {
                    "source: nomic-ai/modernbert-embed-base modules.json": "normalized",
                    f"{MTEB}nomic-ai/modernbert-embed-base": "embedding_size context prompts",
                }
            ),
        ),
    ),
)

MXBAI_EMBED = Profile(
    name="mxbai-embed-large-v1",
    pattern=called("mxbai-embed-large"),
    embed=EmbedProfile(
        embedding_size=1024,
        context=512,
        prompts={"query": SEARCH_PASSAGES, "document": ""},
        sources=cite(
            {f"{MTEB}mixedbread-ai/mxbai-embed-large-v1": "embedding_size context prompts"}
        ),
    ),
    notes=("It was trained to be cut (Matryoshka); its makers cut to 512.",),
)

EMBEDDING_GEMMA = (
    Profile(
        name="EmbeddingGemma 2",
        pattern=called("embeddinggemma-2", "embeddinggemma2"),
        embed=EmbedProfile(
            pooling="MEAN",
            embedding_size=768,
            prompts={"query": "task: search result | query: ", "document": "title: none | text: "},
            sources=cite({GEMMA_2: "pooling embedding_size prompts"}),
        ),
        notes=("It needs vLLM 0.32.0 or later.",),
    ),
    Profile(
        name="embeddinggemma-300m",
        pattern=called("embeddinggemma"),
        embed=EmbedProfile(
            pooling="MEAN",
            normalized=True,
            embedding_size=768,
            matryoshka=(128, 256, 512, 768),
            context=2048,
            prompts={
                "query": "task: search result | query: ",
                "document": "title: none | text: ",
                "BitextMining": "task: search result | query: ",
                "Clustering": "task: clustering | query: ",
                "Classification": "task: classification | query: ",
                "InstructionRetrieval": "task: code retrieval | query: ",
                "MultilabelClassification": "task: classification | query: ",
                "PairClassification": "task: sentence similarity | query: ",
                "Reranking": "task: search result | query: ",
                "Retrieval": "task: search result | query: ",
                "Retrieval-query": "task: search result | query: ",
                "Retrieval-document": "title: none | text: ",
                "STS": "task: sentence similarity | query: ",
                "Summarization": "task: summarization | query: ",
            },
            sources=cite(
                {
                    f"{GEMMA_CODE}convert_gemma3_weights.py": "pooling normalized prompts",
                    f"{MTEB}google/embeddinggemma-300m": "embedding_size context",
                    "card: google/embeddinggemma-300m": "matryoshka",
                }
            ),
        ),
        notes=(
            "A document with a title reads `title: {title} | text: {text}`.",
            "It does not run in float16.",
        ),
    ),
)

ENCODERS = (*NOMIC, MXBAI_EMBED, *EMBEDDING_GEMMA, ALL_MINILM)
