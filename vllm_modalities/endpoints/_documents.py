"""What may be ranked (texts, images, both, the caller's own objects), and how it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from .._context import Context
from .._flow import Flow
from .._inputs import invalid, many_of
from ..errors import VLLMModalitiesError
from ._content import Chat, is_picture, item_of, kind_of
from ._pictures import pictured
from ._ranking import Item

Rankable: TypeAlias = str | Chat
Key: TypeAlias = str | Callable[[Any], Any] | None
"""How a document of the caller's own is read: the name of a dict's field, or a function."""

ALLOWED = (
    "a text, an image (a Path, the bytes of a file, a Pillow image or an ImageURL), a list of both,"
    ' or {"text": "…"} or {"content": […]}; what else it may be, `key` says: a field\'s name or a'
    " function"
)


def rankables(name: str, given: object, key: Key = None) -> tuple[Any, tuple[Rankable, ...]]:
    """The caller's own objects, and what is compared of each.

    Raises:
        InvalidRequestError: It is no collection, or holds something that cannot be compared.
    """
    own = many_of(name, given, "documents")
    if key is None and all(type(one) is str and one.isascii() for one in own):  # usual, and fast
        return own, own
    return own, tuple(rankable(name, place, one, key) for place, one in enumerate(own))


def rankable(name: str, place: int | None, given: Any, key: Key = None) -> Rankable:
    """What is compared of one object; `place` is its position among many."""
    where = name if place is None else f"item {place} of {name}"
    if key is not None:
        given = _of_key(name, where, given, key)
    is_content = isinstance(given, Mapping) and isinstance(given.get("content"), list | tuple)
    if isinstance(given, Mapping) and not is_content:
        given = next((given[field] for field in ("content", "text") if field in given), given)
    if is_content:
        item = item_of(name, place, {"content": given["content"]})
    elif isinstance(given, str) or is_picture(given):
        item = item_of(name, place, given)
    elif _is_mixed(given):
        item = item_of(name, place, {"content": given})
    else:
        raise invalid(name, f"{where} must be {ALLOWED}; got {kind_of(given)}")
    assert not isinstance(item, tuple)
    return item


def _of_key(name: str, where: str, given: Any, key: str | Callable[[Any], Any]) -> Any:
    if callable(key):
        return key(given)
    try:
        return given[key]
    except (KeyError, TypeError, IndexError):
        raise invalid(
            name,
            f"{where} has no field {key!r}, which `key` names, it is {kind_of(given)}; an attribute"
            " is read by a function: key=lambda document: document.text",
        ) from None


def _is_mixed(given: object) -> bool:
    """Whether it is a list with images; one of texts alone would be several."""
    parts = given if isinstance(given, list | tuple) else ()
    others = [part for part in parts if not isinstance(part, str)]
    return bool(others) and all(is_picture(part) or isinstance(part, Mapping) for part in others)


def wired(
    context: Context, items: Sequence[Rankable]
) -> Flow[tuple[list[Item | VLLMModalitiesError], list[str]]]:
    """The items as they are sent, an error for each that cannot be read, and what is doubtful."""
    chats = [item for item in items if isinstance(item, Chat)]
    read = iter((yield from pictured(context, chats)) if chats else ())
    found: list[Item | VLLMModalitiesError] = []
    doubts: list[str] = []
    for item in items:
        one = item if isinstance(item, str) else next(read)
        if isinstance(one, str | VLLMModalitiesError):
            found.append(one)
        else:
            found.append({"content": list(one[0].messages[0]["content"])})
            doubts += one[1]
    return found, doubts
