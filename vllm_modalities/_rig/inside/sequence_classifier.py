"""A small random BERT with a classification head: with one label, a cross-encoder reranker.

usage: sequence_classifier FOLDER TOKENIZER_FOLDER LABEL [LABEL ...]

No package on PyPI carries the weights of a real reranker, so the order that this one gives means
nothing; but it is always the same, with scores far enough apart to be told from each other.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import torch
from transformers import BertConfig, BertForSequenceClassification

TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def main(folder: str, tokenizer_folder: str, *labels: str) -> None:
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        initializer_range=0.4,  # with the usual 0.02 all scores are alike
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    for name in TOKENIZER:
        shutil.copy(Path(tokenizer_folder, name), folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
