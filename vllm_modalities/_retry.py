"""When a request is sent again: the one policy, for both clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .errors import APIConnectionError, APIStatusError, APITimeoutError, ResponseError

if TYPE_CHECKING:
    import tenacity

RETRIED_STATUSES = frozenset({408, 425, 429, 502, 503, 504})
"""Statuses that a later try may change. 500 is not one: vLLM gives it to requests that fail
every time, such as an image URL that it cannot fetch (seen on 0.32.0)."""

OVERLOAD_STATUSES = frozenset({429, 503, 504})

FIRST_WAIT, LONGEST_WAIT, JITTER = 0.25, 8.0, 0.5  # seconds


def is_transient(error: BaseException) -> bool:
    """Whether another try, or another server, may succeed."""
    match error:
        case APIStatusError(status_code=status):
            return status in RETRIED_STATUSES
        case ResponseError():
            return error.cut
        case _:
            return isinstance(error, APIConnectionError)


def is_overload(error: BaseException) -> bool:
    """Whether the server, or a gateway before it, had more to do than it could do in time."""
    if isinstance(error, APIStatusError):
        return error.status_code in OVERLOAD_STATUSES
    return isinstance(error, APITimeoutError)


def policy(
    retries: int, *, pause: Callable[[float], None], outlasts: Callable[[float], bool]
) -> tenacity.Retrying:
    """At most `1 + retries` tries.

    Args:
        retries: Tries after the first.
        pause: Told the seconds to wait before the next try.
        outlasts: Whether waiting so many seconds would pass the deadline; then the last error
            is raised at once.
    """
    import tenacity

    # Many clients that failed together must not come back together.
    growing = tenacity.wait_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)
    backoff = growing + tenacity.wait_random(0, JITTER)

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, APIStatusError) else None
        return max(backoff(state), asked or 0.0)

    def stop(state: tenacity.RetryCallState) -> bool:
        return state.attempt_number > retries or outlasts(state.upcoming_sleep)

    return tenacity.Retrying(
        sleep=pause,
        wait=wait,
        stop=stop,
        retry=tenacity.retry_if_exception(is_transient),
        reraise=True,
    )
