"""Models that read pages: prompts, sampling, coordinates and grammar of each."""

from __future__ import annotations

from dataclasses import replace

from ._ocr_profile import ImageRule, OCRProfile
from ._ocr_prompts import DOTS_LAYOUT, DOTS_LAYOUT_AND_TEXT
from ._profile import Profile
from ._shorthand import DEEPSEEK, PADDLEX, VLLM, called, cite
from .ocr_blocks import OCR_BLOCKS
from .ocr_markdown import OCR_MARKDOWN

# <td> and </td>, which a table may repeat.
_CELLS = [128821, 128822]

_DEEPSEEK_FACTS = OCRProfile(
    # vLLM puts `<image>\n` in front of the text by itself.
    prompts={
        "markdown": "<|grounding|>Convert the document to markdown.",
        "boxes": "<|grounding|>OCR this image.",
        "text": "Free OCR.",
        "figure": "Parse the figure.",
        "describe": "Describe this image in detail.",
        "locate": "Locate <|ref|>{phrase}<|/ref|> in the image.",
    },
    placeholder="<image>",
    instead={"markdown": "text"},
    vllm_xargs={"ngram_size": 30, "window_size": 90, "whitelist_token_ids": _CELLS},
    skip_special_tokens=False,  # the boxes stand between special tokens
    grammar="grounding",
    image=ImageRule(scale=999),
    dpi=144,
    seen="deepseek-ai/DeepSeek-OCR run_dpsk_ocr_image.py",
    sources=cite(
        {
            f"{DEEPSEEK}config.py": "prompts placeholder instead",
            "source: vllm-project/recipes DeepSeek/DeepSeek-OCR.md": (
                "vllm_xargs skip_special_tokens"
            ),
            f"{DEEPSEEK}run_dpsk_ocr_image.py": "grammar image seen",
            f"{DEEPSEEK}run_dpsk_ocr_pdf.py": "dpi",
        }
    ),
)

DEEPSEEK_OCR = Profile(
    name="DeepSeek-OCR",
    pattern=r"deepseek[-_]?ocr(?![-_]?2)",
    ocr=_DEEPSEEK_FACTS,
    notes=(
        'It always reads in tiles ("gundam", 1024 and up to six of 640); vLLM takes no other mode.',
        "Its boxes are those of blocks or lines, never of words.",
    ),
)

_DEEPSEEK_2_SHAPE = (
    "huggingface/transformers tests/models/deepseek_ocr2/test_modeling_deepseek_ocr2.py"
)
DEEPSEEK_OCR_2 = Profile(
    name="DeepSeek-OCR-2",
    pattern=r"deepseek[-_]?ocr[-_]?2",
    ocr=replace(
        _DEEPSEEK_FACTS,
        prompts={
            task: prompt
            for task, prompt in _DEEPSEEK_FACTS.prompts.items()
            if task in ("markdown", "text")
        },
        seen=_DEEPSEEK_2_SHAPE,
        sources={
            **dict.fromkeys(_DEEPSEEK_FACTS.sources, "source: deepseek-ai/DeepSeek-OCR-2@2f3699e"),
            "seen": f"source: {_DEEPSEEK_2_SHAPE}",
        },
    ),
)

UNLIMITED_OCR = Profile(
    name="Unlimited-OCR",
    pattern=called("unlimited-ocr"),
    ocr=OCRProfile(
        # With the line feed that vLLM puts behind an `<image>` of its own, it says nothing.
        prompts={"markdown": "document parsing."},
        placeholder="<image>",
        prefix="<image>",
        vllm_xargs={"ngram_size": 35, "window_size": 128},
        skip_special_tokens=False,
        grammar="grounding",
        image=ImageRule(scale=999),
        dpi=300,
        seen="https://github.com/docling-project/docling/pull/3944",
        sources=cite(
            {
                "source: vllm-project/recipes models/baidu/Unlimited-OCR.yaml": (
                    "prompts placeholder prefix vllm_xargs skip_special_tokens"
                ),
                "source: baidu/Unlimited-OCR@582efd9": "image dpi",
                "source: https://github.com/docling-project/docling/pull/3944": "grammar seen",
            }
        ),
    ),
)

DOTS_OCR = Profile(
    name="dots.ocr",
    pattern=r"(?<![a-z0-9])dots[-_.]?m?ocr(?![a-z0-9])",
    ocr=OCRProfile(
        prompts={
            "markdown": DOTS_LAYOUT_AND_TEXT,
            "layout": DOTS_LAYOUT,
            "text": "Extract the text content from this image.",
        },
        licence="MIT, and an agreement of its own beside it, before which MIT goes",
        # Written out, since the template drops the turns of content that comes in parts.
        placeholder="<|img|><|imgpad|><|endofimg|>",
        prefix="<|img|><|imgpad|><|endofimg|>",
        sampling={"temperature": 0.1, "top_p": 0.9},
        # "Consider using alternative prompts", of dots and underscores that are repeated endlessly.
        instead={"markdown": "text"},
        grammar="layout-json",
        grammars={"text": "plain"},
        image=ImageRule(pixels=(3136, 11_289_600), multiple=28, ratio=200),
        dpi=200,
        seen="docling-project/docling tests/data/json_dots/dots_list.json",
        sources=cite(
            {
                "source: rednote-hilab/dots.ocr dots_ocr/utils/prompts.py": "prompts",
                "source: rednote-hilab/dots.ocr README.md": "instead",
                "source: rednote-hilab/dots.ocr@36d7248 dots.ocr LICENSE AGREEMENT": "licence",
                f"{VLLM}model_executor/models/dots_ocr.py": "placeholder prefix",
                "source: rednote-hilab/dots.ocr@36d7248": "sampling grammar grammars image dpi",
                "source: docling-project/docling tests/data/json_dots/dots_list.json": "seen",
            }
        ),
    ),
    notes=(
        "Serve it with `--chat-template-content-format string`; without, one page in five is made"
        " up (intel/llm-scaler pull request 682).",
    ),
)

PADDLE_OCR_VL = Profile(
    name="PaddleOCR-VL",
    pattern=r"paddle[-_]?ocr[-_]?vl",
    ocr=OCRProfile(
        prompts={
            "markdown": "OCR:",
            "text": "OCR:",
            "table": "Table Recognition:",
            "formula": "Formula Recognition:",
            "figure": "Chart Recognition:",
            "layout": "Spotting:",
            "seal": "Seal Recognition:",
        },
        licence="Apache 2.0",
        placeholder="<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>",
        skip_special_tokens=False,  # places are tokens; end tokens are cut off here
        grammar="locations",
        image=ImageRule(scale=1000),
        seen="https://github.com/PaddlePaddle/PaddleOCR/issues/17579",
        sources=cite(
            {
                f"{PADDLEX}uilts.py": "prompts skip_special_tokens grammar image",
                "source: https://github.com/PaddlePaddle/PaddleOCR/issues/17579": "seen",
                "source: PaddleX 3.7.2, METADATA of its wheel": "licence",
                f"{VLLM}model_executor/models/paddleocr_vl.py": "placeholder",
            }
        ),
    ),
    notes=(
        "It reads one region at a time: a page with columns should be cut into them before.",
        "`layout` and `seal` are of 1.5 and 1.6.",
    ),
)

_NEMOTRON = "</s><s><predict_bbox><predict_classes><output_markdown>"
_NEMOTRON_FACTS = OCRProfile(
    prompts={
        "markdown": f"{_NEMOTRON}<predict_no_text_in_pic>",
        "figure": f"{_NEMOTRON}<predict_text_in_pic>",
    },
    licence="MIT",
    sampling={"top_k": 1, "repetition_penalty": 1.1},
    skip_special_tokens=False,
    grammar="corners",
    image=ImageRule(scale=1.0, canvas=(1664, 2048)),
    dpi=300,
    seen="docling-project/docling tests of nemotron_parse_utils",
    sources=cite(
        {
            "source: docling-project/docling, preset nemotron_parse_v2": (
                "prompts sampling skip_special_tokens image"
            ),
            "source: docling-project/docling tests of nemotron_parse_utils": "grammar seen",
            "source: NVIDIA-NeMo/Curator nemo_curator/stages/interleaved/pdf/utils.py": "dpi",
            "source: docling 2.143.0, METADATA of its wheel": "licence",
        }
    ),
)
_NEMOTRON_NOTE = "Words of your own make it loop: its prompt is a row of tokens."
NEMOTRON_PARSE = Profile(
    name="Nemotron-Parse",
    pattern=r"nemotron[-_]parse",
    ocr=_NEMOTRON_FACTS,
    notes=(
        _NEMOTRON_NOTE,
        "The canvas is that of 2.0; that of 1.2 is not known, and may be 1 % narrower.",
    ),
)
NEMOTRON_PARSE_1_1 = Profile(
    name="Nemotron-Parse 1.1",
    pattern=called("nemotron-parse-v1.1", "nemotron-parse-1.1"),
    ocr=replace(
        _NEMOTRON_FACTS,
        prompts={"markdown": _NEMOTRON},
        image=ImageRule(scale=1.0, canvas=(1648, 2048)),
        sources={
            **_NEMOTRON_FACTS.sources,
            "image": "source: nvidia/NVIDIA-Nemotron-Parse-v1.1 hf_nemotron_parse_processor.py",
        },
    ),
    notes=(_NEMOTRON_NOTE, "It tells of figures behind all text, so that is their order here."),
)

OCR_PROFILES = (
    DEEPSEEK_OCR,
    DEEPSEEK_OCR_2,
    UNLIMITED_OCR,
    DOTS_OCR,
    PADDLE_OCR_VL,
    NEMOTRON_PARSE_1_1,
    NEMOTRON_PARSE,
    *OCR_BLOCKS,
    *OCR_MARKDOWN,
)
