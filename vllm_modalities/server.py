"""What is known of one server: its release, models, routes and tasks, and how that is asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ._flow import Response
from ._results import AnswerModel
from .profiles import UNKNOWN, Profile, profile_of


class ServerVersion(str):
    """A vLLM release as the server names it, such as `0.32.0` or `0.12.1rc2.dev3+g1a2b3c4`.

    It is that string; order and `.release` go by the release that it leads to, so pre-releases,
    dev builds and local builds count as their release.
    """

    __slots__ = ("release",)
    release: tuple[int, int, int]

    def __new__(cls, text: str) -> ServerVersion:
        """Raises ValueError where `text` does not begin like a version."""
        release = _release_of(text)
        version = super().__new__(cls, text.strip())
        version.release = release
        return version

    def __lt__(self, other: str) -> bool:
        return self.release < _release_of(other)

    def __ge__(self, other: str) -> bool:
        return not self < other

    def __gt__(self, other: str) -> bool:
        return _release_of(other) < self.release

    def __le__(self, other: str) -> bool:
        return not self > other


@lru_cache(maxsize=256)
def _release_of(text: str) -> tuple[int, int, int]:
    from packaging.version import InvalidVersion, Version

    try:
        parsed = Version(text)
    except InvalidVersion:
        raise ValueError(f"not a vLLM version: {text!r}; one looks like '0.32.0'") from None
    return parsed.major, parsed.minor, parsed.micro


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model that a server serves.

    Attributes:
        id: The name that requests carry.
        root: The model path or hub name it was loaded from.
        parent: For a LoRA adapter, the base model's name.
        max_model_len: Context length in tokens.
        embedding_size: Width of its vectors; None until known.
        matryoshka: Sizes it accepts for `dimensions`: True is any up to `embedding_size`, False
            none, a tuple those sizes; None until known.
        profile: What is known of its family.
    """

    id: str
    root: str | None = None
    parent: str | None = None
    max_model_len: int | None = None
    embedding_size: int | None = None
    matryoshka: bool | tuple[int, ...] | None = None
    profile: Profile = field(default=UNKNOWN, repr=False)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What is known of one server.

    Attributes:
        url: Its address, without credentials.
        version: Its vLLM release; None if it does not tell.
        models: What it serves; empty if it does not tell.
        unlisted: Models that were used without being listed, with what their answers showed.
        tasks: What it can be asked to do.
        routes: The paths it lists; empty if it does not tell.
        healthy: Whether it answered when last asked.
    """

    url: str = ""
    version: ServerVersion | None = None
    models: tuple[ModelInfo, ...] = ()
    tasks: frozenset[str] = frozenset()
    routes: frozenset[str] = field(default=frozenset(), repr=False)
    healthy: bool = True
    unlisted: tuple[ModelInfo, ...] = field(default=(), repr=False)

    def model(self, name: str | None) -> ModelInfo | None:
        """The model of that name, or None; no name means the first base model."""
        for model in (*self.models, *self.unlisted):
            if model.id == name or (name is None and model.parent is None):
                return model
        return None

    def profile(self, name: str | None) -> Profile:
        """What is known of the family of the model of that name."""
        model = self.model(name)
        return model.profile if model else UNKNOWN


class _Model(AnswerModel):
    id: str
    root: str | None = None
    parent: str | None = None
    max_model_len: int | None = None


class _ModelList(AnswerModel):
    data: tuple[_Model, ...] = ()


class _Version(AnswerModel):
    version: str


class _OpenAPI(AnswerModel):
    paths: dict[str, Any]


def read_version(response: Response) -> ServerVersion | None:
    """`GET /version`: vllm/entrypoints/serve/instrumentator/basic.py, `show_version`."""
    try:
        return ServerVersion(response.parse(_Version).version)
    except ValueError:
        return None


def read_models(response: Response, profiles: Iterable[Profile]) -> tuple[ModelInfo, ...]:
    """`GET /v1/models`: vllm/entrypoints/openai/models/protocol.py, `ModelList`."""
    return tuple(
        ModelInfo(**dict(model), profile=profile_of(profiles, model.id, model.root))
        for model in response.parse(_ModelList).data
    )


def read_routes(response: Response) -> frozenset[str]:
    """`GET /openapi.json`: its paths are the routes (`--disable-fastapi-docs` hides them)."""
    return frozenset(response.parse(_OpenAPI).paths)


def tell(servers: Iterable[ServerInfo]) -> str:
    """Who serves and does what, for an error message."""
    lines = []
    for info in servers:
        models = ", ".join(repr(model.id) for model in info.models) or "unknown models"
        tasks = ", ".join(sorted(info.tasks)) or "unknown tasks"
        lines.append(f"{info.url} serves {models} ({tasks})")
    return "; ".join(lines) or "no server is known"
