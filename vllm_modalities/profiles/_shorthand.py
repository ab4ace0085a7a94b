"""Shorthand of the data beside it: patterns from names, and often-cited places."""

from __future__ import annotations

import re
from collections.abc import Mapping

MTEB = "source: embeddings-benchmark/mteb@a905523 mteb/models/model_implementations, ModelMeta of "
FLAG = "source: FlagOpen/FlagEmbedding@7ed43d6 FlagEmbedding/inference/"
VLLM = "source: vLLM 0.33.0 vllm/"
DEEPSEEK = "source: deepseek-ai/DeepSeek-OCR@e4ac34e DeepSeek-OCR-master/DeepSeek-OCR-vllm/"
PADDLEX = "source: PaddleX 3.7.2 inference/pipelines/paddleocr_vl/"
VLLM_DOCS = "source: vllm-project/vllm docs/models/pooling_models/"
VLLM_TESTS = "source: vllm-project/vllm tests/models/language/pooling_mteb_test/"
VLLM_EXAMPLES = "source: vllm-project/vllm examples/pooling/"

WEB_SEARCH = "Given a web search query, retrieve relevant passages that answer the query"
SEARCH_PASSAGES = "Represent this sentence for searching relevant passages: "


def called(*names: str) -> str:
    """The pattern of any of these names, whichever of - _ and . stands between its words.

    Neither a letter nor a digit may touch the name, and no ".1" may follow: v1 is not v1.5.
    """
    words = "|".join("[-_.]".join(re.split(r"[-_.]", name)) for name in names)
    return rf"(?<![a-z0-9])(?:{words})(?![a-z0-9]|\.\d)"


def cite(facts_by_place: Mapping[str, str]) -> dict[str, str]:
    """The `sources` of a profile, from the names of the facts that each place has."""
    return {fact: place for place, facts in facts_by_place.items() for fact in facts.split()}
