"""Models that read pages: prompts, sampling and grammar of each."""

from __future__ import annotations

from ._profile import OCRProfile, Profile

DEEPSEEK_OCR = Profile(
    name="DeepSeek-OCR",
    pattern=r"deepseek[-_]?ocr(?![-_]?2)",
    ocr=OCRProfile(
        # vLLM puts `<image>\n` in front of the text by itself.
        prompts={
            "markdown": "<|grounding|>Convert the document to markdown.",
            "boxes": "<|grounding|>OCR this image.",
            "text": "Free OCR.",
            "figure": "Parse the figure.",
            "describe": "Describe this image in detail.",
        },
        # The whitelist is <td> and </td>, which a table may repeat.
        vllm_xargs={
            "ngram_size": 30,
            "window_size": 90,
            "whitelist_token_ids": [128821, 128822],
        },
        skip_special_tokens=False,  # the boxes stand between special tokens
        grammar="grounding",
        sources={
            "prompts": "source: deepseek-ai/DeepSeek-OCR config.py",
            "vllm_xargs": "source: vllm-project/recipes DeepSeek/DeepSeek-OCR.md",
            "skip_special_tokens": "source: vllm-project/recipes DeepSeek/DeepSeek-OCR.md",
            "grammar": "source: deepseek-ai/DeepSeek-OCR run_dpsk_ocr_image.py",
        },
    ),
)

OCR_PROFILES = (DEEPSEEK_OCR,)
