"""Every exception and warning of this package.

* VLLMModalitiesError
    * InvalidRequestError (also a ValueError): refused here, nothing was sent
    * UnsupportedTaskError: no configured server does this
    * MediaError: unreadable audio, image or PDF
    * APIConnectionError: no HTTP answer arrived
        * APITimeoutError: none arrived in time
    * APIStatusError: the server answered 4xx or 5xx
        * BadRequestError (400, 413, 422), AuthenticationError (401, 403), RateLimitError (429)
        * NotFoundError (404, 405)
            * UnknownModelError (also an InvalidRequestError): no server serves this model
        * InternalServerError (5xx)
            * ServerOverloadedError (503)
    * ResponseError: a 2xx answer that is not what it claims
    * PartialFailureError: some of many items failed, the others are in `.results`
* VLLMModalitiesWarning (a UserWarning)
    * ServerDefectWarning: this release gives wrong results for what is asked
    * ModelUsageWarning: the model needs something that the call lacks
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ._printable import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong, or doubtful, about a request to a given server.

    Attributes:
        code: Stable name of the rule, for programs.
        severity: `"error"` (would be refused) or `"warning"`.
        field: The request's field, in the server's spelling; `""` if it concerns the whole.
        message: What is wrong on this server, and the cure.
        since, until: The half-open window of vLLM releases that the rule holds for; None is open.
        source: The vLLM file, PR or issue, or the answer of the server, that says so.
        warns: The Python warning that it is given as too, if any.
    """

    code: str
    severity: Literal["error", "warning"]
    field: str
    message: str
    since: str | None = None
    until: str | None = None
    source: str = ""
    warns: type[Warning] | None = None

    def __str__(self) -> str:
        return f"{self.message} [{self.source}]" if self.source else self.message


class VLLMModalitiesError(Exception):
    """Base class of every error this package raises."""

    def __str__(self) -> str:
        return printable(super().__str__())  # servers' words are in it

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross process boundaries, and their constructors take more than `args`.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[VLLMModalitiesError], args: tuple[Any, ...], state: dict[str, Any]
) -> VLLMModalitiesError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InvalidRequestError(VLLMModalitiesError, ValueError):
    """The request was refused before anything was sent.

    Attributes:
        findings: Why, one `Finding` a reason.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        ValueError.__init__(self, "; ".join(map(str, findings)))
        self.findings = tuple(findings)


class UnsupportedTaskError(VLLMModalitiesError):
    """No configured server does this; the message says which server does what."""


class MediaError(VLLMModalitiesError):
    """Audio, an image or a PDF could not be read; the message says what was found instead."""


class APIConnectionError(VLLMModalitiesError):
    """No HTTP answer arrived.

    Attributes:
        server: The server's URL.
    """

    def __init__(self, message: str, *, server: str) -> None:
        super().__init__(f"{message} (server {server})")
        self.server = server


class APITimeoutError(APIConnectionError):
    """No complete HTTP answer arrived in time."""


class ResponseError(VLLMModalitiesError):
    """A 2xx answer is not what it claims: cut, miscounted, not finite, or an error in disguise.

    Attributes:
        server: The server's URL.
        request_id: The `x-request-id` header, or None.
        body: The answer, as far as it came.
        cut: Whether the answer stopped half-way, so that another try may get the whole.
    """

    def __init__(
        self,
        message: str,
        *,
        server: str = "",
        request_id: str | None = None,
        body: bytes = b"",
        cut: bool = False,
    ) -> None:
        evidence = [f"server {server}"] if server else []
        evidence += [f"request {request_id}"] if request_id else []
        super().__init__(f"{message} ({', '.join(evidence)})" if evidence else message)
        self.server: str = server
        self.request_id: str | None = request_id
        self.body: bytes = body
        self.cut: bool = cut


class APIStatusError(VLLMModalitiesError):
    """The server answered with a 4xx or 5xx status.

    Attributes:
        status_code: The HTTP status.
        message: The server's own words, or a part of its body.
        request_id: The `x-request-id` header, or None (`--enable-request-id-headers` turns it on).
        body: The whole answer.
        server: The server's URL.
        retry_after: Seconds that the server asked to wait (`Retry-After`), or None.
    """

    cure = ""

    def __init__(
        self,
        status_code: int,
        message: str,
        *,
        server: str,
        request_id: str | None = None,
        body: bytes = b"",
        retry_after: float | None = None,
    ) -> None:
        self.status_code: int = status_code
        self.message: str = message
        self.server: str = server
        self.request_id: str | None = request_id
        self.body: bytes = body
        self.retry_after: float | None = retry_after
        evidence = f"server {server}" + (f", request {request_id}" if request_id else "")
        said = f"HTTP {status_code}: {message or 'no reason given'} ({evidence})"
        super().__init__(f"{said} {self.cure}".rstrip())


class BadRequestError(APIStatusError):
    """400, 413 or 422: the server refused the request's content."""


class AuthenticationError(APIStatusError):
    """401 or 403: the API key is missing or wrong."""

    cure = "Pass the server's `--api-key` as `Client(api_key=...)` or set $VLLM_API_KEY."


class NotFoundError(APIStatusError):
    """404 or 405: no such route, or no such model."""

    cure = "`client.servers()` shows the models and routes there are."


class UnknownModelError(InvalidRequestError, NotFoundError):
    """No configured server serves this model: their lists say so, and nothing was sent.

    It is also the NotFoundError that a server would have answered.
    """

    def __init__(self, findings: Sequence[Finding], *, server: str) -> None:
        InvalidRequestError.__init__(self, findings)
        self.status_code, self.message, self.server = 404, str(self), server
        self.request_id, self.body, self.retry_after = None, b"", None


class RateLimitError(APIStatusError):
    """429: too many requests, on every try."""

    cure = "Lower `max_concurrency` or raise `timeout`, so that the waits fit in."


class InternalServerError(APIStatusError):
    """5xx: the server failed; its log says why."""


class ServerOverloadedError(InternalServerError):
    """503: the server takes no more work now, on every try."""

    cure = "Lower `max_concurrency` or `batch_size`, or raise `timeout`."


class PartialFailureError(VLLMModalitiesError):
    """Some of many items failed; what succeeded is kept.

    Attributes:
        results: Same length as the input, in place: NaN rows or None where an item failed; a
            ranking has those that did not fail. Empty where they were given one after another.
        failures: (index of the item, its error), by index.
    """

    def __init__(
        self,
        results: Any,
        failures: Sequence[tuple[int, VLLMModalitiesError]],
        *,
        count: int | None = None,
        streamed: bool = False,
    ) -> None:
        index, first = failures[0]
        count = len(results) if count is None else count
        kept = "the results before this error have" if streamed else "`.results` has"
        super().__init__(
            f"{len(failures)} of {count} items failed; the first, item {index}: {first} "
            f"`.failures` has every error, {kept} the others;"
            ' on_error="return" gives both without raising.'
        )
        self.results, self.failures = results, tuple(failures)


class VLLMModalitiesWarning(UserWarning):
    """Base class of every warning this package gives."""


class ServerDefectWarning(VLLMModalitiesWarning):
    """This server's release gives wrong results for what is asked."""


class ModelUsageWarning(VLLMModalitiesWarning):
    """The model needs something that the call lacks, such as a prompt or a template."""


def status_class(status: int) -> type[APIStatusError]:
    """The error class for an HTTP status."""
    match status:
        case 400 | 413 | 422:
            return BadRequestError
        case 401 | 403:
            return AuthenticationError
        case 404 | 405:
            return NotFoundError
        case 429:
            return RateLimitError
        case 503:
            return ServerOverloadedError
        case _:
            return InternalServerError if status >= 500 else APIStatusError
