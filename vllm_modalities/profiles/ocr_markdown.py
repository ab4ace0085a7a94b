"""Models that read pages as Markdown, with places for figures at most; and any vision model."""

from __future__ import annotations

from ._ocr_profile import ImageRule, OCRProfile
from ._ocr_prompts import NANONETS, OLMOCR
from ._profile import Profile
from ._shorthand import VLLM, called, cite

_QWEN_IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"

GLM_OCR = Profile(
    name="GLM-OCR",
    pattern=called("glm-ocr"),
    ocr=OCRProfile(
        prompts={
            "markdown": "Text Recognition:",
            "text": "Text Recognition:",
            "table": "Table Recognition:",
            "formula": "Formula Recognition:",
        },
        licence="Apache 2.0",
        placeholder="<|begin_of_image|><|image|><|end_of_image|>",
        sampling={"top_p": 0.00001, "top_k": 1, "repetition_penalty": 1.1},
        image=ImageRule(pixels=(12_544, 71_372_800)),
        dpi=200,
        seen="zai-org/GLM-OCR examples/result/page/page.md",
        sources=cite(
            {
                "source: zai-org/GLM-OCR@cef4d0e glmocr/config.yaml": "prompts sampling image dpi",
                f"{VLLM}model_executor/models/glm4_1v.py": "placeholder",
                "source: zai-org/GLM-OCR examples/result/page/page.md": "grammar seen",
                "source: zai-org/GLM-OCR pyproject.toml": "licence",
            }
        ),
    ),
    notes=("It reads one region at a time. Words of your own make it loop (GLM-OCR PR 239).",),
)

_LIGHTON_SHAPE = "huggingface/transformers tests/models/lighton_ocr/test_modeling_lighton_ocr.py"
LIGHTON_OCR = Profile(
    name="LightOnOCR",
    pattern=r"lighton[-_]?ocr",
    ocr=OCRProfile(
        prompts={"markdown": ""},
        licence="no words",
        sampling={"temperature": 0.2, "top_p": 0.9},
        grammar="placed-figures",
        image=ImageRule(scale=1000, longest=1540),
        seen=_LIGHTON_SHAPE,
        sources=cite(
            {
                "card: lightonai/LightOnOCR-2-1B": "prompts licence sampling image",
                "card: lightonai/LightOnOCR-2-1B-bbox-soup": "grammar",
                f"source: {_LIGHTON_SHAPE}": "seen",
            }
        ),
    ),
    notes=(
        "It takes a page and no words: it repeats those that it gets.",
        "The places of figures, which a `bbox` version writes, are read as its card says: the"
        " public answer has none.",
    ),
)

QIANFAN_OCR = Profile(
    name="Qianfan-OCR",
    pattern=r"qianfan[-_]?ocr",
    ocr=OCRProfile(
        prompts={"markdown": "Parse this document to Markdown."},
        dpi=200,
        sources=cite({"card: baidu/Qianfan-OCR": "prompts grammar dpi"}),
    ),
)

OLMOCR_ = Profile(
    name="olmOCR",
    pattern=r"olm[-_]?ocr",
    ocr=OCRProfile(
        prompts={"markdown": OLMOCR},
        licence="Apache 2.0",
        placeholder=_QWEN_IMAGE,
        sampling={"temperature": 0.1},
        ladder=(0.2, 0.3, 0.5, 0.8),
        grammar="front-matter",
        image=ImageRule(longest=1288),
        seen="allenai/olmocr tests/test_pipeline.py",
        sources=cite(
            {
                "source: allenai/olmocr olmocr/prompts/prompts.py": "prompts grammar",
                "source: allenai/olmocr@f7cfe4c olmocr/pipeline.py": "sampling ladder image",
                f"{VLLM}model_executor/models/qwen2_5_vl.py": "placeholder",
                "source: allenai/olmocr tests/test_pipeline.py": "seen",
                "source: olmocr 0.4.27, METADATA of its wheel": "licence",
            }
        ),
    ),
)

NANONETS_OCR = Profile(
    name="Nanonets-OCR",
    pattern=r"nanonets[-_]ocr",
    ocr=OCRProfile(
        prompts={"markdown": NANONETS},
        licence="Apache 2.0, as others say",
        placeholder=_QWEN_IMAGE,
        sampling={"repetition_penalty": 1.0},
        grammar="page-tags",
        sources=cite(
            {
                "card: nanonets/Nanonets-OCR2-3B": "prompts sampling grammar",
                "source: docs.voxel51.com model zoo, nanonets/Nanonets-OCR2-3B": "licence",
                f"{VLLM}model_executor/models/qwen2_5_vl.py": "placeholder",
            }
        ),
    ),
)

GENERIC_OCR = OCRProfile(
    prompts={
        "markdown": "Transcribe this page as Markdown: all of its words, in reading order, as they"
        " are written, without translating, summarising or commenting. Write tables as HTML and"
        " formulas as LaTeX between $ signs.",
        "text": "Transcribe all words of this page as plain text, in reading order, and say nothing"
        " else.",
        "table": "Write the table in this picture as HTML, and say nothing else.",
        "formula": "Write the formula in this picture as LaTeX, and say nothing else.",
        "figure": "Describe this figure for a reader who cannot see it, with the words and numbers"
        " in it.",
    },
    instead={"markdown": "text"},
    sources={},
)
"""How a model is asked that no profile knows, where the caller maps a server to reading pages."""

OCR_MARKDOWN = (GLM_OCR, LIGHTON_OCR, QIANFAN_OCR, OLMOCR_, NANONETS_OCR)
