"""What a Whisper folder needs beside weights: tokenizer, audio preparation, how to generate.

usage: whisper_settings FOLDER TOKENIZER_JSON        (after whisper_weights)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]

# openai/whisper, whisper/audio.py
AUDIO: Json = {
    "feature_extractor_type": "WhisperFeatureExtractor",
    "processor_class": "WhisperProcessor",
    "feature_size": 80,
    "sampling_rate": 16000,
    "hop_length": 160,
    "chunk_length": 30,
    "n_fft": 400,
    "n_samples": 480000,
    "nb_max_frames": 3000,
    "padding_side": "right",
    "padding_value": 0.0,
    "return_attention_mask": False,
}
TOKENIZER: Json = {
    "tokenizer_class": "WhisperTokenizer",
    "processor_class": "WhisperProcessor",
    "model_max_length": 1024,
    **dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), "<|endoftext|>"),
    "add_prefix_space": False,
    "errors": "replace",
    "clean_up_tokenization_spaces": True,
}


def add_timestamps(tokenizer: Json) -> None:
    """Add <|0.00|> to <|30.00|>, which some packaged tokenizers leave out."""
    added = tokenizer["added_tokens"]
    if any(token["content"] == "<|0.00|>" for token in added):
        return
    first = max(token["id"] for token in added) + 1
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    added += [
        {"id": first + number, "content": f"<|{number * 0.02:.2f}|>", **flags}
        for number in range(1501)
    ]


def fold_prompt(tokenizer: Json) -> None:
    """Make one token of the three with which vLLM starts every transcription.

    vLLM sends <|startoftranscript|><|en|><|transcribe|> to every Whisper (v0.32.0,
    vllm/model_executor/models/whisper.py), but an English-only one was trained to start with the
    first alone, and answers the three with nothing.
    """
    start = "<|startoftranscript|>"
    for token in tokenizer["added_tokens"]:
        if token["content"] == start:
            token["content"] = f"{start}<|en|><|transcribe|>"


def generation(config: Json, ids: dict[str, int], *, multilingual: bool) -> Json:
    """generation_config.json, with the languages where there are any to choose from."""
    settings: Json = {
        name: config[name]
        for name in (
            "begin_suppress_tokens",
            "bos_token_id",
            "eos_token_id",
            "pad_token_id",
            "decoder_start_token_id",
        )
    }
    settings |= {
        "max_length": config["max_target_positions"],
        "no_timestamps_token_id": ids["<|notimestamps|>"],
        "max_initial_timestamp_index": 50,
        "return_timestamps": False,
        "is_multilingual": multilingual,
    }
    if multilingual:
        languages = range(ids["<|en|>"], ids["<|translate|>"])
        settings["task_to_id"] = {task: ids[f"<|{task}|>"] for task in ("transcribe", "translate")}
        settings["lang_to_id"] = {
            token: number for token, number in ids.items() if number in languages
        }
    return settings


def main(folder: str, tokenizer_json: str) -> None:
    config = json.loads(Path(folder, "config.json").read_text())
    multilingual = config["vocab_size"] >= 51865
    tokenizer = json.loads(Path(tokenizer_json).read_text())
    add_timestamps(tokenizer)
    ids = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    if not multilingual:
        fold_prompt(tokenizer)
    for name, content in {
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": TOKENIZER,
        "preprocessor_config.json": AUDIO,
        "generation_config.json": generation(config, ids, multilingual=multilingual),
    }.items():
        Path(folder, name).write_text(json.dumps(content, ensure_ascii=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
