"""vLLM's own DeepSeek-OCR, but for the depth and the inner width of its two vision encoders."""
# mypy: disable-error-code="misc"
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from vllm.model_executor.models import deepencoder, deepseek_ocr


def small_sam() -> Any:
    """SAM's encoder with one layer of width 64; what comes out keeps its shape."""
    return deepencoder._build_sam(  # noqa: SLF001 - its public builder takes no sizes
        encoder_embed_dim=64,
        encoder_depth=1,
        encoder_num_heads=1,
        encoder_global_attn_indexes=[],
    )


def small_clip(**sizes: Any) -> Any:
    """CLIP's configuration with one layer; its width is also that of SAM's output."""
    return full_clip(**sizes | {"num_hidden_layers": 1, "intermediate_size": 256})


# The model's constructor reads both names from its module (v0.32.0,
# vllm/model_executor/models/deepseek_ocr.py, `DeepseekOCRForCausalLM.__init__`).
full_clip = deepseek_ocr.CLIPVisionConfig
deepseek_ocr.build_sam_vit_b = small_sam
deepseek_ocr.CLIPVisionConfig = small_clip


class ShrunkenOCR(deepseek_ocr.DeepseekOCRForCausalLM):
    """A class of this module's own, so that looking the model up brings the lines above along."""
