"""What was sent and what was read, in words, as the GenAI conventions write messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

ASKED = ("input", "messages", "texts", "inputs", "query", "queries", "documents", "prompt")


def sent(body: Mapping[str, Any]) -> str | None:
    """The words in a request's body, as one message; no image, file or token."""
    parts = [_part(text) for key in ASKED if key in body for text in _texts(body[key])]
    return _written([{"role": "user", "parts": parts}]) if parts else None


def read(result: Any) -> str | None:
    """The words of a transcript, or of each page of a document."""
    pages = getattr(result, "pages", None)
    texts: Iterable[tuple[str, str | None]] = ()
    if pages is not None:
        texts = [(page.markdown, page.finish_reason) for page in pages]
    elif isinstance(text := getattr(result, "text", None), str):
        texts = [(text, None)]
    messages = [
        {"role": "assistant", "parts": [_part(text)], "finish_reason": reason or "stop"}
        for text, reason in texts
    ]
    return _written(messages) if messages else None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key in ("text", "content"):
            yield from _texts(value.get(key))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


def _written(messages: list[dict[str, Any]]) -> str:
    return json.dumps(messages, ensure_ascii=False)
