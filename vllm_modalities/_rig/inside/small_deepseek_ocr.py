"""A DeepSeek-OCR of two thin layers: configuration and tokenizer, for `--load-format dummy`.

usage: small_deepseek_ocr FOLDER

vLLM runs its real code for the model (image tiles, prompts, the n-gram processor) on numbers made
up at load time. The same numbers each time, so at temperature 0 the same picture gives the same
text: nonsense of 271 byte-like tokens that soon runs in circles, which `ngram_size` then breaks.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

BEGIN, END, PAD = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"
CONTROL = (
    *(BEGIN, END, PAD, "<image>", "<|grounding|>"),
    *("<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>", "<|User|>", "<|Assistant|>"),
)
TABLE = ("<td>", "</td>", "<tr>", "</tr>")
WIDTH = 64
LENGTH = 8192


def tokenizer() -> Tokenizer:
    """One token a byte, then DeepSeek's control tokens and the ones that tables repeat."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    built = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    built.decoder = decoders.ByteLevel()
    built.add_special_tokens([AddedToken(token, special=True) for token in CONTROL])
    built.add_tokens(list(TABLE))
    return built


def language_model(vocabulary: Tokenizer) -> dict[str, Any]:
    """A mixture of four experts, of which two answer; no compressed attention (`use_mla`)."""
    return {
        "architectures": ["DeepseekV2ForCausalLM"],
        "vocab_size": vocabulary.get_vocab_size(),
        "bos_token_id": vocabulary.token_to_id(BEGIN),
        "eos_token_id": vocabulary.token_to_id(END),
        "hidden_size": WIDTH,
        "intermediate_size": 128,
        "moe_intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "first_k_dense_replace": 1,
        "moe_layer_freq": 1,
        "n_group": 1,
        "topk_group": 1,
        "topk_method": "greedy",
        "scoring_func": "softmax",
        "norm_topk_prob": False,
        "routed_scaling_factor": 1.0,
        "use_mla": False,
        "kv_lora_rank": None,
        "q_lora_rank": None,
        "qk_nope_head_dim": 0,
        "qk_rope_head_dim": 0,
        "v_head_dim": 0,
        "max_position_embeddings": LENGTH,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "torch_dtype": "float32",
        "lm_head": True,
        "rm_head": False,
    }


def config(vocabulary: Tokenizer) -> dict[str, Any]:
    """config.json as deepseek-ai/DeepSeek-OCR lays it out: the language model's keys twice."""
    language = language_model(vocabulary)
    return {
        **language,
        "architectures": ["DeepseekOCRForCausalLM"],
        "model_type": "deepseek_vl_v2",
        "candidate_resolutions": [[1024, 1024]],
        "global_view_pos": "head",
        "tile_tag": "2D",
        "language_config": language,
        "projector_config": {
            "model_type": "mlp_projector",
            "projector_type": "linear",
            "input_dim": 2048,
            "n_embed": WIDTH,
        },
        "vision_config": {
            "model_type": "vision",
            "model_name": "deeplip_b_l",
            "image_size": 1024,
            "mlp_ratio": 3.7362,
        },
    }


PROCESSOR: dict[str, Any] = {
    "processor_class": "DeepseekVLV2Processor",
    "candidate_resolutions": [[1024, 1024]],
    "patch_size": 16,
    "downsample_ratio": 4,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "normalize": True,
    "image_token": "<image>",
    "pad_token": PAD,
    "sft_format": "deepseek",
    "mask_prompt": False,
}


def main(folder: str) -> None:
    vocabulary = tokenizer()
    vocabulary.save(str(Path(folder, "tokenizer.json")))
    for name, content in {
        "config.json": config(vocabulary),
        "processor_config.json": PROCESSOR,
        "generation_config.json": {
            "bos_token_id": vocabulary.token_to_id(BEGIN),
            "eos_token_id": vocabulary.token_to_id(END),
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": BEGIN,
            "eos_token": END,
            "pad_token": PAD,
            "model_max_length": LENGTH,
            "clean_up_tokenization_spaces": False,
        },
    }.items():
        Path(folder, name).write_text(json.dumps(content, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
