"""One request on the wire as a span, in the words of the HTTP conventions.

Source: opentelemetry-semantic-conventions 0.66b2, attributes/http_attributes.py and its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

from opentelemetry import context as contexts
from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind

from .._flow import Hide, Request, Response
from .._transport import AsyncTransport, SyncTransport
from ..errors import APIStatusError
from ._call import Attributes, Call, kind_of, server_of
from ._contents import sent


class _Traced:
    """A transport's requests as spans; a request that belongs to no call has none."""

    def __init__(self, transport: SyncTransport) -> None:
        self.transport = transport

    def send(self, request: Request) -> Response:
        with _Sending(request) as sending:
            return sending.answered(self.transport.send(request, sending.headers))

    def close(self) -> None:
        self.transport.close()


class _AsyncTraced:
    """The same for coroutines."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.transport = transport

    async def send(self, request: Request) -> Response:
        with _Sending(request) as sending:
            return sending.answered(await self.transport.send(request, sending.headers))

    async def close(self) -> None:
        await self.transport.close()


def traced(transport: Any) -> _Traced | _AsyncTraced:
    """The transport with spans; one that has them stays as it is."""
    if isinstance(transport, _Traced | _AsyncTraced):
        return transport
    return _AsyncTraced(transport) if isinstance(transport, AsyncTransport) else _Traced(transport)


class _Sending:
    """One try: a span from here until the answer is there, which is the current one meanwhile.

    Attributes:
        headers: What tells the server of the span.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._call = request.call if isinstance(request.call, Call) else None
        self.headers: dict[str, str] = {}
        self._span: Span | None = None
        self._outcome: Attributes = {}

    def __enter__(self) -> Self:
        call, request = self._call, self._request
        if call is None:
            return self
        if model := _body_of(request).get("model"):
            call.asked(str(model))
        context = call.context
        if call.is_recorded:
            name = f"{request.method} {request.path}"
            tracer = call.telemetry.tracer
            self._span = tracer.start_span(name, context, SpanKind.CLIENT, _told(request))
            context = trace.set_span_in_context(self._span, context)
            propagate.inject(self.headers, context)
        else:
            self.headers = call.headers
        self._before = contexts.attach(context)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._call is None:
            return
        contexts.detach(self._before)
        if self._span is None:
            return
        if error is not None:
            self._failed(error)
            self._span.set_status(self._call.telemetry.status(error))
        if self._call.telemetry.contents and (words := sent(_body_of(self._request))):
            self._outcome["gen_ai.input.messages"] = words
        self._span.set_attributes(self._outcome)
        self._span.end()

    def answered(self, response: Response) -> Response:
        self._outcome["http.response.status_code"] = response.status
        self._identify(response.headers.get("x-request-id"), response.hidden)
        return response

    def _failed(self, error: BaseException) -> None:
        self._outcome["error.type"] = kind_of(error)
        if isinstance(error, APIStatusError):
            self._outcome["error.type"] = str(error.status_code)
            self._outcome["http.response.status_code"] = error.status_code
        self._identify(getattr(error, "request_id", None))

    def _identify(self, request_id: str | None, hide: Hide = str) -> None:
        if request_id:
            self._outcome["http.response.header.x-request-id"] = [hide(request_id)]


def _told(request: Request) -> Attributes:
    attributes = _where(request.method, request.server, request.path)
    if request.resend:
        return {**attributes, "http.request.resend_count": request.resend}
    return attributes


@lru_cache(maxsize=256)
def _where(method: str, server: str, path: str) -> Attributes:
    return server_of(server) | {
        "http.request.method": method,
        "url.full": server + path,
        "url.template": path,  # none of our paths has anything in it
    }


def _body_of(request: Request) -> Mapping[str, Any]:
    return request.form.fields if request.form else request.json or {}
