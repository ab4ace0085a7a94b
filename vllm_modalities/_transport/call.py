"""One request on the wire: what its answer or its failure is called here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .._flow import Request, Response, said
from .._secrets import hidden_in
from ..errors import (
    APIConnectionError,
    APITimeoutError,
    ResponseError,
    VLLMModalitiesError,
    status_class,
)


@dataclass(slots=True)
class Call:
    """A request, and how its outcome is told.

    Attributes:
        request: What was asked.
        hide: Takes the secrets out of a text.
        status, headers: Of the answer, once it has begun.
    """

    request: Request
    hide: Callable[[str], str]
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    def heard(self, status: int, headers: Mapping[str, str]) -> None:
        """The answer has begun; a status of 0 says that it has not."""
        self.status, self.headers = status, headers

    def unpacked(self) -> None:
        """Raise ResponseError if the body is compressed: a small one may fill the memory."""
        packed = self.headers.get("content-encoding", "identity")
        if packed != "identity":
            raise self._fault(
                f"the answer to {self._name} is packed ({packed}), which was not asked for;"
                " turn that off in the gateway that does it"
            )

    def _fault(self, message: str, *, cut: bool = False) -> ResponseError:
        return ResponseError(
            self.hide(message), server=self.request.server, request_id=self._request_id(), cut=cut
        )

    @property
    def _name(self) -> str:
        path = self.request.path.partition("?")[0]  # an address's query may be secret
        return f"{self.request.method} {path}"

    def _request_id(self) -> str | None:
        shown = self.headers.get("x-request-id")
        return None if shown is None else self.hide(shown)

    def late(self, *, connecting: bool = False) -> APITimeoutError:
        """The error for an answer that is not complete in time."""
        return APITimeoutError(
            f"{'connecting' if connecting else self._name}: no complete answer within"
            f" {self.request.timeout:.3g} s; raise `timeout` or `deadline`, or send less at once",
            server=self.request.server,
        )

    def broken(self, error: Exception) -> VLLMModalitiesError:
        """The error for an answer that did not come, or not all of it; its cause is set."""
        reason = self.hide(str(error) or type(error).__name__)
        told: VLLMModalitiesError
        if 100 < self.status < 400:
            told = self._fault(
                f"the answer to {self._name} stopped half-way: {reason}",
                cut=self.request.talk is None,  # what a caller says is not there a second time
            )
        else:
            told = APIConnectionError(
                f"no answer to {self._name}: {reason}. Is the server up, and is the address right?",
                server=self.request.server,
            )
        # A traceback shows the cause too, so it must hold no secret.
        told.__cause__ = error if reason == str(error) else None
        told.__suppress_context__ = True
        return told

    def result(self, body: bytes | bytearray) -> Response:
        """The answer, if it is one; raises the error that it is otherwise."""
        self.unpacked()
        headers, server = self.headers, self.request.server
        if 200 <= self.status < (400 if self.request.anonymous else 300):
            return Response(self.status, headers, body, server, hidden=self.hide)
        if self.status < 400:
            place = headers.get("location", "an unknown place")
            raise self._fault(
                f"HTTP {self.status}: {self.request.path} is moved to {place};"
                " redirects are not followed, give the new address as `base_url`"
            )
        raise status_class(self.status)(
            self.status,
            said(body, self.hide),
            server=server,
            request_id=self._request_id(),
            body=hidden_in(body, self.hide),
            retry_after=seconds(headers.get("retry-after")),
        )


def seconds(retry_after: str | None) -> float | None:
    """`Retry-After` in seconds, from a number or a date; None where there is no sense in it."""
    import email.utils

    try:
        found = float(retry_after or "nan")
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(retry_after or "")
            found = date.timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(found, 0.0) if math.isfinite(found) else None
