"""A small random embedder of Qwen3's kind: last token, prompts for queries, a chat template.

usage: small_qwen3_embedder FOLDER

Its tokens are bytes, so that a count of tokens tells what was added to a text.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import Qwen3Config, Qwen3ForCausalLM

END, PAD = "<|endoftext|>", "<|pad|>"
CONTROL = (END, "<|im_start|>", "<|im_end|>", PAD)
WIDTH = 64
LENGTH = 2048

# Qwen/Qwen3-Embedding-0.6B: tokenizer_config.json (without tools) and
# config_sentence_transformers.json.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PROMPTS = {
    "query": "Instruct: Given a web search query, retrieve relevant passages that answer the "
    "query\nQuery:",
    "document": "",
}


def tokenizer() -> Tokenizer:
    """One token a byte and the control tokens, with the end of text after every text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    built = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    built.decoder = decoders.ByteLevel()
    built.add_special_tokens([AddedToken(token, special=True) for token in CONTROL])
    built.post_processor = processors.TemplateProcessing(
        single=f"$A {END}",
        pair=f"$A $B {END}",
        special_tokens=[(END, built.token_to_id(END))],
    )
    return built


def config(vocabulary: Tokenizer) -> Qwen3Config:
    return Qwen3Config(
        vocab_size=vocabulary.get_vocab_size(),
        hidden_size=WIDTH,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=LENGTH,
        tie_word_embeddings=True,
        initializer_range=0.2,  # with the usual 0.02 all texts are alike
        bos_token_id=vocabulary.token_to_id(END),
        eos_token_id=vocabulary.token_to_id(END),
        pad_token_id=vocabulary.token_to_id(PAD),
    )


POOLING: dict[str, Any] = {
    "word_embedding_dimension": WIDTH,
    **{f"pooling_mode_{way}": False for way in ("cls_token", "mean_tokens", "max_tokens")},
    "pooling_mode_lasttoken": True,
    "include_prompt": True,
}


def modules() -> list[dict[str, Any]]:
    """modules.json: the language model, its last token, and length 1."""
    steps = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
    return [
        {
            "idx": number,
            "name": str(number),
            "path": path,
            "type": f"sentence_transformers.models.{kind}",
        }
        for number, (path, kind) in enumerate(steps)
    ]


def main(folder: str) -> None:
    torch.manual_seed(0)
    vocabulary = tokenizer()
    vocabulary.save(str(Path(folder, "tokenizer.json")))
    Qwen3ForCausalLM(config(vocabulary)).to(torch.float32).save_pretrained(folder)
    Path(folder, "1_Pooling").mkdir()
    for name, content in {
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": END,
            "pad_token": PAD,
            "model_max_length": LENGTH,
            "chat_template": CHAT_TEMPLATE,
            "clean_up_tokenization_spaces": False,
        },
        "modules.json": modules(),
        "1_Pooling/config.json": POOLING,
        "config_sentence_transformers.json": {
            "prompts": PROMPTS,
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
    }.items():
        Path(folder, name).write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
