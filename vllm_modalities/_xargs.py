"""`vllm_xargs`: arguments that a server hands to the logits processors it was started with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from .errors import Finding

Scalar: TypeAlias = bool | int | float | str
XArgs: TypeAlias = Mapping[str, Scalar | list[Scalar]]
"""As vLLM takes them from 0.19.0 on; a null or an object in it is a 400."""

SOURCE = (
    "vLLM 0.32.0 vllm/model_executor/models/deepseek_ocr.py, NGramPerReqLogitsProcessor;"
    " answers seen on 0.32.0"
)


def ngram_findings(arguments: Mapping[str, object] | None) -> Iterator[Finding]:
    """What is wrong with the arguments of DeepSeek-OCR's n-gram processor.

    A size that is no positive integer is a 400; a whitelist of strings is accepted and does
    nothing.
    """
    for name in ("ngram_size", "window_size"):
        size = (arguments or {}).get(name, 1)
        if type(size) is not int or size < 1:
            yield _error(
                name, f"vllm_xargs[{name!r}] must be an integer above 0, such as 30, got {size!r}"
            )
    tokens = (arguments or {}).get("whitelist_token_ids", ())
    if not isinstance(tokens, list | tuple) or any(type(token) is not int for token in tokens):
        yield _error(
            "whitelist_token_ids",
            "vllm_xargs['whitelist_token_ids'] must be a list of integers, such as"
            f" [128821, 128822]; others are dropped without a word or refused, got {tokens!r}",
        )


def _error(name: str, message: str) -> Finding:
    return Finding(
        code=f"vllm-xargs-{name.replace('_', '-')}",
        severity="error",
        field=f"vllm_xargs.{name}",
        message=message,
        source=SOURCE,
    )
