"""One request on the wire as a span, in the words of the HTTP conventions.

Source: opentelemetry-semantic-conventions 0.66b2, attributes/http_attributes.py and its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind

from .._flow import Request, Response
from .._transport import AsyncTransport, SyncTransport
from ..errors import APIStatusError
from ._call import Attributes, Call, kind_of, server_of
from ._contents import sent

_NAMES = tuple(field.name for field in fields(Request))


@dataclass(frozen=True, slots=True)
class Watched(Request):
    """A request that belongs to a call."""

    call: Call | None = None


def watched(request: Request, call: Call) -> Watched:
    """The same request, of this call."""
    return Watched(**{name: getattr(request, name) for name in _NAMES}, call=call)


class _Traced:
    """A transport's requests as spans; a request that belongs to no call has none."""

    def __init__(self, transport: SyncTransport) -> None:
        self.transport = transport

    def send(self, request: Request) -> Response:
        with _spanned(request) as attempt:
            return attempt.answered(self.transport.send(attempt.request))

    def close(self) -> None:
        self.transport.close()


class _AsyncTraced:
    """The same for coroutines."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.transport = transport

    async def send(self, request: Request) -> Response:
        with _spanned(request) as attempt:
            return attempt.answered(await self.transport.send(attempt.request))

    async def close(self) -> None:
        await self.transport.close()


def traced(transport: Any) -> _Traced | _AsyncTraced:
    """The transport with spans; one that has them stays as it is."""
    if isinstance(transport, _Traced | _AsyncTraced):
        return transport
    return _AsyncTraced(transport) if isinstance(transport, AsyncTransport) else _Traced(transport)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A request on its way, and its span."""

    request: Request
    span: Span | None = None

    def answered(self, response: Response) -> Response:
        if self.span is not None:
            self.span.set_attribute("http.response.status_code", response.status)
            _identify(self.span, response.hidden(response.headers.get("x-request-id", "")))
        return response


@contextmanager
def _spanned(request: Request) -> Iterator[_Attempt]:
    """The request to send, under a span that ends with it; the server is told which."""
    call = request.call if isinstance(request, Watched) else None
    if call is None:
        yield _Attempt(request)
        return
    if model := (request.form.fields if request.form else request.json or {}).get("model"):
        call.asked(str(model))
    span = call.telemetry.tracer.start_span(
        f"{request.method} {request.path}", call.context, SpanKind.CLIENT, _told(request, call)
    )
    with trace.use_span(
        span, end_on_exit=True, record_exception=False, set_status_on_exception=False
    ):
        headers: dict[str, str] = {}
        propagate.inject(headers)
        try:
            yield _Attempt(replace(request, headers={**request.headers, **headers}), span)
        except BaseException as error:
            _failed(span, error)
            span.set_status(call.telemetry.status(error))
            raise


def _told(request: Request, call: Call) -> Attributes:
    attributes = server_of(request.server) | {
        "http.request.method": request.method,
        "url.full": request.server + request.path,
        "url.template": request.path,  # none of our paths has anything in it
    }
    if request.resend:
        attributes["http.request.resend_count"] = request.resend
    if call.telemetry.contents and request.json and (words := sent(request.json)):
        attributes["gen_ai.input.messages"] = words
    return attributes


def _failed(span: Span, error: BaseException) -> None:
    kind = kind_of(error)
    if isinstance(error, APIStatusError):
        kind = str(error.status_code)
        span.set_attribute("http.response.status_code", error.status_code)
    span.set_attribute("error.type", kind)
    _identify(span, getattr(error, "request_id", None))


def _identify(span: Span, request_id: str | None) -> None:
    if request_id:
        span.set_attribute("http.response.header.x-request-id", [request_id])
