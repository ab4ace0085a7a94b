"""Who is there: every configured server, asked now."""

from __future__ import annotations

from .._context import Context
from .._flow import Flow
from .._routing import ask_all
from ..server import ServerInfo


def servers(context: Context, /) -> Flow[tuple[ServerInfo, ...]]:
    """Ask every configured server who it is, now.

    Returns:
        One `ServerInfo` a configured URL, in the order given; one that did not answer has
        `healthy=False`.

    Raises:
        AuthenticationError: A server wants another API key.
    """
    return (yield from ask_all(context))
