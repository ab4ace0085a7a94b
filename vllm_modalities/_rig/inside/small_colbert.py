"""A small random ColBERT: a vector of 32 numbers for every token, for late interaction.

usage: small_colbert FOLDER TOKENIZER_FOLDER
"""
# mypy: disable-error-code="import-not-found"
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from sequence_classifier import TOKENIZER
from transformers import BertConfig, BertModel

WIDTH = 32


def main(folder: str, tokenizer_folder: str) -> None:
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        initializer_range=0.4,  # with the usual 0.02 all tokens are alike
    )
    bert = BertModel(config, add_pooling_layer=False).state_dict()
    tensors = {f"bert.{name}": tensor.contiguous() for name, tensor in bert.items()}
    tensors["linear.weight"] = 0.2 * torch.randn(WIDTH, config.hidden_size)
    save_file(tensors, Path(folder, "model.safetensors"), metadata={"format": "pt"})
    # Without "colbert_dim", with which vLLM 0.32.0 does not start: it then takes the width from
    # the weights (vllm/model_executor/models/colbert.py, `ColBERTMixin`).
    described = {**config.to_dict(), "architectures": ["HF_ColBERT"]}
    Path(folder, "config.json").write_text(json.dumps(described, indent=1))
    for name in TOKENIZER:
        shutil.copy(Path(tokenizer_folder, name), folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
