"""`vllm_xargs`: arguments that a server hands to the logits processors it was started with."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from .errors import Finding, ModelUsageWarning

Scalar: TypeAlias = bool | int | float | str
XArgs: TypeAlias = Mapping[str, Scalar | list[Scalar]]
"""As vLLM takes them from 0.19.0 on; a null or an object in it is a 400."""

SOURCE = (
    "vLLM 0.32.0 vllm/model_executor/models/deepseek_ocr.py, NGramPerReqLogitsProcessor;"
    " answers seen on 0.32.0"
)
WINDOW = 100  # the processor's own, if a request names none
CELLS = re.compile(r"</?t[dr]>|\s")  # what the processor lets a table repeat


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


def processor_findings(arguments: Mapping[str, Any] | None, unit: str) -> Iterator[Finding]:
    """What a loop tells of that DeepSeek-OCR's n-gram processor would not have let be.

    It looks for `ngram_size` tokens in a row among the last `window_size`, so it does not see what
    comes round after more; a token is a byte at least.

    Args:
        unit: What the text repeats; `""` is no loop.
    """
    given = arguments or {}
    if any(ngram_findings(given)):  # which a processor would have refused
        return
    size, window = given.get("ngram_size", math.inf), given.get("window_size", WINDOW)
    if CELLS.sub("", unit) and len(unit.encode()) <= window - size:
        yield Finding(
            code="ocr-no-ngram-processor",
            severity="warning",
            field="vllm_xargs",
            message="a page ends in a loop, which the n-gram processor does not let happen: the"
            " server was probably started without it. Add --logits-processors"
            " vllm.model_executor.models.deepseek_ocr:NGramPerReqLogitsProcessor",
            source="vLLM 0.32.0 vllm/model_executor/models/deepseek_ocr.py",
            warns=ModelUsageWarning,
        )


def _error(name: str, message: str) -> Finding:
    return Finding(
        code=f"vllm-xargs-{name.replace('_', '-')}",
        severity="error",
        field=f"vllm_xargs.{name}",
        message=message,
        source=SOURCE,
    )
