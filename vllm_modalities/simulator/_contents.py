"""What a request has a model read: its texts, the pictures in its messages, its recording."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Iterator, Mapping
from typing import Any

from ._models import Model
from ._texts import count
from ._values import kind
from ._wanted import Wanted

TEXTS = frozenset("input texts query documents queries items data_1 data_2 text_1 text_2".split())
"""Fields in which a text may be empty as well as not."""

LARGEST, LONGEST = 25 * 2**20, 600.0  # bytes and seconds of a recording, by vLLM's default
LETTERS = 18  # of a token at most, as vLLM was seen to count for a BERT vocabulary


def are_objects(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first[0] if isinstance(first, list) and first else first, dict)


def of_messages(value: Any, model: Model) -> Iterator[str]:
    """The shape of conversations, and what is in them beside text."""
    if not isinstance(value, list) or not value:
        yield kind(value)
        return
    many = isinstance(value[0], list)
    yield "conversations" if many else "conversation"
    if not model.templated:
        yield "without a template"
    images = 0
    for message in (one for each in value for one in (each if isinstance(each, list) else [each])):
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, str | list) or not isinstance(message.get("role"), str):
            yield "a message that is none"
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict):
                yield "a part that is none"
            elif part.get("type") != "text" or not isinstance(part.get("text"), str):
                images += 1
                yield f"part {_part(part)}"
    if images > 1:
        yield "more images than it takes" if images > model.images else "several images"


def _part(part: Mapping[str, Any]) -> str:
    """A part of a message that is no text."""
    name = str(part.get("type"))
    held = part.get(name)
    url = held.get("url") if isinstance(held, dict) else None
    if not isinstance(url, str):
        return f"{name}: {kind(held)}"
    scheme, _, rest = url.partition(":")
    if scheme != "data":
        known = scheme in ("http", "https", "file")
        return f"{name}: {scheme if known else 'another scheme'}"
    head, _, encoded = rest.partition(",")
    if not head.endswith(";base64"):
        return f"{name}: data that is not base64"
    return f"{name}: {_image(encoded)}"


def _image(encoded: str) -> str:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(base64.b64decode(encoded))):
            return "readable"
    except Image.DecompressionBombWarning:  # where warnings are errors
        return "readable"
    except Image.DecompressionBombError:
        return "too many pixels"
    except (UnidentifiedImageError, OSError):
        return "unreadable"
    except binascii.Error:
        return "no base64"


def of_lengths(wanted: Wanted, model: Model) -> Iterator[str]:
    """Texts that are longer than what the model reads and that nothing cuts."""
    fields = wanted.fields
    cut = fields.get("truncate_prompt_tokens") is not None or fields.get("max_tokens_per_doc")
    texts = list(texts_of(fields)) if wanted.file is None else [fields.get("prompt") or ""]
    if wanted.operation == "/v2/embed":
        cut = fields.get("truncate", "END") != "NONE" or fields.get("max_tokens")
    if cut:
        return
    split = ", which are split" if model.splits else ""
    letters = max((len(text) for text in texts if isinstance(text, str)), default=0)
    if letters > LETTERS * model.context:
        yield f"more letters than the model reads{split}"
    elif any(_tokens(text) > model.context for text in texts if len(text) >= model.context - 2):
        yield f"more tokens than the model reads{split}"


def _tokens(text: str | list[int]) -> int:
    return count(text) if isinstance(text, str) else len(text)


def texts_of(fields: Mapping[str, Any]) -> Iterator[str | list[int]]:
    """The texts, or token ids of texts, that a request has a model read."""
    for name in fields.keys() & TEXTS:
        value = fields[name]
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            ids = bool(value) and all(isinstance(one, int) for one in value)
            yield from [value] if ids else (one for one in value if isinstance(one, str | list))


def of_file(wanted: Wanted) -> Iterator[str]:
    file = wanted.file
    if file is None:
        yield "no file" if "file" not in wanted.fields else "file: a text"
    elif file.size > LARGEST:
        yield "file: too large"
    elif file.seconds is None:
        yield "file: no recording" if file.size else "file: empty"
    elif not file.seconds:
        yield "file: of no length"
    elif file.seconds > LONGEST:
        yield "file: too long"
