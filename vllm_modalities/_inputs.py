"""Arguments that are no request field: what they may be, and the error that says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeGuard

from .errors import Finding, InvalidRequestError

_SCHEMES = ("http://", "https://", "data:")


@dataclass(frozen=True, slots=True, repr=False)
class MediaURL:
    """An address; `ImageURL` and `AudioURL` are what a caller gives."""

    url: str

    def __post_init__(self) -> None:
        if not isinstance(self.url, str) or not self.url.startswith(_SCHEMES):
            raise invalid(
                "url",
                f"{type(self).__name__} takes http://, https:// and data: URLs, got"
                f" {str(self.url)[:60]!r}",
            )

    @property
    def shown(self) -> str:
        """What a message calls it: without its query and a password, which may be secret."""
        scheme, _, rest = self.url.partition(":")
        if scheme == "data":
            return f"data:{rest.partition(',')[0][:60]}"
        host, slash, path = re.split(r"[?#]", rest)[0].removeprefix("//").partition("/")
        return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown!r})"


class ImageURL(MediaURL):
    """An image, or for `ocr` a document, by its address, which this client fetches.

    No key goes there, nor any other header of the client's; redirects are followed.

    Attributes:
        url: With `http:`, `https:` or `data:`.

    Raises:
        InvalidRequestError: It is none of these.
    """

    __slots__ = ()


class AudioURL(MediaURL):
    """A recording by its address, which this client fetches, as for `ImageURL`."""

    __slots__ = ()


def invalid(
    field: str, message: str, *, code: str | None = None, source: str = ""
) -> InvalidRequestError:
    """The error for one argument."""
    finding = Finding(
        code=code or f"invalid-{field}",
        severity="error",
        field=field,
        message=message,
        source=source,
    )
    return InvalidRequestError([finding])


def one_of(field: str, value: object, allowed: Iterable[str]) -> None:
    """Raise InvalidRequestError if `value` is none of `allowed`."""
    allowed = tuple(allowed)
    if value not in allowed:
        raise invalid(field, f"{field} must be {' or '.join(map(repr, allowed))}, got {value!r}")


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number, Python's or numpy's."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole(field: str, value: object) -> None:
    """Raise InvalidRequestError if it is no whole number."""
    if not is_whole(value):
        raise invalid(field, f"{field} must be a whole number, got {value!r}")


def at_least(field: str, value: int, least: int) -> None:
    """Raise InvalidRequestError if it is no whole number, or too small."""
    whole(field, value)
    if value < least:
        raise invalid(field, f"{field} must be at least {least}, got {value!r}")


def many_of(field: str, given: object, kind: str) -> tuple[Any, ...]:
    """The texts, or what `kind` says, of a list, a column of a table or an array.

    Raises:
        InvalidRequestError: It is a single one, a table, or no collection.
    """
    single = isinstance(given, str | bytes | Mapping) or hasattr(given, "columns")
    found = None if single or not isinstance(given, Iterable) else listed(given)
    if not isinstance(found, list | tuple):  # an array without dimensions holds a single one too
        raise invalid(field, f"{field} must be a list of {kind}, got {type_of(given)}")
    return tuple(found)


def type_of(given: object) -> str:
    """What a message calls what was given; of a table, what to give instead."""
    return type(given).__name__ + "; give one column of it" * hasattr(given, "columns")


def listed(given: Iterable[Any]) -> Any:
    """Python's own values of an array, or what is iterated."""
    for name in ("tolist", "to_pylist"):  # numpy, pandas, torch; pyarrow
        if hasattr(given, name):
            return getattr(given, name)()
    return tuple(given)


def texts_of(field: str, given: object) -> tuple[str, ...]:
    """Many texts as a tuple.

    Raises:
        InvalidRequestError: As for `many_of`, or it holds something else.
    """
    texts = many_of(field, given, "texts")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise invalid(field, f"item {place} of {field} must be a text, got {kind}")
        if not is_unicode(text):
            raise invalid(
                field,
                f"item {place} of {field} holds half a surrogate pair, which UTF-8 cannot carry;"
                ' clean it with text.encode("utf-8", "replace").decode()',
            )
    return texts


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can carry it: Python's strings may hold halves of surrogate pairs."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def without(extra_body: Mapping[str, Any] | None, names: Iterable[str]) -> None:
    """Raise InvalidRequestError if `extra_body` is no mapping, or gives what the method sets."""
    if not isinstance(extra_body, Mapping | None):
        kind = type(extra_body).__name__
        raise invalid("extra_body", f"extra_body must be a mapping of fields, got {kind}")
    for name in names:
        if (extra_body or {}).get(name) is not None:
            raise invalid(
                name, f"{name!r} in extra_body: this method sets it itself; use client.send()"
            )
