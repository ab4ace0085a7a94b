"""The fields of a pooling request that carry its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._flow import Flow, Work
from ..errors import Finding
from ._content import Chat, Item


def sent(items: Sequence[Item]) -> Flow[tuple[dict[str, Any], list[Finding]]]:
    """`messages` for one conversation, whose images are read, else `input`; and doubts.

    Raises:
        MediaError: An image cannot be read.
    """
    first = items[0]
    if not isinstance(first, Chat):
        return {"input": tuple(items)}, []
    chat, doubts = yield from Work(first.read)
    findings = [
        Finding(code="image-doubtful", severity="warning", field="inputs", message=message)
        for message in doubts
    ]
    return {"messages": chat.messages}, findings
