"""A list of base64 vectors, sliced out of the JSON that vLLM writes without parsing all of it.

What is not laid out exactly so is left to the JSON parser, so that both ways give the same.
"""

from __future__ import annotations

import re

import pydantic

from .._results import AnswerModel, UsageBody
from . import decode

# Up to the list: flat fields in any order, none of them a second list.
_OPENING = re.compile(
    rb'\{(?:"(?!data")[a-z_]+":(?:"[^"\\\x00-\x1f]*"|-?\d{1,18}|true|false|null),)*"data":\['
)
# In what follows the list: a second list, whose name might be spelled with escapes.
_AGAIN = re.compile(rb'"data"|\\u')


class EmbeddingRow(AnswerModel):
    index: int
    embedding: str | list[float | None]


class EmbeddingList(AnswerModel):
    """vLLM 0.16.0 to 0.33.0, vllm/entrypoints/pooling/embed/protocol.py, `EmbeddingResponse`."""

    data: list[EmbeddingRow]
    usage: UsageBody = pydantic.Field(default_factory=UsageBody)


def sliced(body: bytes | bytearray, count: int) -> tuple[bytearray, EmbeddingList] | None:
    """The `count` vectors of an answer as raw bytes back to back, and the answer without them.

    None where the layout is any other than that of vLLM 0.16.0 to 0.33.0
    (vllm/entrypoints/pooling/embed/protocol.py, `EmbeddingResponseData`): compact JSON, the rows
    in order, equally long.
    """
    opening = _OPENING.match(body)
    if opening is None:
        return None
    found = _rows(body, opening.end(), count)
    if found is None:
        return None
    raw, end = found
    rest = bytes(body[end:])
    if _AGAIN.search(rest):
        return None
    try:
        return raw, EmbeddingList.model_validate_json(opening[0] + rest)
    except pydantic.ValidationError:
        return None


def _rows(body: bytes | bytearray, at: int, count: int) -> tuple[bytearray, int] | None:
    """The rows from `at` on, and where the list's closing bracket stands."""
    text = memoryview(body)
    length, raw, size = -1, bytearray(), 0
    for index in range(count):
        before = b'{"index":%d,"object":"embedding","embedding":"' % index
        start = at + len(before)
        if index == 0:
            length = body.find(b'"', start) - start
        end = start + length
        after = b'"},' if index < count - 1 else b'"}]'
        if length < 0 or not body.startswith(before, at) or text[end : end + 3] != after:
            return None
        try:
            row = decode.base64_decoded(text[start:end])
        except ValueError:
            return None
        if index == 0:
            size = len(row)
            raw = bytearray(count * size)
        if len(row) != size:
            return None
        raw[index * size : (index + 1) * size] = row
        at = end + 3
    return raw, at - 1
