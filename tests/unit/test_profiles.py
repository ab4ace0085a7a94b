from __future__ import annotations

import runpy
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from vllm_modalities.profiles import (
    PROFILES,
    UNKNOWN,
    EmbedProfile,
    OCRProfile,
    Profile,
    RerankProfile,
    SpeechProfile,
    profile_of,
)
from vllm_modalities.profiles._print import page

PAGE = Path(__file__).parents[2] / "docs" / "models.md"

Facts = EmbedProfile | RerankProfile | OCRProfile | SpeechProfile

# A repository on the Hub, and the name of its profile.
HUB = {
    "Qwen/Qwen3-Embedding-0.6B": "Qwen3-Embedding-0.6B",
    "Qwen/Qwen3-Embedding-4B": "Qwen3-Embedding-4B",
    "Qwen/Qwen3-Embedding-8B": "Qwen3-Embedding-8B",
    "Qwen/Qwen3-Embedding": "Qwen3-Embedding",
    "Qwen/Qwen3-VL-Embedding-2B": "Qwen3-VL-Embedding-2B",
    "Qwen/Qwen3-VL-Embedding-8B": "Qwen3-VL-Embedding-8B",
    "BAAI/bge-m3": "bge-m3",
    "BAAI/bge-small-en-v1.5": "bge-small-en-v1.5",
    "BAAI/bge-base-en-v1.5": "bge-base-en-v1.5",
    "BAAI/bge-large-en-v1.5": "bge-large-en-v1.5",
    "BAAI/bge-small-zh-v1.5": "bge-zh-v1.5",
    "BAAI/bge-base-zh-v1.5": "bge-zh-v1.5",
    "BAAI/bge-large-zh-v1.5": "bge-zh-v1.5",
    "BAAI/bge-multilingual-gemma2": "bge-multilingual-gemma2",
    "BAAI/bge-en-icl": "bge-en-icl",
    "BAAI/bge-code-v1": "bge-code-v1",
    "jinaai/jina-embeddings-v2-small-en": "jina-embeddings-v2-small-en",
    "jinaai/jina-embeddings-v2-base-en": "jina-embeddings-v2-base-en",
    "jinaai/jina-embeddings-v3": "jina-embeddings-v3",
    "jinaai/jina-embeddings-v4": "jina-embeddings-v4",
    "jinaai/jina-embeddings-v4-vllm-retrieval": "jina-embeddings-v4-vllm",
    "jinaai/jina-embeddings-v4-vllm-text-matching": "jina-embeddings-v4-vllm",
    "jinaai/jina-embeddings-v4-vllm-code": "jina-embeddings-v4-vllm",
    "jinaai/jina-embeddings-v5-text-small": "jina-embeddings-v5-text-small",
    "jinaai/jina-embeddings-v5-text-small-retrieval": "jina-embeddings-v5-text-small",
    "jinaai/jina-embeddings-v5-text-small-clustering": (
        "jina-embeddings-v5-text-small of the other tasks"
    ),
    "jinaai/jina-embeddings-v5-text-nano": "jina-embeddings-v5-text-nano",
    "jinaai/jina-embeddings-v5-text-nano-text-matching": (
        "jina-embeddings-v5-text-nano of the other tasks"
    ),
    "nomic-ai/nomic-embed-text-v1": "nomic-embed-text-v1",
    "nomic-ai/nomic-embed-text-v1.5": "nomic-embed-text-v1.5",
    "nomic-ai/nomic-embed-text-v2-moe": "nomic-embed-text-v2-moe",
    "nomic-ai/modernbert-embed-base": "modernbert-embed-base",
    "Alibaba-NLP/gte-Qwen2-1.5B-instruct": "gte-Qwen2-1.5B-instruct",
    "Alibaba-NLP/gte-Qwen2-7B-instruct": "gte-Qwen2-7B-instruct",
    "Alibaba-NLP/gte-modernbert-base": "gte-modernbert-base",
    "Alibaba-NLP/gte-multilingual-base": "gte-multilingual-base",
    "thenlper/gte-large": "gte-large",
    "intfloat/e5-small": "e5-small",
    "intfloat/e5-base-v2": "e5-base",
    "intfloat/e5-large-v2": "e5-large",
    "intfloat/multilingual-e5-small": "multilingual-e5-small",
    "intfloat/multilingual-e5-base": "multilingual-e5-base",
    "intfloat/multilingual-e5-large": "multilingual-e5-large",
    "intfloat/multilingual-e5-large-instruct": "multilingual-e5-large-instruct",
    "intfloat/e5-mistral-7b-instruct": "e5-mistral-7b-instruct",
    "Snowflake/snowflake-arctic-embed-xs": "arctic-embed-xs",
    "Snowflake/snowflake-arctic-embed-s": "arctic-embed-s",
    "Snowflake/snowflake-arctic-embed-m": "arctic-embed-m",
    "Snowflake/snowflake-arctic-embed-l": "arctic-embed-l",
    "Snowflake/snowflake-arctic-embed-m-long": "arctic-embed-m-long",
    "Snowflake/snowflake-arctic-embed-m-v1.5": "arctic-embed-m-v1.5",
    "Snowflake/snowflake-arctic-embed-m-v2.0": "arctic-embed-m-v2.0",
    "Snowflake/snowflake-arctic-embed-l-v2.0": "arctic-embed-l-v2.0",
    "mixedbread-ai/mxbai-embed-large-v1": "mxbai-embed-large-v1",
    "google/embeddinggemma-300m": "embeddinggemma-300m",
    "google/embeddinggemma-2": "EmbeddingGemma 2",
    "sentence-transformers/all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
    "NovaSearch/stella_en_1.5B_v5": "stella_en_1.5B_v5",
    "NovaSearch/stella_en_400M_v5": "stella_en_400M_v5",
    "NovaSearch/jasper_en_vision_language_v1": "jasper_en_vision_language_v1",
    "infgrad/Jasper-Token-Compression-600M": "Jasper-Token-Compression-600M",
    "nvidia/llama-nemotron-embed-1b-v2": "llama-nemotron-embed-1b-v2",
    "nvidia/llama-nemotron-embed-vl-1b-v2": "llama-nemotron-embed-vl-1b-v2",
    "nvidia/llama-embed-nemotron-8b": "llama-embed-nemotron-8b",
    "voyageai/voyage-4-nano": "voyage-4-nano",
    "ssmits/Qwen2-7B-Instruct-embed-base": "Qwen2-7B-Instruct-embed-base",
    "TIGER-Lab/VLM2Vec-Full": "VLM2Vec-Full",
    "VLM2Vec/VLM2Vec-V2.0": "VLM2Vec-V2.0",
    "MrLight/dse-qwen2-2b-mrl-v1": "dse-qwen2-2b-mrl-v1",
    "colbert-ir/colbertv2.0": "colbertv2.0",
    "answerdotai/answerai-colbert-small-v1": "answerai-colbert-small-v1",
    "jinaai/jina-colbert-v2": "jina-colbert-v2",
    "lightonai/GTE-ModernColBERT-v1": "GTE-ModernColBERT-v1",
    "LiquidAI/LFM2-ColBERT-350M": "LFM2-ColBERT-350M",
    "mixedbread-ai/mxbai-edge-colbert-v0-32m": "mxbai-edge-colbert-v0-32m",
    "ModernVBERT/colmodernvbert-merged": "colmodernvbert",
    "vidore/colpali-v1.3-hf": "colpali-v1.3",
    "vidore/colqwen2-v1.0": "colqwen2",
    "vidore/colqwen2.5-v0.2": "colqwen2",
    "TomoroAI/tomoro-colqwen3-embed-4b": "tomoro-colqwen3-embed",
    "OpenSearch-AI/Ops-Colqwen3-4B": "Ops-Colqwen3-4B",
    "nvidia/nemotron-colembed-vl-4b-v2": "nemotron-colembed-vl-4b-v2",
    "nvidia/nemotron-colembed-vl-8b-v2": "nemotron-colembed-vl-8b-v2",
    "athrael-soju/colqwen3.5-4.5B-v3": "colqwen3.5",
    "BAAI/bge-reranker-base": "bge-reranker",
    "BAAI/bge-reranker-large": "bge-reranker",
    "BAAI/bge-reranker-v2-m3": "bge-reranker-v2-m3",
    "BAAI/bge-reranker-v2-gemma": "bge-reranker-v2-gemma",
    "BAAI/bge-reranker-v2.5-gemma2-lightweight": "bge-reranker-v2.5-gemma2-lightweight",
    "Qwen/Qwen3-Reranker-0.6B": "Qwen3-Reranker",
    "tomaarsen/Qwen3-Reranker-0.6B-seq-cls": "Qwen3-Reranker",
    "Qwen/Qwen3-VL-Reranker-2B": "Qwen3-VL-Reranker",
    "mixedbread-ai/mxbai-rerank-xsmall-v1": "mxbai-rerank-v1",
    "mixedbread-ai/mxbai-rerank-base-v2": "mxbai-rerank-v2",
    "jinaai/jina-reranker-v2-base-multilingual": "jina-reranker-v2-base-multilingual",
    "jinaai/jina-reranker-v3": "jina-reranker-v3",
    "jinaai/jina-reranker-v3.5": "jina-reranker-v3",
    "jinaai/jina-reranker-m0": "jina-reranker-m0",
    "nvidia/llama-nemotron-rerank-1b-v2": "llama-nemotron-rerank-1b-v2",
    "nvidia/llama-nemotron-rerank-vl-1b-v2": "llama-nemotron-rerank-vl-1b-v2",
    "cross-encoder/ms-marco-MiniLM-L6-v2": "ms-marco-MiniLM",
    "cross-encoder/ms-marco-MiniLM-L-12-v2": "ms-marco-MiniLM",
    "Alibaba-NLP/gte-reranker-modernbert-base": "gte-reranker-modernbert-base",
    "Alibaba-NLP/gte-multilingual-reranker-base": "gte-multilingual-reranker-base",
    "ContextualAI/ctxl-rerank-v2-instruct-multilingual-1b": "ctxl-rerank-v2",
    "zeroentropy/zerank-2": "zerank-2",
    "polaria-tech/zerank-2-reranker-vllm": "zerank-2",
    "openai/whisper-large-v3": "Whisper",
    "openai/whisper-large-v3-turbo": "Whisper turbo",
    "openai/whisper-tiny.en": "Whisper, English",
    "distil-whisper/distil-large-v3.5": "Distil-Whisper",
    "distil-whisper/distil-small.en": "Distil-Whisper",
    "RedHatAI/whisper-large-v3-FP8-Dynamic": "Whisper",
    "RedHatAI/whisper-large-v3-turbo-FP8-dynamic": "Whisper turbo",
    "RedHatAI/whisper-large-v3-turbo-quantized.w8a8": "Whisper turbo",
    "RedHatAI/whisper-large-v3-turbo-quantized.w4a16": "Whisper turbo",
    "mistralai/Voxtral-Mini-3B-2507": "Voxtral",
    "mistralai/Voxtral-Mini-4B-Realtime-2602": "Voxtral Realtime",
    "Qwen/Qwen3-ASR-1.7B": "Qwen3-ASR",
    "Qwen/Qwen3-Omni-30B-A3B-Instruct": "Qwen3-Omni",
    "ibm-granite/granite-speech-3.3-8b": "Granite Speech",
    "ibm-granite/granite-4.0-1b-speech": "Granite Speech",
    "moonshotai/Kimi-Audio-7B-Instruct": "Kimi-Audio",
    "zai-org/GLM-ASR-Nano-2512": "GLM-ASR",
    "OpenMOSS-Team/MOSS-Transcribe-Diarize": "MOSS-Transcribe-Diarize",
    "google/gemma-3n-E4B-it": "Gemma 3n",
    "google/gemma-4-E4B-it": "Gemma 4",
    "fixie-ai/ultravox-v0_5-llama-3_2-1b": "Ultravox",
    "Qwen/Qwen2-Audio-7B-Instruct": "Qwen2-Audio",
    "FunAudioLLM/Fun-ASR-Nano-2512": "Fun-ASR",
    "FireRedTeam/FireRedASR2-AED": "FireRedASR2",
    "CohereLabs/cohere-transcribe-03-2026": "Cohere ASR",
    "deepseek-ai/DeepSeek-OCR": "DeepSeek-OCR",
    "deepseek-ai/DeepSeek-OCR-2": "DeepSeek-OCR-2",
    "baidu/Unlimited-OCR": "Unlimited-OCR",
    "rednote-hilab/dots.ocr": "dots.ocr",
    "rednote-hilab/dots.mocr": "dots.ocr",
    "PaddlePaddle/PaddleOCR-VL": "PaddleOCR-VL",
    "PaddlePaddle/PaddleOCR-VL-1.5": "PaddleOCR-VL",
    "PaddlePaddle/PaddleOCR-VL-1.6": "PaddleOCR-VL",
    "nvidia/NVIDIA-Nemotron-Parse-v1.1": "Nemotron-Parse 1.1",
    "nvidia/NVIDIA-Nemotron-Parse-v1.2": "Nemotron-Parse",
    "nvidia/NVIDIA-Nemotron-Parse-2.0": "Nemotron-Parse",
    "nvidia/NVIDIA-Nemotron-Parse-3.5": "Nemotron-Parse",
    "tencent/HunyuanOCR": "HunyuanOCR",
    "opendatalab/MinerU2.5-2509-1.2B": "MinerU2.5",
    "datalab-to/chandra": "Chandra",
    "datalab-to/chandra-ocr-2": "Chandra 2",
    "ibm-granite/granite-docling-258M": "Granite-Docling",
    "zai-org/GLM-OCR": "GLM-OCR",
    "lightonai/LightOnOCR-1B-1025": "LightOnOCR",
    "lightonai/LightOnOCR-2-1B-bbox-soup": "LightOnOCR",
    "baidu/Qianfan-OCR": "Qianfan-OCR",
    "allenai/olmOCR-2-7B-1025-FP8": "olmOCR",
    "nanonets/Nanonets-OCR-s": "Nanonets-OCR",
    "nanonets/Nanonets-OCR2-3B": "Nanonets-OCR",
}

STRANGERS = (
    "Alibaba-NLP/gte-large-en-v1.5",
    "thenlper/gte-large-zh",
    "BAAI/bge-large-en",
    "BAAI/bge-reranker-v2-minicpm-layerwise",
    "McGill-NLP/AfriE5-Large-instruct",
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen2-7B-Instruct",
    "answerdotai/ModernBERT-base",
    "cross-encoder/ms-marco-TinyBERT-L2-v2",
    "cross-encoder/qnli-electra-base",
    "mixedbread-ai/deepset-mxbai-embed-de-large-v1",
    "google/gemma-3-270m",
    "intfloat/multilingual-e5-xl",
    "intfloat/simlm-base-msmarco",
    "jinaai/jina-clip-v2",
    "jinaai/jina-embeddings-v2-base-code",
    "nomic-ai/nomic-embed-code",
    "nomic-ai/nomic-embed-vision-v1.5",
    "nvidia/NV-Embed-v2",
    "sentence-transformers/paraphrase-MiniLM-L6-v2",
    "vidore/colpali",
    "zeroentropy/zerank-1",
)

S = "Represent this sentence for searching relevant passages: "
WEB = "Given a web search query, retrieve relevant passages that answer the query"

# A model, and what goes in front of its queries and documents, to the byte.
PROMPTS = {
    "BAAI/bge-small-en-v1.5": (S, ""),
    "BAAI/bge-large-en-v1.5": (S, ""),
    "mixedbread-ai/mxbai-embed-large-v1": (S, ""),
    "Snowflake/snowflake-arctic-embed-s": (S, ""),
    "Snowflake/snowflake-arctic-embed-m-long": (S, ""),
    "Snowflake/snowflake-arctic-embed-m-v1.5": (S, ""),
    "Snowflake/snowflake-arctic-embed-m-v2.0": ("query: ", ""),
    "Snowflake/snowflake-arctic-embed-l-v2.0": ("query: ", ""),
    "BAAI/bge-base-zh-v1.5": ("为这个句子生成表示以用于检索相关文章：", ""),
    "intfloat/e5-base": ("query: ", "passage: "),
    "intfloat/e5-large-v2": ("query: ", "passage: "),
    "intfloat/multilingual-e5-small": ("query: ", "passage: "),
    "nomic-ai/nomic-embed-text-v1.5": ("search_query: ", "search_document: "),
    "nomic-ai/modernbert-embed-base": ("search_query: ", "search_document: "),
    "jinaai/jina-embeddings-v3": (
        "Represent the query for retrieving evidence documents: ",
        "Represent the document for retrieval: ",
    ),
    "jinaai/jina-embeddings-v4-vllm-retrieval": ("Query: ", "Passage: "),
    "jinaai/jina-embeddings-v5-text-nano": ("Query: ", "Document: "),
    "jinaai/jina-embeddings-v5-text-nano-classification": ("Document: ", "Document: "),
    "Qwen/Qwen3-Embedding-0.6B": (f"Instruct: {WEB}\nQuery:", ""),
    "Alibaba-NLP/gte-Qwen2-1.5B-instruct": (f"Instruct: {WEB}\nQuery: ", ""),
    "intfloat/e5-mistral-7b-instruct": (f"Instruct: {WEB}\nQuery: ", ""),
    "intfloat/multilingual-e5-large-instruct": (f"Instruct: {WEB}\nQuery: ", ""),
    "BAAI/bge-multilingual-gemma2": (
        "<instruct>Given a question, retrieve passages that answer the question.\n<query>",
        "",
    ),
    "NovaSearch/stella_en_400M_v5": (f"Instruct: {WEB}.\nQuery: ", ""),
    "google/embeddinggemma-300m": ("task: search result | query: ", "title: none | text: "),
    "nvidia/llama-nemotron-embed-1b-v2": ("query: ", "passage: "),
    "voyageai/voyage-4-nano": (
        "Represent the query for retrieving supporting documents: ",
        "Represent the document for retrieval: ",
    ),
    "BAAI/bge-m3": ("", ""),
    "Alibaba-NLP/gte-modernbert-base": ("", ""),
    "Alibaba-NLP/gte-multilingual-base": ("", ""),
    "sentence-transformers/all-MiniLM-L6-v2": ("", ""),
    "jinaai/jina-embeddings-v2-base-en": ("", ""),
}

UNSERVED = {
    "jinaai/jina-embeddings-v2-small-en",
    "jinaai/jina-embeddings-v4",
    "NovaSearch/jasper_en_vision_language_v1",
    "vidore/colqwen2.5-v0.2",
    "mixedbread-ai/mxbai-rerank-large-v1",
    "BAAI/bge-reranker-v2.5-gemma2-lightweight",
}


def facts_of(profile: Profile) -> list[Facts]:
    return [
        facts
        for facts in (profile.embed, profile.rerank, profile.ocr, profile.speech)
        if facts is not None
    ]


def is_set(value: object) -> bool:
    """Empty prompts or languages are unknown; an empty tuple or text says that there is none."""
    return value is not None and (value in ((), "", False) or bool(value))


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_every_set_fact_has_a_marked_source_and_no_other_has_one(profile: Profile) -> None:
    for facts in facts_of(profile):
        names = {field.name for field in fields(facts)} - {"sources"}
        assert set(facts.sources) == {name for name in names if is_set(getattr(facts, name))}
        for place in facts.sources.values():
            mark, _, where = place.partition(": ")
            assert mark in {"server", "source", "card"}
            assert where.strip()


@pytest.mark.parametrize(("repository", "name"), HUB.items())
def test_a_repository_finds_its_profile_by_name_path_and_cache(repository: str, name: str) -> None:
    owner, model = repository.split("/")
    for root in (
        repository,
        model,
        model.lower(),
        model.replace("-", "_"),
        f"{owner}_{model}",
        f"/models/{model}",
        f"/models/{model}/",
        f"/cache/models--{owner}--{model}/snapshots/5b2c1f",
    ):
        assert profile_of(PROFILES, root).name == name
        assert profile_of(PROFILES, "served-as-this", root).name == name


@pytest.mark.parametrize("repository", STRANGERS)
def test_other_families_are_not_taken_for_these(repository: str) -> None:
    assert profile_of(PROFILES, repository, f"/models/{repository}") is UNKNOWN


def test_every_profile_is_found_by_some_repository() -> None:
    assert {profile.name for profile in PROFILES} == set(HUB.values())


def test_names_of_profiles_are_unique() -> None:
    names = [profile.name for profile in PROFILES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("repository", "prompts"), PROMPTS.items())
def test_prompts_are_the_bytes_that_the_model_was_trained_with(
    repository: str, prompts: tuple[str, str]
) -> None:
    embed = profile_of(PROFILES, repository).embed
    assert embed is not None
    assert (embed.prompts["query"], embed.prompts["document"]) == prompts
    assert embed.needs_prompt == any(prompts)


def test_further_input_types_have_the_names_of_the_model() -> None:
    nomic = profile_of(PROFILES, "nomic-ai/nomic-embed-text-v1").embed
    stella = profile_of(PROFILES, "stella_en_1.5B_v5").embed
    gemma = profile_of(PROFILES, "embeddinggemma-300m").embed
    jina = profile_of(PROFILES, "jina-embeddings-v3").embed
    assert nomic
    assert stella
    assert gemma
    assert jina
    assert nomic.prompts["clustering"] == "clustering: "
    assert stella.prompts["s2p_query"] == stella.prompts["query"]
    assert stella.prompts["s2s_query"] == "Instruct: Retrieve semantically similar text.\nQuery: "
    assert gemma.prompts["STS"] == "task: sentence similarity | query: "
    assert gemma.prompts["InstructionRetrieval"] == "task: code retrieval | query: "
    assert jina.prompts["retrieval.passage"] == jina.prompts["document"]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_an_embedders_prompts_name_queries_and_documents_or_nothing(profile: Profile) -> None:
    if profile.embed and profile.embed.prompts:
        assert {"query", "document"} <= set(profile.embed.prompts)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_sizes_rise_and_end_at_most_at_the_width(profile: Profile) -> None:
    if profile.embed and profile.embed.matryoshka:
        sizes = list(profile.embed.matryoshka)
        assert sizes == sorted(set(sizes))
        assert profile.embed.embedding_size is not None
        assert sizes[-1] <= profile.embed.embedding_size


@pytest.mark.parametrize("repository", sorted(UNSERVED))
def test_a_model_that_vllm_cannot_serve_says_so_and_what_to_serve(repository: str) -> None:
    first = profile_of(PROFILES, repository).notes[0]
    assert first.startswith("No vLLM release up to ")
    assert "serve " in first
    assert "instead" in first


def test_no_other_model_is_said_to_be_unserved() -> None:
    said = {p.name for p in PROFILES if any(note.startswith("No vLLM") for note in p.notes)}
    assert said == {HUB[name] for name in HUB if profile_of(PROFILES, name).name in said}
    assert {profile_of(PROFILES, name).name for name in UNSERVED} <= said


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_page_of_models_is_the_one_that_is_printed() -> None:
    assert PAGE.read_text(encoding="utf-8") == "\n".join(page()), (
        "python -m vllm_modalities.profiles._print > docs/models.md"
    )


def test_the_command_prints_the_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "vllm_modalities.profiles._print")
    runpy.run_module("vllm_modalities.profiles._print", run_name="__main__")
    assert capsys.readouterr().out == "\n".join(page())
