"""Texts to token ids and back: `POST /tokenize` and `POST /detokenize`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .._wire import RequestModel


class TokenizeRequest(RequestModel):
    """Body of `POST /tokenize`.

    Source: vLLM 0.32.0 vllm/entrypoints/serve/tokenize/protocol.py.
    """

    TASK: ClassVar[str] = "tokenize"
    PATHS: ClassVar[tuple[str, ...]] = ("/tokenize",)

    prompt: str | None = None
    messages: tuple[Mapping[str, Any], ...] | None = None
    add_special_tokens: bool | None = None
    return_token_strs: bool | None = None


class DetokenizeRequest(RequestModel):
    """Body of `POST /detokenize`.

    Source: vLLM 0.32.0 vllm/entrypoints/serve/tokenize/protocol.py.
    """

    TASK: ClassVar[str] = "detokenize"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("tokenize",)
    PATHS: ClassVar[tuple[str, ...]] = ("/detokenize",)

    tokens: tuple[int, ...]
