"""The kinds of value that a field may hold: what is kept of it when what it says is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ._models import Model

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
        "task": "embed classify token_embed token_classify embed&token_classify plugin"
        " score encode",
        "response_format": "json text srt vtt verbose_json diarized_json",
        "timestamp_granularities[]": "word segment",
    }.items()
}
"""Fields whose words differ in what they do; any other word is as wrong as the next."""

DEFAULTS: Mapping[str, object] = {
    "encoding_format": "float",
    "embed_dtype": "float32",
    "endianness": "native",
    "truncate": "END",
    "response_format": "json",
    "return_token_strs": False,
    "stream": False,
    "priority": 0,
    "top_n": 0,
    "max_tokens_per_doc": 0,
    "max_tokens_per_query": 0,
}
"""What leaving a field out means, in vLLM's own request models since they have it."""

WHOLE = frozenset("dimensions output_dimension top_n truncate_prompt_tokens top_k n seed".split())
"""Fields that take whole numbers alone."""

Rule = Callable[[Any, Model], str]


def is_default(name: str, value: Any) -> bool:
    """Whether a value says the same as leaving its field out."""
    default = DEFAULTS.get(name)
    return default is not None and value == default and type(value) is type(default)


def kind(value: Any) -> str:
    """A value without what it says."""
    match value:
        case None | bool():
            return str(value).lower().replace("none", "null")
        case int() | float():
            return "zero" if value == 0 else "negative" if value < 0 else "positive"
        case str():
            return "text" if value else "empty"
        case list() if set(map(type, value)) == {str}:  # by far the most frequent
            return "list of text"
        case list():
            return f"list of {' and '.join(sorted(set(map(item_kind, value)))) or 'nothing'}"
    return "object" if value else "empty object"


def item_kind(value: Any) -> str:
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


def whole(value: Any) -> int | None:
    """The whole number that a text holds; None if it is no text, or holds none."""
    holds = isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]{1,18}", value)
    return int(value) if holds else None


def _size(value: Any, model: Model) -> str:
    """`dimensions` beside what the model has."""
    if (number := whole(value)) is not None:
        return f"{_size(number, model)}, as text"
    if isinstance(value, bool) or not isinstance(value, int):
        return "fraction" if isinstance(value, float) else kind(value)
    if not model.matryoshka:
        return "of a model that cannot shorten"
    return "below 1" if value < 1 else "above the width" if value > model.width else "fitting"


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
    "max_completion_tokens": _cut,
    "max_tokens": _cut,
    "max_tokens_per_doc": _cut,
    "max_tokens_per_query": _cut,
    "cache_salt": _salt,
    "language": _known_word(lambda model: model.languages),
    "input_type": _known_word(lambda model: model.prompts),
    "priority": _large,
}
