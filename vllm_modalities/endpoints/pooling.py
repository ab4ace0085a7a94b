"""Whatever a pooling model gives, token by token too: `POST /pooling`."""

from __future__ import annotations

from typing import ClassVar, Literal

from ._pooling import ChatFields


class PoolingRequest(ChatFields):
    """Body of `POST /pooling`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/pooling/protocol.py.
    """

    TASK: ClassVar[str] = "pooling"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("embed_tokens", "embed", "classify")
    PATHS: ClassVar[tuple[str, ...]] = ("/pooling",)

    task: str | None = None
    encoding_format: Literal["float", "base64", "bytes", "bytes_only"] | None = None
    embed_dtype: Literal["float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"] | None = None
    endianness: Literal["native", "big", "little"] | None = None
