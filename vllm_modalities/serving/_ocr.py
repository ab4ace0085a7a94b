"""How models that read pages are served."""

from __future__ import annotations

from ..profiles._shorthand import called
from ._part import VLLM, Note, Part, Row, remote_code

RECIPES = "vllm-project/recipes "
PROCESSOR = "vllm.model_executor.models.deepseek_ocr:NGramPerReqLogitsProcessor"

NO_CACHES = (
    Part(
        flags=("--no-enable-prefix-caching",),
        without="prefixes are cached of pages, which share none",
        why="pages share no beginning",
        source=f"{RECIPES}DeepSeek/DeepSeek-OCR.md",
    ),
    Part(
        flags=("--mm-processor-cache-gb", "0"),
        without="images are kept that are never seen again",
        why="a page is seen once",
        source=f"{RECIPES}DeepSeek/DeepSeek-OCR.md",
    ),
)
NGRAMS = (
    Part(
        flags=("--logits-processors", PROCESSOR),
        without="tables and dot leaders loop, and the ngram_size that clients send has no effect",
        why="ends loops; `vllm_xargs` of each request say how",
        source=f"{VLLM}model_executor/models/deepseek_ocr.py",
    ),
    Part(
        env={"VLLM_USE_V2_MODEL_RUNNER": "0"},
        since="0.31.0",
        why="the processor is of the first model runner, and V2 refuses such from 0.31.0 on",
        source=f"{VLLM}v1/worker/gpu/sample/logits_processor/loader.py",
    ),
)
GUNDAM = Note(
    "the mode is always Gundam (a page of 1024 pixels and tiles of 640); Tiny to Large cannot be"
    " chosen",
    f"{VLLM}transformers_utils/processors/deepseek_ocr.py",
)


def _ocr(
    name: str,
    example: str,
    *parts: Part,
    pattern: str | None = None,
    since: str | None = None,
    notes: tuple[Note, ...] = (),
) -> Row:
    return Row(
        name=name,
        pattern=pattern or called(name),
        example=example,
        task="ocr",
        since=since,
        parts=(*parts, *NO_CACHES),
        notes=notes,
    )


def _code(name: str) -> Part:
    return remote_code(f"{RECIPES}{name}")


def _speculating(name: str) -> Part:
    return Part(
        settings={"--speculative-config": {"method": "mtp", "num_speculative_tokens": 1}},
        why="its own head guesses the next token",
        source=f"{RECIPES}{name}",
    )


OCR: tuple[Row, ...] = (
    _ocr(
        "DeepSeek-OCR",
        "deepseek-ai/DeepSeek-OCR",
        *NGRAMS,
        pattern=r"deepseek[-_]?ocr",
        notes=(GUNDAM,),
    ),
    _ocr("Unlimited-OCR", "baidu/Unlimited-OCR", *NGRAMS, since="0.25.0"),
    _ocr(
        "dots.ocr",
        "rednote-hilab/dots.ocr",
        Part(
            flags=("--chat-template-content-format", "string"),
            without="its template leaves out the roles, and pages are made up",
            fatal=True,
            why="its template reads plain texts only",
            source="intel/llm-scaler PR #682",
        ),
        _code("rednote-hilab/dots.ocr"),
        pattern=called("dots.ocr", "dots.mocr"),
    ),
    _ocr("GLM-OCR", "zai-org/GLM-OCR", _speculating("GLM/GLM-OCR.md")),
    _ocr(
        "PaddleOCR-VL",
        "PaddlePaddle/PaddleOCR-VL",
        Part(
            flags=("--trust-remote-code",),
            why="its processor is in its repository; that code runs on the server",
            source=f"{RECIPES}PaddlePaddle/PaddleOCR-VL.md",
        ),
        Part(
            flags=("--max-num-batched-tokens", "16384"),
            why="pages are long prompts",
            source=f"{RECIPES}PaddlePaddle/PaddleOCR-VL.md",
        ),
    ),
    _ocr(
        "Nemotron-Parse",
        "nvidia/NVIDIA-Nemotron-Parse-v1.1",
        _code("NVIDIA Nemotron-Parse"),
        pattern=called("nemotron-parse"),
    ),
    _ocr("HunyuanOCR", "tencent/HunyuanOCR"),
    _ocr("LightOnOCR", "lightonai/LightOnOCR-2-1B", pattern=r"lightonocr"),
    _ocr("Qianfan-OCR", "baidu/Qianfan-OCR", _code("Qianfan-OCR"), since="0.21.0"),
    _ocr(
        "olmOCR",
        "allenai/olmOCR-2-7B-1025",
        Part(
            flags=("--max-model-len", "16384"),
            why="as its makers serve it",
            source="allenai/olmocr@f7cfe4c olmocr/pipeline.py",
        ),
    ),
    _ocr(
        "MinerU2.5",
        "opendatalab/MinerU2.5-2509-1.2B",
        Part(
            flags=("--logits-processors", "mineru_vl_utils:MinerULogitsProcessor"),
            why="ends loops; it is in the package mineru-vl-utils, which the server must have",
            source="opendatalab/mineru-vl-utils@abb57de",
        ),
        pattern=r"mineru2\.5",
    ),
    _ocr("Chandra", "datalab-to/chandra"),
    _ocr("Nanonets-OCR", "nanonets/Nanonets-OCR2-3B", pattern=r"nanonets-ocr"),
    _ocr("RolmOCR", "reducto/RolmOCR"),
    _ocr(
        "granite-docling",
        "ibm-granite/granite-docling-258M",
        Part(
            flags=("--revision", "untied"),
            without="the weights of its last layer are tied, which vLLM reads wrongly",
            fatal=True,
            why="the branch whose last layer vLLM reads rightly",
            source="card: ibm-granite/granite-docling-258M",
        ),
    ),
)
