"""Rerankers: those that read a pair as it is, and then those made of a language model."""

from __future__ import annotations

from collections.abc import Mapping

from ._profile import Profile, RerankProfile
from ._shorthand import MTEB, VLLM, VLLM_TESTS, called, cite
from .rerankers_llm import LLM_RERANKERS

ACTIVATION = f"{VLLM}model_executor/layers/pooler/activations.py"
PAIRS = f"{VLLM}entrypoints/pooling/scoring/io_processor.py"
SIGMOID = "0..1 (sigmoid)"


def _pair(
    name: str,
    pattern: str,
    architecture: str,
    *notes: str,
    context: int,
    scores: str = SIGMOID,
    cls: bool = False,
    places: Mapping[str, str],
) -> Profile:
    """A cross-encoder without a template, which no instruction reaches."""
    shared = {
        f"{VLLM}model_executor/models/registry.py, {architecture}": "kind",
        PAIRS: "instruction images",
    }
    return Profile(
        name=name,
        pattern=pattern,
        rerank=RerankProfile(
            kind="pair",
            scores=scores,
            instruction=False,
            images=False,
            context=context,
            pooling="CLS" if cls else None,
            sources=cite(shared | dict(places)),
        ),
        notes=notes,
    )


BGE_RERANKERS = (
    _pair(
        "bge-reranker",
        called("bge-reranker-base", "bge-reranker-large"),
        "XLMRobertaForSequenceClassification",
        context=512,
        cls=True,
        places={
            ACTIVATION: "scores",
            "source: BAAI/bge-reranker-base config.json": "context",
            f"{VLLM_TESTS}test_baai.py": "pooling",
        },
    ),
    _pair(
        "bge-reranker-v2-m3",
        called("bge-reranker-v2-m3"),
        "XLMRobertaForSequenceClassification",
        context=8192,
        cls=True,
        places={
            ACTIVATION: "scores",
            "source: BAAI/bge-reranker-v2-m3 config.json": "context",
            f"{VLLM_TESTS}test_baai.py": "pooling",
        },
    ),
)

PAIR_RERANKERS = (
    *BGE_RERANKERS,
    _pair(
        "ms-marco-MiniLM",
        called(
            *(f"ms-marco-minilm-{size}" for size in ("l2", "l4", "l6", "l12")),
            *(f"ms-marco-minilm-l-{size}" for size in (2, 4, 6, 12)),
        ),
        "BertForSequenceClassification",
        "Its config asks for no activation, so scores are logits; a sigmoid makes 0..1 of them.",
        scores="logits, about -11..11",
        context=512,
        places={
            "source: cross-encoder/ms-marco-MiniLM-L6-v2 config.json": "scores",
            f"{MTEB}cross-encoder/ms-marco-MiniLM-L6-v2": "context",
        },
    ),
    _pair(
        "jina-reranker-v2-base-multilingual",
        called("jina-reranker-v2-base-multilingual"),
        "XLMRobertaForSequenceClassification",
        context=1024,
        places={
            ACTIVATION: "scores",
            "source: jinaai/jina-reranker-v2-base-multilingual config.json": "context",
        },
    ),
    _pair(
        "gte-reranker-modernbert-base",
        called("gte-reranker-modernbert-base"),
        "ModernBertForSequenceClassification",
        context=8192,
        places={
            ACTIVATION: "scores",
            f"{MTEB}Alibaba-NLP/gte-reranker-modernbert-base": "context",
        },
    ),
    _pair(
        "gte-multilingual-reranker-base",
        called("gte-multilingual-reranker-base"),
        "GteNewForSequenceClassification",
        'It needs `--hf-overrides \'{"architectures": ["GteNewForSequenceClassification"]}\'`'
        " and --trust-remote-code.",
        context=8192,
        places={
            ACTIVATION: "scores",
            f"{MTEB}Alibaba-NLP/gte-multilingual-reranker-base": "context",
        },
    ),
)

MXBAI_RERANK_V1 = Profile(
    name="mxbai-rerank-v1",
    pattern=called(*(f"mxbai-rerank-{size}-v1" for size in ("xsmall", "base", "large"))),
    rerank=RerankProfile(
        kind="pair",
        context=512,
        sources=cite({f"{MTEB}mixedbread-ai/mxbai-rerank-base-v1": "kind context"}),
    ),
    notes=(
        "No vLLM release up to 0.33.0 serves it (DeBERTa v2); serve mixedbread-ai/"
        "mxbai-rerank-base-v2 or BAAI/bge-reranker-v2-m3 instead.",
    ),
)

RERANKERS = (*PAIR_RERANKERS, MXBAI_RERANK_V1, *LLM_RERANKERS)
