"""The images of conversations: fetched where an address stands for one, and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from .._context import Context
from .._flow import Flow, Together, Work
from .._inputs import ImageURL
from ..errors import MediaError, VLLMModalitiesError
from ._content import Chat, has_addresses
from ._fetching import fetched

Read: TypeAlias = tuple[Chat, tuple[str, ...]] | VLLMModalitiesError
"""A conversation as it is sent, and what is doubtful of its images; or why it cannot be."""


def pictured(context: Context, chats: Sequence[Chat]) -> Flow[list[Read]]:
    """The conversations with their images, in order."""
    found: Sequence[Chat | VLLMModalitiesError] = chats
    if any(map(has_addresses, chats)):
        found = yield from Together([_fetched(context, chat) for chat in chats])
    return (yield from Work(lambda: [_read(one) for one in found]))


def _fetched(context: Context, chat: Chat) -> Flow[Chat]:
    messages: list[Mapping[str, Any]] = []
    for message in chat.messages:
        content = message.get("content")
        if isinstance(content, tuple):
            parts: list[Any] = []
            for part in content:
                is_here = not isinstance(part, ImageURL)
                parts += [part if is_here else (yield from fetched(context, part))]
            messages.append({**message, "content": tuple(parts)})
        else:
            messages.append(message)
    return replace(chat, messages=tuple(messages))


def _read(chat: Chat | VLLMModalitiesError) -> Read:
    if isinstance(chat, VLLMModalitiesError):
        return chat
    try:
        return chat.read()
    except MediaError as error:
        return error
