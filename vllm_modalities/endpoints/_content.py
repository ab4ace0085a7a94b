"""What a pooling model may be given (texts, token ids, messages, images), told apart and checked.

A text is a `str`, token ids are a tuple, and all else is a `Chat`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from .._inputs import ImageURL, invalid, is_unicode, is_whole, listed, type_of

if TYPE_CHECKING:
    from PIL.Image import Image

    Picture: TypeAlias = os.PathLike[str] | bytes | Image | ImageURL
    Input: TypeAlias = (
        str | Picture | Sequence[int] | Sequence[Mapping[str, Any]] | Mapping[str, Any]
    )

PICTURE_TOKENS = 4096  # what an image counts for where requests are filled: 16 fill one

ALLOWED = (
    "a text, a list of token ids, a list of messages, an image (a Path, the bytes of a file, a"
    ' Pillow image or an ImageURL), or {"content": [...]} with texts and images'
)


@dataclass(frozen=True, slots=True)
class Chat:
    """One conversation, as a server's chat template takes it.

    Attributes:
        messages: Its messages. Their parts may be images that are not read yet.
        bare: Whether the caller named no role: it is what a user says.
    """

    messages: tuple[Mapping[str, Any], ...]
    bare: bool = False

    def read(self) -> tuple[Chat, tuple[str, ...]]:
        """The same with its images read, which is work for a thread; and what is doubtful of them.

        No address stands for one any more.

        Raises:
            MediaError: An image cannot be read.
        """
        doubts: list[str] = []
        messages = tuple(
            {**message, "content": [_read(part, doubts) for part in _parts(message)]}
            if has_pictures((message,))
            else message
            for message in self.messages
        )
        return Chat(messages, self.bare), tuple(doubts)


Item: TypeAlias = str | tuple[int, ...] | Chat
_NAMES = {str: "texts", tuple: "token ids", Chat: "messages or images"}


def inputs_of(name: str, given: object) -> tuple[Item, ...]:
    """One input or many, all of one kind, as they go on.

    One text, one image, one conversation and one list of token ids stand for themselves; whatever
    else can be iterated (arrays of numpy, pandas, pyarrow and torch too) holds one input each.

    Raises:
        InvalidRequestError: It is none of these, or holds several kinds.
    """
    if isinstance(given, str | Mapping) or is_picture(given):
        return (item_of(name, 0, given),)
    if not isinstance(given, Iterable) or hasattr(given, "columns"):
        raise invalid(name, f"{name} must be {ALLOWED}, or many of one kind, got {kind_of(given)}")
    many = listed(given)
    if not isinstance(many, list | tuple):  # an array without dimensions
        return inputs_of(name, many)
    if set(map(type, many)) == {str} and all(map(str.isascii, many)):  # what is usual, fast
        return tuple(many)
    if many and (is_whole(many[0]) or _is_message(many[0])):
        return (item_of(name, None, many),)
    items = tuple(item_of(name, place, one) for place, one in enumerate(many))
    for item in items[1:]:
        same_kind(name, items[0], item)
    return items


def same_kind(name: str, one: Item, other: Item) -> None:
    """Raise InvalidRequestError if two inputs reach the model in different ways."""
    if type(one) is not type(other):
        raise invalid(
            name,
            f"{name} must be of one kind, got {_NAMES[type(one)]} and {_NAMES[type(other)]}: texts"
            " and token ids go to the model as they are, messages and images through its chat"
            ' template. Make one call for each, or have texts templated: {"content": [text]}',
        )


def item_of(name: str, place: int | None, given: Any) -> Item:
    """One input; `place` is its position among many.

    Raises:
        InvalidRequestError: It is nothing that a model can be given.
    """
    where = name if place is None else f"item {place} of {name}"
    if isinstance(given, str):
        if is_unicode(given):
            return str.__str__(given)  # a plain one, whatever is made from it
        raise invalid(
            name,
            f"{where} holds half a surrogate pair, which UTF-8 cannot carry;"
            ' clean it with text.encode("utf-8", "replace").decode()',
        )
    if hasattr(given, "as_py"):  # pyarrow's own values, as its columns are iterated
        return item_of(name, place, given.as_py())
    if is_picture(given):
        return Chat(({"role": "user", "content": (given,)},), bare=True)
    if isinstance(given, Mapping) and set(given) == {"content"}:
        return Chat((_message(name, where, {"role": "user", **given}),), bare=True)
    many = listed(given) if isinstance(given, Iterable) else None
    if isinstance(many, list | tuple) and many:
        if all(map(_is_message, many)):
            return Chat(tuple(_message(name, where, message) for message in many))
        if all(map(is_whole, many)):
            if min(many) >= 0:
                return tuple(map(int, many))
            raise invalid(name, f"{where}: token ids are 0 or more, got {min(many)}")
    raise invalid(name, f"{where} must be {ALLOWED}, got {kind_of(given)}")


def tokens_of(item: Item) -> int:
    """How many tokens an input has, roughly: a text has one for four bytes."""
    if isinstance(item, str):
        return (len(item) if item.isascii() else len(item.encode())) // 4 + 1
    if isinstance(item, tuple):
        return len(item)
    texts = [_text(part) for message in item.messages for part in _parts(message)]
    return sum(PICTURE_TOKENS if text is None else tokens_of(text) for text in texts)


def sizes_of(items: Iterable[Item]) -> list[int]:
    """`tokens_of` each; of texts of ASCII, as most are, without a call for each."""
    return [
        len(item) // 4 + 1 if isinstance(item, str) and item.isascii() else tokens_of(item)
        for item in items
    ]


def parts_of(chat: Chat) -> Sequence[Any]:
    """The parts of a chat of one message, each a mapping with its type."""
    content = chat.messages[0]["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def has_pictures(messages: Iterable[Mapping[str, Any]]) -> bool:
    """Whether images stand among the parts that are not read yet."""
    return any(is_picture(part) for message in messages for part in _parts(message))


def has_addresses(chat: Chat) -> bool:
    """Whether addresses stand for some of its images."""
    return any(isinstance(part, ImageURL) for one in chat.messages for part in _parts(one))


def is_picture(given: object) -> bool:
    """Whether it is an image that is not read yet."""
    # Pillow's by its name: importing that takes long, and whoever has an image has done it.
    return isinstance(given, bytes | bytearray | memoryview | os.PathLike | ImageURL) or any(
        kind.__module__.startswith("PIL.") for kind in type(given).__mro__
    )


def _message(name: str, where: str, message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message whose content is a text, nothing, or a tuple of mappings and images."""
    content = message.get("content")
    if isinstance(content, str | None):
        return message
    parts = content if isinstance(content, list | tuple) else None
    if not parts or not all(isinstance(p, str | Mapping) or is_picture(p) for p in parts):
        raise invalid(
            name,
            f"{where}: content must be a text, or a list of texts, images and content parts, got"
            f" {kind_of(content)}",
        )
    typed = ({"type": "text", "text": p} if isinstance(p, str) else p for p in parts)
    return {**message, "content": tuple(typed)}


def _parts(message: Mapping[str, Any]) -> Sequence[Any]:
    content = message.get("content")
    return content if isinstance(content, tuple) else (content or "",)


def _text(part: Any) -> str | None:
    found = part.get("text") if isinstance(part, Mapping) else part
    return found if isinstance(found, str) else None


def _read(part: Any, doubts: list[str]) -> Any:
    """A part as it is sent."""
    if not is_picture(part):
        return part
    from ..documents.reading import read_image, to_data_url

    page = read_image(part)
    doubts += page.warnings
    return {"type": "image_url", "image_url": {"url": to_data_url(page.image)}}


def _is_message(given: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(given, Mapping) and "role" in given


def kind_of(given: object) -> str:
    """What a message calls what is no input. Tables have None or NaN where there is nothing."""
    if given is None or isinstance(given, float):
        return str(given)
    if hasattr(given, "columns"):
        return type_of(given)
    if _is_message(given):
        return "a message by itself; a conversation is a list of them"
    if isinstance(given, Mapping):
        return f"{type_of(given)} with {', '.join(map(repr, given)) or 'nothing'}"
    if isinstance(given, list | tuple):
        kinds = sorted({type(one).__name__ for one in given})
        return f"list of {' and '.join(kinds) or 'nothing'}"
    return type_of(given)
