"""Whisper's weights out of a CTranslate2 file, as the safetensors and config.json of Hugging Face.

usage: whisper_weights FOLDER MODEL_BIN [NEXT_PART ...]

The file's layout is that of CTranslate2, python/ctranslate2/specs/model_spec.py,
`ModelSpec._serialize`; its names those of specs/whisper_spec.py and specs/transformer_spec.py.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

Tensors = dict[str, NDArray[Any]]

DTYPES = ("<f4", "<i1", "<i2", "<i4", "<f2")  # by their number in the file
PARTS = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}


class Reader:
    """Takes numbers, strings and arrays off the front of a file's bytes."""

    def __init__(self, content: bytes) -> None:
        self.content, self.offset = content, 0

    def number(self, code: str) -> int:
        (number,) = struct.unpack_from(f"<{code}", self.content, self.offset)
        self.offset += struct.calcsize(f"<{code}")
        return int(number)

    def raw(self, length: int) -> bytes:
        self.offset += length
        return self.content[self.offset - length : self.offset]

    def string(self) -> str:
        return self.raw(self.number("H")).rstrip(b"\0").decode()

    def array(self) -> NDArray[Any]:
        shape = [self.number("I") for _ in range(self.number("B"))]
        dtype = np.dtype(DTYPES[self.number("B")])
        return np.frombuffer(self.raw(self.number("I")), dtype).reshape(shape)


def read_ctranslate2(content: bytes) -> Tensors:
    """The variables of a Whisper model, by CTranslate2's names."""
    reader = Reader(content)
    version, spec, _revision = reader.number("I"), reader.string(), reader.number("I")
    if (version, spec) != (6, "WhisperSpec"):
        raise ValueError(f"a {spec} of version {version}, not a WhisperSpec of version 6")
    variables = {reader.string(): reader.array() for _ in range(reader.number("I"))}
    for _ in range(reader.number("I")):
        alias, name = reader.string(), reader.string()
        variables[alias] = variables[name]
    return variables


def renamed(variables: Tensors, source: str, target: str) -> Tensors:
    """One linear layer, convolution or norm under its new name."""
    return {
        f"{target}.{new}": variables[f"{source}/{old}"]
        for old, new in PARTS.items()
        if f"{source}/{old}" in variables
    }


def projections(variables: Tensors, source: str, target: str, letters: str) -> Tensors:
    """The query, key and value layers, which CTranslate2 stacks into one."""
    weights = np.split(variables[f"{source}/weight"], len(letters))
    biases = np.split(variables[f"{source}/bias"], len(letters))
    tensors = {}
    for letter, weight, bias in zip(letters, weights, biases, strict=True):
        tensors[f"{target}.{letter}_proj.weight"] = weight
        if letter != "k":  # Whisper's keys have no bias; CTranslate2 fills in zeros
            tensors[f"{target}.{letter}_proj.bias"] = bias
    return tensors


def layer(variables: Tensors, source: str, target: str) -> Tensors:
    """One layer of the encoder, or of the decoder, which also attends to the encoder."""
    tensors = (
        projections(variables, f"{source}/self_attention/linear_0", f"{target}.self_attn", "qkv")
        | renamed(variables, f"{source}/self_attention/linear_1", f"{target}.self_attn.out_proj")
        | renamed(
            variables, f"{source}/self_attention/layer_norm", f"{target}.self_attn_layer_norm"
        )
        | renamed(variables, f"{source}/ffn/linear_0", f"{target}.fc1")
        | renamed(variables, f"{source}/ffn/linear_1", f"{target}.fc2")
        | renamed(variables, f"{source}/ffn/layer_norm", f"{target}.final_layer_norm")
    )
    if f"{source}/attention/linear_0/weight" in variables:
        crossing, attention = f"{source}/attention", f"{target}.encoder_attn"
        tensors |= projections(variables, f"{crossing}/linear_0", attention, "q")
        tensors |= projections(variables, f"{crossing}/linear_1", attention, "kv")
        tensors |= renamed(variables, f"{crossing}/linear_2", f"{attention}.out_proj")
        tensors |= renamed(variables, f"{crossing}/layer_norm", f"{attention}_layer_norm")
    return tensors


def layers_of(variables: Tensors, side: str) -> Iterator[int]:
    """0, 1, 2, ... up to the last layer of `side`."""
    number = 0
    while f"{side}/layer_{number}/ffn/linear_0/weight" in variables:
        yield number
        number += 1


def to_hugging_face(variables: Tensors) -> Tensors:
    """The same numbers by the names of transformers' `WhisperForConditionalGeneration`."""
    tensors: Tensors = {
        "model.decoder.embed_tokens.weight": variables["decoder/embeddings/weight"],
        **renamed(variables, "encoder/conv1", "model.encoder.conv1"),
        **renamed(variables, "encoder/conv2", "model.encoder.conv2"),
    }
    for side in ("encoder", "decoder"):
        positions = variables[f"{side}/position_encodings/encodings"]
        tensors[f"model.{side}.embed_positions.weight"] = positions
        tensors |= renamed(variables, f"{side}/layer_norm", f"model.{side}.layer_norm")
        for number in layers_of(variables, side):
            tensors |= layer(variables, f"{side}/layer_{number}", f"model.{side}.layers.{number}")
    return {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}


def config(variables: Tensors) -> dict[str, Any]:
    """What config.json says of the sizes; multilingual models have one token more in front."""
    vocabulary, width = variables["decoder/embeddings/weight"].shape
    end_of_text = 50257 if vocabulary >= 51865 else 50256
    heads = int(variables["encoder/num_heads"])
    encoder_layers = len(list(layers_of(variables, "encoder")))
    return {
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "vocab_size": vocabulary,
        "d_model": width,
        "num_mel_bins": 80,
        "encoder_layers": encoder_layers,
        "decoder_layers": len(list(layers_of(variables, "decoder"))),
        "num_hidden_layers": encoder_layers,
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": 4 * width,
        "decoder_ffn_dim": 4 * width,
        "max_source_positions": 1500,
        "max_target_positions": 448,
        "bos_token_id": end_of_text,
        "eos_token_id": end_of_text,
        "pad_token_id": end_of_text,
        "decoder_start_token_id": end_of_text + 1,
        "begin_suppress_tokens": [220, end_of_text],
        "torch_dtype": "float16",
    }


def main(folder: str, *parts: str) -> None:
    variables = read_ctranslate2(b"".join(Path(part).read_bytes() for part in parts))
    tensors = to_hugging_face(variables)
    save_file(tensors, Path(folder, "model.safetensors"), metadata={"format": "pt"})
    Path(folder, "config.json").write_text(json.dumps(config(variables), indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
