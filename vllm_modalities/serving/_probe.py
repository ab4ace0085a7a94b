"""`probe`: which routes of each server are live, by asking, and what its limits are."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from .._context import Context
from .._exchange import get
from .._flow import Flow, Together
from .._routing import ASKED_FOR, ask_all
from .._wire import TASKS
from ..errors import APIStatusError
from ..server import ServerInfo

if TYPE_CHECKING:
    from .._fleet import Replica
    from ..client import AsyncClient, Client


@dataclass(frozen=True, slots=True)
class Route:
    """One path of a server.

    Attributes:
        path: The path.
        tasks: What the client does with it.
        status: What a GET of it answers: 405 where it is there (it wants a POST), 404 where it is
            not; None where no answer came.
    """

    path: str
    tasks: tuple[str, ...]
    status: int | None

    @property
    def live(self) -> bool:
        """Whether it is there."""
        return self.status is not None and self.status != 404


@dataclass(frozen=True, slots=True)
class Probed:
    """One server, probed.

    Attributes:
        server: Who it is.
        routes: Every path that the client knows.
        limits: What it takes at most, in words, by what is limited.
    """

    server: ServerInfo
    routes: tuple[Route, ...] = ()
    limits: Mapping[str, str] = field(default_factory=dict)


@overload
def probe(client: Client) -> tuple[Probed, ...]: ...
@overload
def probe(client: AsyncClient) -> Coroutine[Any, Any, tuple[Probed, ...]]: ...
def probe(client: Client | AsyncClient) -> Any:
    """Ask every server of `client` which routes it has: a GET of each, which costs it nothing.

    Args:
        client: A `Client`, or an `AsyncClient`, with which the call is awaited.

    Returns:
        One `Probed` a configured server, in order.

    Raises:
        AuthenticationError: A server wants another API key.

    Source: vLLM 0.32.0: a route that wants a POST answers a GET with 405.
    """
    return client._call(_probed)  # noqa: SLF001 - a method's twin, outside the class


def _probed(context: Context) -> Flow[tuple[Probed, ...]]:
    yield from ask_all(context)
    found: tuple[Probed, ...] = ()
    for replica in context.fleet.replicas:
        found += ((yield from _one(context, replica)),)
    return found


def _one(context: Context, replica: Replica) -> Flow[Probed]:
    info = replica.info or ServerInfo(url=replica.url, healthy=False)
    if not info.healthy:
        return Probed(info)
    tasks: dict[str, list[str]] = {}
    for task, kinds in TASKS.items():
        for path in {path for kind in kinds for path in kind.PATHS}:
            tasks.setdefault(path, []).append(task)
    paths = sorted(tasks)
    answers = yield from Together([get(context, replica, path, ASKED_FOR) for path in paths])
    routes = tuple(
        Route(path, tuple(sorted(tasks[path])), _status(answer))
        for path, answer in zip(paths, answers, strict=True)
    )
    return Probed(info, routes, _limits(info))


def _status(answer: object) -> int | None:
    if isinstance(answer, APIStatusError):
        return answer.status_code
    return getattr(answer, "status", None)


def _limits(info: ServerInfo) -> dict[str, str]:
    """What it takes at most, as far as its release and its models tell."""
    limits = {
        f"tokens of {model.id}": f"{model.max_model_len:,}"
        for model in info.models
        if model.max_model_len is not None
    }
    if "transcribe" in info.tasks:
        limits["a sound file"] = "25 MB, unless VLLM_MAX_AUDIO_CLIP_FILESIZE_MB says otherwise"
        if info.version is not None and info.version >= "0.24.0":
            limits["sound"] = "600 s, unless VLLM_MAX_AUDIO_DECODE_DURATION_S says otherwise"
        if info.version is not None and info.version >= "0.28.0":
            limits["decoded sound"] = "268,435,456 bytes"
    if "ocr" in info.tasks:
        limits["an image"] = "178,956,970 pixels"
    return limits
