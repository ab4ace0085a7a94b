"""`simulate`: servers that answer as a release of vLLM was seen to, in a thread of this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache

from packaging.version import Version

from . import _recordings
from ._app import Application, Received
from ._evidence import Release
from ._faults import Fault, Faults, Kind
from ._models import SOUNDS, Model
from ._recordings import Recordings
from ._running import bound, serving
from ._says import Pages, Script, Transcripts
from ._server import Server
from ._service import Pace

KINDS: Mapping[str, str] = {
    "embed": "embed",
    "rerank": "rerank",
    "score": "rerank",
    "classify": "classify",
    "embed_tokens": "late-interaction",
    "token_classify": "token-classify",
    "transcribe": "transcribe",
    "translate": "transcribe",
    "ocr": "ocr",
}
"""The kind of server that was recorded for each task of the client."""

TASKS = ("embed", "rerank", "transcribe", "ocr")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One simulated server; what is None is as it was with the server that was recorded.

    Attributes:
        task: What it does: `"embed"`, `"rerank"`, `"score"`, `"classify"`, `"embed_tokens"`,
            `"token_classify"`, `"transcribe"`, `"translate"` or `"ocr"`; or a kind of server that
            was recorded.
        model: The name of what it serves.
        width: Numbers of its vectors.
        max_model_len: Tokens that it reads.
        matryoshka: Whether it can shorten its vectors, to any size.
        prompts: The values of `input_type` that its model knows.
        labels: Of its classes.
        api_key: What it asks for as a bearer token; None asks for nothing.
        request_ids: Whether its answers carry `X-Request-Id`.
        hides_routes: Whether it has no `/openapi.json` (`--disable-fastapi-docs`).
    """

    task: str
    model: str | None = None
    width: int | None = None
    max_model_len: int | None = None
    matryoshka: bool | None = None
    prompts: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    api_key: str | None = None
    request_ids: bool = False
    hides_routes: bool = False

    @property
    def kind(self) -> str:
        """The kind of server whose recordings it answers by."""
        return KINDS.get(self.task, self.task)

    def over(self, recorded: Model) -> Model:
        """The recorded model with what is given here."""
        names = {"model": "name", "max_model_len": "context"}
        given = {
            names.get(one.name, one.name): getattr(self, one.name)
            for one in fields(self)
            if one.name not in ("task", "api_key") and getattr(self, one.name) is not None
        }
        return replace(recorded, api_key=self.api_key, splits=False, **given)


class Simulator:
    """Simulated servers that run, one a task.

    Attributes:
        version: The release that they are.
        models: What they serve, in the order of the tasks.
    """

    def __init__(
        self, version: str, models: Sequence[str], urls: Mapping[str, str], app: Application
    ) -> None:
        self.version, self.models = version, list(models)
        self._urls, self._app = dict(urls), app

    def __repr__(self) -> str:
        return f"Simulator({self.version!r}, {self._urls})"

    @property
    def urls(self) -> list[str]:
        """The address of each server, in the order of the tasks: `Client(simulator.urls)`."""
        return list(self._urls.values())

    @property
    def url(self) -> str:
        """The address of the first."""
        return self.urls[0]

    def __getitem__(self, task: str) -> str:
        """The address of the server for a task."""
        return self._urls[task]

    @property
    def requests(self) -> list[Received]:
        """The last 1000 requests, oldest first."""
        return list(self._app.requests)

    @property
    def count(self) -> int:
        """How many requests came."""
        return self._app.count

    def fail(
        self,
        kind: Kind | int,
        *,
        path: str | None = None,
        times: int | None = 1,
        probability: float = 1.0,
        seconds: float = 1.0,
        retry_after: float | None = None,
    ) -> None:
        """Let something go wrong from the next request on.

        Args:
            kind: A status such as 429 or 503; or `"delay"`, `"reset"` (the connection breaks),
                `"cut"` (in the middle of the answer), `"error"` (an error body with status 200),
                `"nan"` (vectors and scores), `"loop"` (a transcript or page without an end).
            path: Requests to this path alone; None is any but those by which a client asks who
                the server is.
            times: How often; None is always.
            probability: Of each request, with which it is met.
            seconds: Of a delay.
            retry_after: Seconds, sent as `Retry-After` with a status.

        Raises:
            ValueError: No such kind, or a probability that is none.
        """
        status = kind if isinstance(kind, int) else 503
        name: Kind = "status" if isinstance(kind, int) else kind
        self._app.faults.add(Fault(name, path, times, probability, seconds, status, retry_after))

    def fail_as(self, text: str) -> None:
        """The same in words: `"503 retry_after=2 times=3"`; without `times` it lasts.

        Raises:
            ValueError: There is no such fault or no such option.
        """
        self._app.faults.add(Fault.parse(text))

    def recover(self) -> None:
        """Take back what `fail` has asked for."""
        self._app.faults.clear()


@cache
def recorded() -> tuple[Recordings, ...]:
    """Everything that was recorded."""
    return tuple(map(_recordings.load, _recordings.servers()))


def releases(*tasks: str) -> list[str]:
    """The releases that can be simulated with a server for each of `tasks`, oldest first."""
    kinds = {KINDS.get(task, task) for task in tasks}
    found = {release for one in recorded() for release in one.recorded}
    for kind in kinds:
        found &= {r for one in recorded() if one.server == kind for r in one.recorded}
    return sorted(found, key=Version)


@cache
def _release(version: str, kind: str) -> Release:
    return Release(version, kind, recorded(), SOUNDS)


def server_of(version: str, served: Served, script: Script) -> Server:
    """A simulated server without a network.

    Raises:
        ValueError: That release was not recorded with such a server.
    """
    known = releases(served.kind)
    if version not in known:
        others = ", ".join(known) or f"none; there are {', '.join(KINDS)}"
        raise ValueError(f"{served.task!r} was not recorded on {version}; it was on {others}")
    release = _release(version, served.kind)
    (ours,) = (one for one in recorded() if one.server == served.kind)
    return Server(release, served.over(release.model(ours)), script)


@contextmanager
def simulate(
    *,
    version: str | None = None,
    tasks: Sequence[str | Served] = TASKS,
    port: int = 0,
    slots: int | None = None,
    seconds_per_request: float = 0.0,
    seconds_per_token: float = 0.0,
    transcripts: Transcripts = None,
    pages: Pages = None,
    seed: int = 0,
) -> Iterator[Simulator]:
    """Servers that answer as a release of vLLM was seen to, while the block lasts.

    A vLLM process serves one model, so each task gets a server of its own, with its own port.

    Args:
        version: The release; None is the newest that was recorded with all of these servers.
        tasks: What to serve; a `Served` says more than its task.
        port: Of the first server, the others follow; 0 takes free ones.
        slots: Requests that each server works on at once; None is any number.
        seconds_per_request, seconds_per_token: What each takes.
        transcripts: What is heard: texts by file name or by the bytes of the file, or a function
            of the upload (`.name`, `.seconds`, `.content`).
        pages: What is read, in DeepSeek-OCR's grammar: texts by the bytes of the image, or a
            function of them.
        seed: Of faults with a probability.

    Raises:
        ValueError: The release was not recorded with such a server.
        OSError: A port is taken.
    """
    all_served = [Served(task=one) if isinstance(one, str) else one for one in tasks]
    version = version or (releases(*(one.kind for one in all_served)) or releases())[-1]
    script = Script(transcripts, pages)
    servers = [server_of(version, served, script) for served in all_served]
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(bound(port + place if port else 0)) for place in range(len(servers))
        ]
        ports = [one.getsockname()[1] for one in sockets]
        pace = Pace(slots, seconds_per_request, seconds_per_token)
        app = Application(dict(zip(ports, servers, strict=True)), pace, Faults(seed))
        stack.enter_context(serving(app, sockets))
        names = [served.task for served in all_served]
        urls = [f"http://127.0.0.1:{number}" for number in ports]
        models = [server.model.name for server in servers]
        yield Simulator(version, models, dict(zip(names, urls, strict=True)), app)
