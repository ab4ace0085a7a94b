"""A small Qwen3-ASR, of two thin layers an end, for `--load-format dummy`.

usage: small_qwen3_asr FOLDER

vLLM runs its real code for it, also that of `/v1/realtime`, on numbers made up at load time.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

END, TURN, TURN_ENDS = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
BEGINS, SOUND, ENDS = "<|audio_start|>", "<|audio_pad|>", "<|audio_end|>"
WIDTH = 64
LENGTH = 8192
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}"
    "{% else %}<|audio_start|><|audio_pad|><|audio_end|>{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)


def tokenizer() -> Tokenizer:
    """One token a byte, then Qwen's control tokens and those of sound."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    built = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    built.decoder = decoders.ByteLevel()
    control = (END, TURN, TURN_ENDS, BEGINS, SOUND, ENDS)
    built.add_special_tokens([AddedToken(token, special=True) for token in control])
    return built


def config(vocabulary: Tokenizer) -> dict[str, Any]:
    """config.json as Qwen/Qwen3-ASR-0.6B lays it out."""
    number = vocabulary.token_to_id
    return {
        "architectures": ["Qwen3ASRForConditionalGeneration"],
        "model_type": "qwen3_asr",
        "support_languages": ["English"],
        "thinker_config": {
            "model_type": "qwen3_asr",
            "audio_token_id": number(SOUND),
            "audio_start_token_id": number(BEGINS),
            "audio_end_token_id": number(ENDS),
            "dtype": "float32",
            "audio_config": {
                "model_type": "qwen3_asr_audio_encoder",
                "num_mel_bins": 128,
                "encoder_layers": 2,
                "encoder_attention_heads": 2,
                "encoder_ffn_dim": 128,
                "d_model": WIDTH,
                "max_source_positions": 1500,
                "n_window": 50,
                "n_window_infer": 800,
                "output_dim": WIDTH,
                "downsample_hidden_size": 32,
            },
            "text_config": {
                "model_type": "qwen3",
                "vocab_size": vocabulary.get_vocab_size(),
                "hidden_size": WIDTH,
                "intermediate_size": 128,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "num_key_value_heads": 2,
                "head_dim": 32,
                "max_position_embeddings": LENGTH,
                "rope_theta": 1_000_000,
                "rope_scaling": {
                    "rope_type": "default",
                    "mrope_section": [4, 6, 6],
                    "mrope_interleaved": True,
                    "interleaved": True,
                },
                "tie_word_embeddings": True,
                "bos_token_id": number(END),
                "eos_token_id": number(TURN_ENDS),
            },
        },
    }


def main(folder: str) -> None:
    vocabulary = tokenizer()
    vocabulary.save(str(Path(folder, "tokenizer.json")))
    for name, content in {
        "config.json": config(vocabulary),
        "preprocessor_config.json": {
            "feature_extractor_type": "WhisperFeatureExtractor",
            "processor_class": "Qwen3ASRProcessor",
            "feature_size": 128,
            "sampling_rate": 16_000,
            "hop_length": 160,
            "chunk_length": 30,
            "n_fft": 400,
            "return_attention_mask": True,
        },
        "generation_config.json": {"eos_token_id": vocabulary.token_to_id(TURN_ENDS)},
        "tokenizer_config.json": {
            "tokenizer_class": "Qwen2TokenizerFast",
            "processor_class": "Qwen3ASRProcessor",
            "eos_token": TURN_ENDS,
            "pad_token": END,
            "audio_bos_token": BEGINS,
            "audio_token": SOUND,
            "audio_eos_token": ENDS,
            "model_max_length": LENGTH,
            "clean_up_tokenization_spaces": False,
            "chat_template": TEMPLATE,
        },
    }.items():
        Path(folder, name).write_text(json.dumps(content, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
