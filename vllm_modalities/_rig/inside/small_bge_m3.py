"""A small random BGE-M3: of each token a weight, a vector, and of each text a vector.

usage: small_bge_m3 FOLDER TOKENIZER_FOLDER
"""
# mypy: disable-error-code="import-not-found"
# pyright: reportMissingImports=false

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import torch
from sequence_classifier import TOKENIZER
from transformers import XLMRobertaConfig, XLMRobertaModel

BEGIN, END = 101, 102  # of the tokenizer, BERT's; vLLM leaves the weights of both out


def main(folder: str, tokenizer_folder: str) -> None:
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=30_522,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        type_vocab_size=1,
        initializer_range=0.4,  # with the usual 0.02 all tokens are alike
        pad_token_id=0,
        bos_token_id=BEGIN,
        eos_token_id=END,
    )
    XLMRobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    for name, width in (("sparse_linear", 1), ("colbert_linear", config.hidden_size)):
        layer = torch.nn.Linear(config.hidden_size, width)
        torch.nn.init.ones_(layer.bias)  # or half of the weights would be below 0, which count as 0
        torch.save(layer.state_dict(), Path(folder, f"{name}.pt"))
    for name in TOKENIZER:
        shutil.copy(Path(tokenizer_folder, name), folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
