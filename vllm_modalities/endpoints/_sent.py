"""The fields of a pooling request that carry its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._context import Context
from .._flow import Flow
from ..errors import Finding, VLLMModalitiesError
from ._content import Chat, Item
from ._pictures import pictured


def sent(context: Context, items: Sequence[Item]) -> Flow[tuple[dict[str, Any], list[Finding]]]:
    """`messages` for one conversation, whose images are read, else `input`; and doubts.

    Raises:
        MediaError: An image cannot be read, or not be fetched.
    """
    first = items[0]
    if not isinstance(first, Chat):
        return {"input": tuple(items)}, []
    (read,) = yield from pictured(context, (first,))
    if isinstance(read, VLLMModalitiesError):
        raise read
    chat, doubts = read
    findings = [
        Finding(code="image-doubtful", severity="warning", field="inputs", message=message)
        for message in doubts
    ]
    return {"messages": chat.messages}, findings
