"""`Context`: what a flow may know of the client that runs it, and how it finds a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from . import _routing
from ._caller import Caller, caller
from ._exchange import post
from ._fleet import Fleet, Replica
from ._flow import Flow, Hear, Response, Talk
from ._inputs import at_least, invalid, one_of
from ._wire import RequestModel
from .errors import Finding
from .gates import Validation
from .profiles import Profile
from .server import ModelInfo, ServerInfo

Transport = Literal["auto", "bytes", "base64", "float"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `with_options` may change; see `Client` for each."""

    model: str | None = None
    validation: Validation = "error"
    timeout: float = 600.0
    deadline: float | None = None
    max_retries: int = 2
    transport: Transport = "auto"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    keep_raw: bool = False

    def __post_init__(self) -> None:
        one_of("validation", self.validation, get_args(Validation))
        one_of("transport", self.transport, get_args(Transport))
        at_least("max_retries", self.max_retries, 0)
        if not self.timeout > 0:
            raise invalid("timeout", f"timeout must be more than 0 seconds, got {self.timeout!r}")


@dataclass(frozen=True, slots=True)
class Context:
    """One call's view of its client.

    Attributes:
        fleet: The servers, shared by all calls.
        options: This client's settings.
        ends: `fleet.clock()` time at which the call must be over; None is unbounded.
        caller: The user's line, for warnings.
        call: What `telemetry` knows the call by; None if nobody watches.
    """

    fleet: Fleet
    options: Options = Options()
    ends: float | None = None
    caller: Caller = field(default_factory=caller)
    call: object = None
    _said: set[str] = field(default_factory=set)

    def report(self, findings: Iterable[Finding]) -> None:
        """Give the Python warnings that `findings` call for, each once a call."""
        for finding in findings if self.options.validation != "off" else ():
            if finding.warns is not None and finding.code not in self._said:
                self._said.add(finding.code)
                self.caller.warn(str(finding), finding.warns)

    def find(self, wanted: type[RequestModel], model: str | None) -> Flow[Target]:
        """The servers that do `wanted` with `model`; asks who is there where that is not known.

        Raises:
            UnsupportedTaskError: No server does it.
            UnknownModelError: No server serves `model`.
            InvalidRequestError: `model` is None and several could be meant.
            APIConnectionError, AuthenticationError: No server could be asked.
        """
        name, replicas = yield from _routing.find(self, wanted, model or self.options.model)
        return Target(self, name, tuple(replicas))


@dataclass(frozen=True, slots=True)
class Target:
    """The servers that take one kind of request for one model.

    Attributes:
        context: The call's.
        model: The served name; None where the server is to choose.
        replicas: At least one.
    """

    context: Context
    model: str | None
    replicas: tuple[Replica, ...]

    @property
    def info(self) -> ServerInfo:
        """What is known of the first server."""
        known = (replica.info for replica in self.replicas if replica.info)
        return next(known, ServerInfo(url=self.replicas[0].url))

    @property
    def facts(self) -> ModelInfo:
        """What is known of the model."""
        return self.info.model(self.model) or ModelInfo(self.model or "")

    @property
    def profile(self) -> Profile:
        """What is known of the model's family."""
        return self.facts.profile

    def learned(
        self,
        *,
        embedding_size: int | None = None,
        matryoshka: bool | tuple[int, ...] | None = None,
    ) -> None:
        """Remember what an answer has shown of the model, for all its servers."""
        for replica in self.replicas:
            replica.learned(self.model, embedding_size=embedding_size, matryoshka=matryoshka)

    def post(
        self,
        body: RequestModel,
        *,
        listen: Callable[[], Hear] | None = None,
        talk: Talk | None = None,
    ) -> Flow[Response]:
        """Send one request; retried, moved to another server, and checked by the gates.

        Args:
            listen: Called before each try, for what hears its answer as that comes: the body of a
                try that was cut begins anew in the next.
            talk: What is said over a websocket, instead of the body.
        """
        return post(self.context, self.replicas, body, listen, talk)
