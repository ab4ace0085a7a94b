"""The configured servers: their addresses, what is known of each, and how it fares just now."""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from ._forks import renewed_in_children
from ._inputs import invalid
from ._places import Window
from .errors import (
    APIConnectionError,
    APITimeoutError,
    InvalidRequestError,
    VLLMModalitiesError,
)
from .server import ModelInfo, ServerInfo, ServerVersion

if TYPE_CHECKING:
    from .profiles import Profile

BaseURL = str | Sequence[str] | Mapping[str, str | Sequence[str]]

# A DNS name, an IPv4 or an IPv6 address, as far as it matters here.
_HOST = re.compile(r"[\w~%-]{1,63}(\.[\w~%-]{1,63})*\.?|(?=.*:)[0-9a-f:.]+(%\w+)?", re.IGNORECASE)

KNOWN_FOR = 300.0  # seconds until a server is asked again who it is
FIRST_ASIDE, LONGEST_ASIDE = 1.0, 30.0  # seconds that a failing server is set aside


class Replica:
    """One configured server.

    Attributes:
        url: Its address, without credentials and without a trailing `/v1`.
        tasks: What the user's mapping says it is for; None is anything.
        headers: What its address asks for (credentials in it become a header).
        info: What is known of it; None until it has answered.
        error: Why it is not known, or stopped being reachable.
        due: `clock()` time after which it is asked again who it is.
        unlisted: Tasks and paths that it turned out not to have.
        remembered: What answers have shown beside that, such as its model's own names for input
            types, and what it said of a task that it has not; gone when it comes back as another
            release.
        outstanding: Requests to it that are not over, waiting or in flight.
        window: How many of them may be in flight.
    """

    def __init__(self, url: str, tasks: frozenset[str] | None = None) -> None:
        self.url, self.headers = _address(url)
        self.tasks = tasks
        self.info: ServerInfo | None = None
        self.error: VLLMModalitiesError | None = None
        self.due = float("-inf")
        self.unlisted: frozenset[str] = frozenset()
        self.remembered: dict[str, str] = {}
        self._pause = FIRST_ASIDE  # until the next try, after a failure
        self.aside_until = float("-inf")
        self.renew()
        renewed_in_children(self)

    def renew(self) -> None:
        """Nothing is on its way to it."""
        self.outstanding = 0
        self.window = Window()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Replica({self.url!r})"

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Counts one request in flight."""
        with self._lock:
            self.outstanding += 1
        try:
            yield
        finally:
            with self._lock:
                self.outstanding -= 1

    def failed(self, error: VLLMModalitiesError, now: float) -> None:
        """Set aside for a while, longer each time; one that was gone is asked anew who it is."""
        with self._lock:
            self.error = error
            if now >= self.aside_until:  # requests that fail together are one failure
                self.aside_until = now + self._pause
                self._pause = min(2 * self._pause, LONGEST_ASIDE)
            if isinstance(error, APIConnectionError) and not isinstance(error, APITimeoutError):
                self.due = self.aside_until

    def worked(self) -> None:
        with self._lock:
            self._pause, self.aside_until, self.error = FIRST_ASIDE, float("-inf"), None

    def known(self, info: ServerInfo, now: float) -> None:
        """Remember who it is, and keep what its models have shown if it is still the same."""
        old = self.info
        if old is None or _who(old) != _who(info):
            self.remembered, self.unlisted = {}, frozenset()
        if old is not None and old.version == info.version:
            shown = {model.id: model for model in old.models}
            info = replace(
                info,
                models=tuple(
                    replace(
                        model,
                        embedding_size=shown[model.id].embedding_size,
                        matryoshka=shown[model.id].matryoshka,
                    )
                    if model.id in shown and shown[model.id].root == model.root
                    else model
                    for model in info.models
                ),
            )
        self.info, self.due = info, now + KNOWN_FOR
        self.worked()

    def learned(
        self,
        name: str | None,
        *,
        embedding_size: int | None = None,
        matryoshka: bool | tuple[int, ...] | None = None,
    ) -> None:
        """Remember what an answer has shown of a model."""

        def updated(model: ModelInfo) -> ModelInfo:
            return replace(
                model,
                embedding_size=embedding_size or model.embedding_size,
                matryoshka=model.matryoshka if matryoshka is None else matryoshka,
            )

        assert self.info is not None, "a server is known before it is asked anything"
        model = self.info.model(name) or ModelInfo(name or "")
        if (embedding_size or model.embedding_size) == model.embedding_size and matryoshka is None:
            return
        if model in self.info.models:
            models = tuple(updated(m) if m.id == model.id else m for m in self.info.models)
            self.info = replace(self.info, models=models)
        else:
            others = tuple(m for m in self.info.unlisted if m.id != model.id)
            self.info = replace(self.info, unlisted=(*others, updated(model)))

    def lacks(self, *names: str) -> None:
        """Remember tasks or paths that it turned out not to have."""
        self.unlisted |= frozenset(names)


@dataclass(frozen=True, slots=True)
class Fleet:
    """All servers of one client, and what is shared by every call.

    Attributes:
        replicas: One a configured URL.
        profiles: Facts about models; the first that matches one counts.
        version: The release that the user says they run; None asks them.
        clock: Seconds, monotonic.
    """

    replicas: tuple[Replica, ...]
    profiles: tuple[Profile, ...] = ()
    version: ServerVersion | None = None
    clock: Callable[[], float] = time.monotonic


def replicas_of(base_url: BaseURL) -> tuple[Replica, ...]:
    """One replica a URL; a URL that a mapping names for several tasks is one replica.

    Raises:
        InvalidRequestError: No URL, or one that is not http(s).
    """
    if isinstance(base_url, str):
        base_url = [url for url in (part.strip() for part in base_url.split(",")) if url]
    tasks: dict[str, frozenset[str] | None] = {}
    if isinstance(base_url, Mapping):
        for task, urls in base_url.items():
            for url in [urls] if isinstance(urls, str) else urls:
                tasks[url] = (tasks.get(url) or frozenset()) | {task}
    elif isinstance(base_url, Iterable):
        tasks = dict.fromkeys(base_url)
    if not tasks:
        raise _wrong_url("no server is given")
    return tuple(Replica(url, names) for url, names in tasks.items())


def version_of(text: str | None) -> ServerVersion | None:
    """The release that the caller says the servers have.

    Raises:
        InvalidRequestError: It is no version.
    """
    try:
        return None if text is None else ServerVersion(text)
    except (TypeError, ValueError) as error:
        raise invalid("server_version", f"server_version: {error}") from None


def _who(info: ServerInfo) -> tuple[object, ...]:
    """What makes it the same server as before: its release and its models."""
    return (info.version, *((model.id, model.root) for model in info.models))


def _address(url: str) -> tuple[str, dict[str, str]]:
    """A URL without credentials, and the header that carries them."""
    if not isinstance(url, str):
        raise _wrong_url(f"an address must be a text, not {type(url).__name__}")
    parts = urlsplit("")
    with suppress(ValueError):  # whose words, and context, would show a password
        url.encode()
        parts = urlsplit(url if "://" in url else f"http://{url}")
    host, rest = parts.hostname, parts.path + parts.query + parts.fragment
    # An unquoted password with `/` or `#` in it ends up behind the host.
    if not host or not _HOST.fullmatch(host) or "@" in rest or not _has_port(parts):
        raise _wrong_url(_hint(url))
    if parts.scheme not in ("http", "https"):
        raise _wrong_url(f"{parts.scheme}://{host} is not HTTP")
    if parts.query or parts.fragment:
        raise _wrong_url("behind ? or # stands what no request could carry")
    headers = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    netloc = f"[{host}]" if ":" in host else host
    netloc += f":{parts.port}" if parts.port else ""
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return urlunsplit((parts.scheme, netloc, path, "", "")), headers


def _has_port(parts: SplitResult) -> bool:
    """Whether its port, if any, is a number."""
    with suppress(ValueError):
        return parts.port is None or parts.port > 0
    return False


def _hint(url: str) -> str:
    quote = "; special characters in a password are written like %2F" if "@" in url else ""
    return f"not the address of a server{quote}"


def _wrong_url(problem: str) -> InvalidRequestError:
    message = f"{problem}; a server's address looks like 'http://localhost:8000'"
    return invalid("base_url", message, code="base-url")
