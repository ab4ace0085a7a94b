"""The traits of a request: the words under which its like is found among the recordings.

A recorded and a new request are described by the same rules, so whatever was recorded is evidence
for each request that shares its traits. Nothing here knows a release: which fields there are is in
the release's own `/openapi.json`, and what comes of them is in its answers.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ._models import Model
from ._texts import count
from ._wanted import Wanted

TEXTS = frozenset("input texts query documents queries items data_1 data_2 text_1 text_2".split())
"""Fields in which a text may be empty as well as not."""

REQUIRED = {
    "/v1/embeddings": ("input", "messages"),
    "/v2/embed": ("texts", "inputs", "images"),
    "/pooling": ("input", "messages", "data"),
    "/classify": ("input", "messages"),
    "/tokenize": ("prompt", "messages"),
    "/detokenize": ("tokens",),
    "/v1/chat/completions": ("messages",),
}
"""Fields of which a request has at least one."""

WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "encoding_format": "float base64 bytes bytes_only",
        "embed_dtype": "float32 float16 bfloat16 fp8_e4m3 fp8_e5m2",
        "endianness": "native little big",
        "embedding_types": "float base64 binary ubinary int8 uint8",
        "truncate": "END START NONE",
        "truncation_side": "left right",
        "padding": "max_length do_not_pad",
        "task": "embed classify token_embed token_classify score encode plugin embed&token_classify",
        "response_format": "json text srt vtt verbose_json diarized_json",
        "timestamp_granularities[]": "word segment",
    }.items()
}
"""Fields whose words differ in what they do; any other word is as wrong as the next."""

WHOLE = frozenset("dimensions output_dimension top_n truncate_prompt_tokens top_k n seed".split())
"""Fields that take whole numbers alone."""

LARGEST, LONGEST = 25 * 2**20, 600.0  # bytes and seconds of a recording, by vLLM's default

Rule = Callable[[Any, Model], str]


def traits(wanted: Wanted, model: Model) -> frozenset[str]:
    """What sets a request apart from the plainest one that its route takes."""
    return frozenset(_traits(wanted, model))


def _traits(wanted: Wanted, model: Model) -> Iterator[str]:
    if model.api_key is not None:
        given = wanted.headers.get("authorization", "")
        kind, _, key = given.partition(" ")
        if kind.lower() != "bearer" or key != model.api_key:
            yield f"no key on {wanted.path}"
    if wanted.problem or (model.hides_routes and wanted.path == "/openapi.json"):
        yield wanted.problem or "routes are hidden"
        return
    if "x-request-id" in wanted.headers:
        yield "X-Request-Id"
    fields = wanted.fields
    for name, value in fields.items():
        if name == "model":
            if value != model.name:
                yield "model: unknown" if value else "model: empty"
        else:
            yield from _field(name, value, model, fields)
    if wanted.method == "POST":
        yield from _required(wanted)
        yield from _lengths(wanted, model)
        if wanted.path.startswith("/v1/audio/"):
            yield from _file(wanted)


def _field(name: str, value: Any, model: Model, fields: Mapping[str, Any]) -> Iterator[str]:
    if name.startswith("stream_") and fields.get("stream") is not True:
        yield f"{name}: {kind(value)}, without stream"
    elif name in RULES:
        yield f"{name}: {RULES[name](value, model)}"
    elif name == "messages" or (name in ("input", "inputs") and _are_objects(value)):
        yield from (f"{name}: {word}" for word in _messages(value, model))
    elif name == "vllm_xargs":
        yield from (f"{name}{word}" for word in _xargs(value))
    elif name in WORDS and value:
        for item in value if isinstance(value, list) else [value]:
            yield f"{name}: {item if item in WORDS[name] else 'no word of its'}"
    elif name in TEXTS:
        yield f"{name}: {_item(value)}"
    elif name in WHOLE and isinstance(value, float):
        yield f"{name}: {'fraction' if value % 1 else 'float'}"
    else:
        yield f"{name}: {kind(value)}"


def kind(value: Any) -> str:
    """A value without what it says."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return "zero" if value == 0 else "negative" if value < 0 else "positive"
        case str():
            return "text" if value else "empty"
        case list():
            if set(map(type, value)) == {str}:  # by far the most frequent
                return "list of text"
            return f"list of {' and '.join(sorted({_item(one) for one in value})) or 'nothing'}"
    return "object" if value else "empty object"


def _item(value: Any) -> str:
    """A text, empty or not, or what stands in its place."""
    match value:
        case str():
            return "text"
        case dict():
            return f"object with {', '.join(sorted(value))}"
        case int() if value > NUMBERS:
            return "large"
        case float() if value % 1:
            return "fraction"
    return kind(value)


NUMBERS = 1_000_000  # no vocabulary has so many


def _xargs(value: Any) -> Iterator[str]:
    """The arguments of a logits processor, which the server reads by their types."""
    if not isinstance(value, dict) or not value:
        yield f": {kind(value)}"
        return
    for key, item in value.items():
        yield f".{key}: {'float' if isinstance(item, float) else kind(item)}"


def _size(value: Any, model: Model) -> str:
    """`dimensions` beside what the model has."""
    if isinstance(value, bool) or not isinstance(value, int):
        return "fraction" if isinstance(value, float) else kind(value)
    if not model.matryoshka:
        return "of a model that cannot shorten"
    if value < 1 or value > model.width:
        return "below 1" if value < 1 else "above the width"
    listed = model.matryoshka is True or value in model.matryoshka
    return "of the model's" if listed else "not of the model's"


def _cut(value: Any, model: Model) -> str:
    """A number of tokens beside what the model reads."""
    if isinstance(value, bool) or not isinstance(value, int) or value in (-1, 0):
        return "-1" if value == -1 else kind(value)
    return "context or more" if value >= model.context else kind(value)


def _kept(value: Any, model: Model) -> str:
    """The same where the whole context is allowed."""
    return "the context" if value == model.context else _cut(value, model)


def _salt(value: Any, model: Model) -> str:
    if not isinstance(value, str) or not value:
        return kind(value)
    if any(letter in value for letter in "@/\\\0"):
        return "text with a letter of paths"
    size = len(value)
    return "text" if size <= 128 else "above 128 letters" if size <= 1024 else "above 1024 letters"


def _known_word(words: Callable[[Model], tuple[str, ...] | None]) -> Rule:
    def rule(value: Any, model: Model) -> str:
        known = words(model)
        if known is None or value is None:
            return kind(value)
        return "of the model's" if value in known else "of none" if known else "none there"

    return rule


def _large(value: Any, model: Model) -> str:
    return "beyond 64 bits" if isinstance(value, int) and abs(value) >= 2**63 else kind(value)


def _bounded(least: float, most: float) -> Rule:
    def rule(value: Any, model: Model) -> str:
        inside = not isinstance(value, int | float) or least <= value <= most
        return kind(value) if inside else f"not in {least:g} to {most:g}"

    return rule


RULES: Mapping[str, Rule] = {
    "top_p": _bounded(0, 1),
    "min_p": _bounded(0, 1),
    "frequency_penalty": _bounded(-2, 2),
    "presence_penalty": _bounded(-2, 2),
    "dimensions": _size,
    "output_dimension": _size,
    "truncate_prompt_tokens": _kept,
    "max_tokens_per_doc": _cut,
    "max_tokens_per_query": _cut,
    "cache_salt": _salt,
    "language": _known_word(lambda model: model.languages),
    "input_type": _known_word(lambda model: model.prompts),
    "priority": _large,
}


def _are_objects(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first[0] if isinstance(first, list) and first else first, dict)


def _messages(value: Any, model: Model) -> Iterator[str]:
    """The shape of conversations, and what is in them beside text."""
    if not isinstance(value, list) or not value:
        yield kind(value)
        return
    template = "" if model.templated else ", without a template"
    many = isinstance(value[0], list)
    yield ("conversations" if many else "conversation") + template
    messages = [one for part in value for one in part] if many else value
    images = 0
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "text":
                continue
            images += 1
            yield f"part {_part(part)}"
    if images > 1:
        yield "several images"


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
    return f"{name}: {'readable' if _is_image(encoded) else 'unreadable'}"


def _is_image(encoded: str) -> bool:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(base64.b64decode(encoded))):
            return True
    except (UnidentifiedImageError, binascii.Error, OSError):
        return False


def _required(wanted: Wanted) -> Iterator[str]:
    """What is not there."""
    needed = REQUIRED.get(wanted.operation, ())
    if needed and not any(name in wanted.fields for name in needed):
        yield f"no {' or '.join(needed)}"
    if wanted.operation == "/v1/score":
        yield from _pairs(wanted.fields)
    if wanted.operation == "/v1/rerank":
        yield from (f"no {name}" for name in ("query", "documents") if name not in wanted.fields)


FIRSTS, SECONDS = ("queries", "data_1", "text_1"), ("documents", "items", "data_2", "text_2")


def _pairs(fields: Mapping[str, Any]) -> Iterator[str]:
    """How many texts stand on either side of a score."""
    counts = []
    for names in (FIRSTS, SECONDS):
        value = next((fields[name] for name in names if name in fields), None)
        if value is None:
            yield f"no {' or '.join(names)}"
        counts.append(len(value) if isinstance(value, list) else 1)
    if counts[0] not in (1, counts[1]) and 0 not in counts:
        yield "pairs that do not match"


def _lengths(wanted: Wanted, model: Model) -> Iterator[str]:
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


LETTERS = 18  # of a token at most, as vLLM was seen to count for a BERT vocabulary


def _tokens(text: str | list[int]) -> int:
    return count(text) if isinstance(text, str) else len(text)


def texts_of(fields: Mapping[str, Any]) -> Iterator[str | list[int]]:
    """The texts, or token ids of texts, that a request has a model read."""
    for name in fields.keys() & TEXTS:
        value = fields[name]
        if isinstance(value, str):
            yield value
        elif isinstance(value, list) and all(isinstance(one, int) for one in value):
            yield value
        elif isinstance(value, list):
            yield from (one for one in value if isinstance(one, str | list))


def _file(wanted: Wanted) -> Iterator[str]:
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
