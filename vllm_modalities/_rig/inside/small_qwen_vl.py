"""Two models that read pages, of two thin layers each, for `--load-format dummy`.

usage: small_qwen_vl FOLDER qwen2_5_vl|dots_ocr

olmOCR and Nanonets-OCR are fine-tunes of Qwen2.5-VL, and dots.ocr has a tower of its own before a
Qwen2. vLLM runs its real code for them (the size of the picture, the template, what stands for the
picture) on numbers made up at load time.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

END, TURN, TURN_ENDS, VIDEO = "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|video_pad|>"
# What stands for a picture, in three tokens of which the second is repeated.
PICTURES = {
    "qwen2_5_vl": ("<|vision_start|>", "<|image_pad|>", "<|vision_end|>"),
    "dots_ocr": ("<|img|>", "<|imgpad|>", "<|endofimg|>"),
}
WIDTH = 64
LENGTH = 8192
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}"
    "{% else %}PICTURE{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)


def tokenizer(kind: str) -> Tokenizer:
    """One token a byte, then Qwen's control tokens and those of a picture."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    built = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    built.decoder = decoders.ByteLevel()
    control = (END, TURN, TURN_ENDS, VIDEO, *PICTURES[kind])
    built.add_special_tokens([AddedToken(token, special=True) for token in control])
    return built


def config(kind: str, vocabulary: Tokenizer) -> dict[str, Any]:
    """config.json as Qwen/Qwen2.5-VL-3B-Instruct and rednote-hilab/dots.ocr lay it out."""
    number = vocabulary.token_to_id
    begins, image, ends = PICTURES[kind]
    return {
        "architectures": [ARCHITECTURES[kind]],
        "model_type": kind,
        "vocab_size": vocabulary.get_vocab_size(),
        "bos_token_id": number(END),
        "eos_token_id": number(TURN_ENDS),
        "image_token_id": number(image),
        "video_token_id": number(VIDEO),
        "vision_start_token_id": number(begins),
        "vision_end_token_id": number(ends),
        "hidden_size": WIDTH,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": LENGTH,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 1_000_000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        **TOWERS[kind],
    }


# vLLM has the class, and takes it from a model's own code alone (`--trust-remote-code`).
DOTS_CONFIGURATION = "from vllm.transformers_utils.configs.dotsocr import DotsOCRConfig\n"
ARCHITECTURES = {
    "qwen2_5_vl": "Qwen2_5_VLForConditionalGeneration",
    "dots_ocr": "DotsOCRForCausalLM",
}
TOWERS: dict[str, dict[str, Any]] = {
    "qwen2_5_vl": {
        "rope_scaling": {"type": "mrope", "mrope_section": [4, 6, 6]},
        "vision_config": {
            "model_type": "qwen2_5_vl",
            "depth": 2,
            "hidden_act": "silu",
            "hidden_size": WIDTH,
            "intermediate_size": 128,
            "num_heads": 2,
            "in_chans": 3,
            "out_hidden_size": WIDTH,
            "patch_size": 14,
            "spatial_merge_size": 2,
            "spatial_patch_size": 14,
            "window_size": 112,
            "fullatt_block_indexes": [1],
            "tokens_per_second": 2,
            "temporal_patch_size": 2,
        },
    },
    "dots_ocr": {
        "auto_map": {"AutoConfig": "configuration_dots.DotsOCRConfig"},
        "vision_config": {
            "embed_dim": WIDTH,
            "hidden_size": WIDTH,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
        },
    },
}


def images(kind: str) -> dict[str, Any]:
    """preprocessor_config.json: how a picture is cut into patches."""
    return {
        "image_processor_type": "Qwen2VLImageProcessor",
        "processor_class": "Qwen2_5_VLProcessor",
        "min_pixels": 3136,
        "max_pixels": 1_605_632,
        "patch_size": 14,
        "temporal_patch_size": 1 if kind == "dots_ocr" else 2,
        "merge_size": 2,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    }


def main(folder: str, kind: str) -> None:
    vocabulary = tokenizer(kind)
    vocabulary.save(str(Path(folder, "tokenizer.json")))
    for name, content in {
        "config.json": config(kind, vocabulary),
        "preprocessor_config.json": images(kind),
        "generation_config.json": {"eos_token_id": vocabulary.token_to_id(TURN_ENDS)},
        "tokenizer_config.json": {
            "tokenizer_class": "Qwen2TokenizerFast",
            "eos_token": TURN_ENDS,
            "pad_token": END,
            "model_max_length": LENGTH,
            "clean_up_tokenization_spaces": False,
            "chat_template": TEMPLATE.replace("PICTURE", "".join(PICTURES[kind])),
        },
    }.items():
        Path(folder, name).write_text(json.dumps(content, ensure_ascii=False, indent=1))
    if kind == "dots_ocr":
        Path(folder, "configuration_dots.py").write_text(DOTS_CONFIGURATION)


if __name__ == "__main__":
    main(*sys.argv[1:])
