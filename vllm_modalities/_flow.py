"""The core, without I/O: a flow is a generator that yields steps and is sent their outcomes.

`outcome = yield from step` runs a step and gives its outcome, typed. A driver (one for `Client`,
one for `AsyncClient`, in `client.py`) performs the steps; a test drives a flow with `step()` and
scripted outcomes, without a socket or an event loop.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import pydantic
import pydantic_core

from ._printable import printable
from ._secrets import hidden_in
from .errors import Finding, ResponseError, VLLMModalitiesError

if TYPE_CHECKING:
    from ._places import Window
    from .server import ServerVersion

Hide: TypeAlias = Callable[[str], str]
Hear: TypeAlias = Callable[[bytes], bool]
"""Is given each part of an answer's body as it comes; False wants no more of it."""
T = TypeVar("T")
Result_co = TypeVar("Result_co", covariant=True)
Body = TypeVar("Body", bound=pydantic.BaseModel)


class Step(Generic[T]):
    """Something a flow asks its driver to do, with an outcome of type T."""

    __slots__ = ()

    def __iter__(self) -> Generator[Step[Any], Any, T]:
        outcome: T = yield self
        return outcome


Flow: TypeAlias = Generator[Step[Any], Any, T]


@dataclass(frozen=True, slots=True)
class Response:
    """One complete 2xx answer.

    Attributes:
        status: The HTTP status.
        headers: Header values by lower-case name.
        body: The whole body, in whichever form it was gathered; for reading only.
        server: The URL of the server that answered.
        findings: What was doubtful about the request on that server.
        release: That server's vLLM release, if it tells.
        hidden: Takes what the client keeps secret out of a text.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes | bytearray
    server: str = ""
    findings: tuple[Finding, ...] = ()
    release: ServerVersion | None = None
    hidden: Hide = field(default=str, repr=False)

    @property
    def content(self) -> bytes:
        """The whole body."""
        return bytes(self.body)

    def json(self) -> Any:
        """The body as JSON; ResponseError if it is not JSON, or an error in disguise."""
        try:
            body = pydantic_core.from_json(self.body)
        except ValueError as error:
            raise self.fault(f"the answer is not JSON: {error}") from None
        # vLLM 0.15 and gateways answer some errors with status 200.
        if isinstance(body, dict) and (body.get("error") or body.get("object") == "error"):
            words = said(self.body, self.hidden)
            raise self.fault(f"HTTP {self.status} with an error body: {words}")
        return body

    def parse(self, model: type[Body]) -> Body:
        """The JSON body as a `model`; ResponseError if it is not one."""
        try:
            return model.model_validate_json(self.body)
        except pydantic.ValidationError as error:
            self.json()  # says it better where the body is no JSON, or an error
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_input=False)[:3]
            )
            raise self.fault(f"the answer to a {model.__name__} is malformed: {faults}") from None

    def fault(self, message: str) -> ResponseError:
        """The error for an answer that is not what it claims, with the evidence."""
        request_id = self.headers.get("x-request-id")
        return ResponseError(
            self.hidden(message),
            server=self.server,
            request_id=request_id and self.hidden(request_id),
            body=hidden_in(self.body, self.hidden),
        )


def said(body: bytes | bytearray, hide: Hide = str, limit: int = 500) -> str:
    """What an error body says, in any of the shapes that vLLM and gateways use; safe to print.

    Source: vLLM 0.16.0 to 0.33.0: `{"error": {"message": ...}}`, `{"error": "Unauthorized"}` from
    the key check, `{"detail": ...}` from the router; `{"message": ...}` from Cohere-like gateways.
    """
    text = body.decode("utf-8", "replace").strip()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = text
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(key):
            found = found[key]
    # Hidden first: the beginning of a secret that the cut goes through would stay.
    return printable(hide(found if isinstance(found, str) else text))[:limit]


@dataclass(frozen=True, slots=True)
class Form:
    """A multipart body: plain fields, and files as (name, content, media type)."""

    fields: Mapping[str, str | list[str]]
    files: Mapping[str, tuple[str, bytes, str]]


@dataclass(frozen=True, slots=True)
class Talk:
    """What is said to a server while it answers, each text a message of a websocket.

    Attributes:
        items: The caller's, taken as they come; for `AsyncClient`, an async iterable will do too.
        first, add, rest: The messages before them, of one of them, and after the last.
    """

    items: Iterable[Any] | AsyncIterable[Any]
    first: tuple[str, ...]
    add: Callable[[Any], Iterable[str]]
    rest: Callable[[], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Request(Step[Response]):
    """One HTTP exchange with one server.

    Attributes:
        method, path: As in HTTP.
        json, form: The body, at most one of them.
        server: The server's URL.
        headers: Beside those that the client adds.
        timeout: Seconds for this exchange.
        ends: `clock()` time at which the whole call must be over; None is unbounded.
        window: What bounds the requests in flight to that server; None is the client's bound alone.
        hear: Hears the body of a 2xx answer as it comes, and returns quickly. If it wants no more,
            the connection is closed, which ends the work on the server; the `Response` has what
            came until then.
        anonymous: Whether the client's key stays at home, as when the user's own address is read,
            whose answer may also say where it has moved to (3xx).
        resend: How many times it was sent before, to this or another server.
        call: The call that it belongs to, where calls are watched.
        talk: Makes it a websocket, whose messages `hear` hears; `timeout` bounds the silence then.
    """

    method: str
    path: str
    json: Mapping[str, Any] | None = None
    form: Form | None = None
    server: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 600.0
    ends: float | None = None
    window: Window | None = field(default=None, repr=False)
    hear: Hear | None = field(default=None, repr=False)
    anonymous: bool = False
    resend: int = field(default=0, repr=False)
    call: object = field(default=None, repr=False)
    talk: Talk | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Sleep(Step[None]):
    """A pause, in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Work(Step[T]):
    """Heavy or blocking work; the async driver does it in a thread."""

    call: Callable[[], T]


@dataclass(frozen=True, slots=True)
class Alone(Step[T]):
    """A flow that no other call of this client runs at the same time, such as discovery.

    Attributes:
        flow: It yields no `Alone` itself.
        ends: `clock()` time at which the whole call must be over; None is unbounded.
    """

    flow: Flow[T]
    ends: float | None = None


def never(_: VLLMModalitiesError) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Together(Step[list[T | VLLMModalitiesError]]):
    """Flows that may run side by side; their results or errors come back in order.

    Attributes:
        flows: Taken one at a time as places get free, so an iterator is never read far ahead.
        stop: After an error that it holds for, no further flow begins; those left out get
            that same error as their outcome.
    """

    flows: Iterable[Flow[T]]
    stop: Callable[[VLLMModalitiesError], bool] = never


class Cut(AbstractContextManager[Any], Protocol[Result_co]):
    """Makes flows of a stream's items as they come, inside its context; a result from each."""

    def add(self, item: Any) -> Flow[Result_co] | None:
        """Take one item; the flow that it completes, if it does."""
        ...

    def rest(self) -> Flow[Result_co] | None:
        """The flow of the items that are left over when there are no more."""
        ...

    def end(self) -> None:
        """After the last result: raise what all of them amount to, if that is an error."""
        ...


@dataclass(frozen=True, slots=True)
class Stream(Generic[T]):
    """Results one after another, of items that may have no end.

    Attributes:
        items: The caller's, taken as results are asked for; for `AsyncClient`, an async iterable
            will do too.
        begin: The flow that, given the first item, finds out how items are made into flows.
        parts: The flow that takes one of the caller's items apart; what it gives are the items for
            `begin` and `Cut`. None leaves them whole.
        ordered: Whether results come in the order of the items, or as they are there.
    """

    items: Iterable[Any] | AsyncIterable[Any]
    begin: Callable[[Any], Flow[Cut[T]]]
    parts: Callable[[Any], Flow[Iterable[Any]]] | None = None
    ordered: bool = True


@dataclass(frozen=True, slots=True)
class Live(Generic[T]):
    """One result whose text is told while it comes.

    Attributes:
        source: The caller's; an iterable of bytes, for `AsyncClient` an async one too, is gathered.
        begin: The flow, given the source and what is to be told each text as it comes; that says
            whether more is wanted, also when it is told `""`.
        gathers: Whether an iterable is gathered; if not, the flow takes it as it is.
    """

    source: Any
    begin: Callable[[Any, Callable[[str], bool]], Flow[T]]
    gathers: bool = True


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What `step` returns when a flow has finished."""

    value: T


def step(flow: Flow[T], outcome: object = None) -> Step[Any] | Done[T]:
    """Advance `flow` by one step, handing it the last one's outcome; an exception is thrown in."""
    try:
        if isinstance(outcome, Exception):
            return flow.throw(outcome)
        return flow.send(outcome)
    except StopIteration as stop:
        return Done(stop.value)
