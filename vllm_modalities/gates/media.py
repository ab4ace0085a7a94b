"""Rows for OCR."""

from __future__ import annotations

from ._gate import ANY, Action, Gate, Models, above


def _named(name: str) -> Models:
    return Models(name, lambda profile: profile.name == name)


MEDIA_GATES: tuple[Gate, ...] = (
    Gate(
        code="ocr-gibberish",
        requests=("OCRRequest",),
        field="model",
        when=ANY,
        models=_named("DeepSeek-OCR"),
        since="0.19.0",
        until="0.19.1",
        action=Action.DEFECT,
        problem="this release reads small images as gibberish",
        cure="Upgrade, or go back to 0.18.",
        source="vLLM issue #39919",
    ),
    Gate(
        code="ocr-template",
        requests=("OCRRequest",),
        field="model",
        when=ANY,
        models=_named("DeepSeek-OCR"),
        since="0.20.0",
        until="0.21.0",
        action=Action.DEFECT,
        problem="beside transformers 5 the server writes the prompt in DeepSeek-VL2's chat format,"
        " which this model was not trained with",
        cure="Upgrade to 0.21.0 or later, or serve with --chat-template and vLLM's own"
        " template_deepseek_ocr.jinja.",
        source="vLLM 0.21.0 vllm/transformers_utils/configs/deepseek_vl2.py, `model_type`",
    ),
    Gate(
        code="ocr-repetition-detection",
        requests=("OCRRequest",),
        field="repetition_detection",
        until="0.17.0",
        action=Action.REFUSE,
        problem="the server drops the field without a word, and loops run to the end",
        cure="Leave it out and set max_tokens, or upgrade the server.",
        source="vLLM 0.17.0 vllm/sampling_params.py",
    ),
    Gate(
        code="ocr-pixels",
        requests=("OCRRequest",),
        field="messages",
        reads="pixels",
        when=above(178_956_970),
        action=Action.REFUSE,
        problem="{value} pixels: Pillow in the server opens at most 178,956,970 an image, and the"
        " server answers 500; from 0.33.0 it counts all images of a request",
        cure="Scale the image down.",
        source="PIL/Image.py, `_decompression_bomb_check`; vLLM 0.33.0"
        " vllm/envs.py, VLLM_MAX_MEDIA_REQUEST_DECODE_BYTES",
    ),
)
