"""Many items in one call: batches side by side, and the one bad item found by bisection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Literal, TypeVar, cast

from ._flow import Flow, Together
from .errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    InvalidRequestError,
    NotFoundError,
    PartialFailureError,
    ResponseError,
    UnsupportedTaskError,
    VLLMModalitiesError,
)

OnError = Literal["collect", "raise", "return"]
Failure = tuple[int, VLLMModalitiesError]
# Does the items at these positions, and gives those that failed by themselves.
Run = Callable[[Sequence[int]], Flow[list[Failure]]]
Harmless = Callable[[], Flow[object]]
Ask = Callable[[], Flow[VLLMModalitiesError | None]]

IN_A_ROW = 8
"""Batches that fail, with all their tries, and none that succeeds between them: then the servers
are at fault, and no further batch begins. So a server that is down gets at most
(max_concurrency + IN_A_ROW - 1) * (1 + max_retries) requests of a call, however many its items."""


R = TypeVar("R")


def batches(sizes: Sequence[int], *, count: int, size: int) -> Iterator[range]:
    """Ranges of at most `count` items whose `sizes` add up to at most `size`, or of one item."""
    start, total = 0, 0
    for place, one in enumerate(sizes):
        if place > start and (place - start == count or total + one > size):
            yield range(start, place)
            start, total = place, 0
        total += one
    if sizes:
        yield range(start, len(sizes))


def is_shared(error: VLLMModalitiesError) -> bool:
    """Whether the cause is none of one item's, so that the others need not be tried."""
    if isinstance(error, APITimeoutError):
        return False
    return isinstance(
        error,
        APIConnectionError
        | AuthenticationError
        | InvalidRequestError
        | NotFoundError
        | UnsupportedTaskError,
    )


class Streak:
    """How many batches have failed in a row, by no fault of their items."""

    def __init__(self) -> None:
        self._length = 0

    def ends(self) -> None:
        self._length = 0

    def is_too_long(self, error: VLLMModalitiesError) -> bool:
        """Note one more failure, and say whether it shows that the servers are at fault."""
        if isinstance(error, APIConnectionError | APIStatusError | ResponseError):
            self._length += 1
        return self._length >= IN_A_ROW


def each(
    work: Sequence[Sequence[int]], run: Run, harmless: Harmless, *, on_error: OnError
) -> Flow[list[Failure]]:
    """Run every batch, side by side; a batch that the server refuses is bisected.

    Args:
        work: The items' positions, by batch.
        run: Does one batch.
        harmless: Sends one item that nothing is wrong with, with the same options.
        on_error: `"raise"` stops at the first error.

    Returns:
        (position, error) of each item that failed, by position.
    """
    streak = Streak()

    def stop(error: VLLMModalitiesError) -> bool:
        return on_error == "raise" or is_shared(error) or streak.is_too_long(error)

    ask = _once(harmless)
    flows = [_batch(batch, run, ask, streak, on_error) for batch in work]
    outcomes = yield from Together(flows, stop)
    failures: list[Failure] = []
    for batch, outcome in zip(work, outcomes, strict=True):
        if isinstance(outcome, VLLMModalitiesError):
            if on_error == "raise":
                raise outcome
            failures += [(place, outcome) for place in batch]
        else:
            failures += outcome
    return sorted(failures, key=lambda failure: failure[0])


def settle(
    results: R, failures: Sequence[Failure], *, on_error: OnError, count: int | None = None
) -> R:
    """`results`, or the error that `failures` amount to.

    Args:
        count: How many items there were, where `results` has not one for each.

    Raises:
        VLLMModalitiesError: The only item's own error, or the one that all items share.
        PartialFailureError: Some items failed, and `on_error` is `"collect"`.
    """
    if not failures:
        return results
    first, count = failures[0][1], len(cast("Sized", results)) if count is None else count
    words = {
        "out of time" if isinstance(error, APITimeoutError) else str(error) for _, error in failures
    }
    if len(failures) == count and len(words) == 1:
        raise first
    if on_error == "return":
        return results
    raise PartialFailureError(results, failures, count=count)


def _batch(
    batch: Sequence[int], run: Run, harmless: Ask, streak: Streak, on_error: OnError
) -> Flow[list[Failure]]:
    try:
        failures = yield from run(batch)
    except BadRequestError as error:
        streak.ends()  # a server that refuses is there
        if on_error == "raise":
            raise
        return (yield from _refused(batch, run, harmless, error))
    streak.ends()
    if failures and on_error == "raise":
        raise failures[0][1]
    return failures


def _refused(
    batch: Sequence[int], run: Run, harmless: Ask, error: BadRequestError
) -> Flow[list[Failure]]:
    """Which items of a refused batch are at fault."""
    if len(batch) == 1:
        return [(place, error) for place in batch]
    middle = len(batch) // 2
    halves = (batch[:middle], batch[middle:])
    outcomes = yield from Together([run(half) for half in halves], is_shared)
    if _same(outcomes) and _same([(yield from harmless()), *outcomes]):
        return [(place, error) for place in batch]
    failures: list[Failure] = []
    for half, outcome in zip(halves, outcomes, strict=True):
        if isinstance(outcome, BadRequestError):
            failures += yield from _refused(half, run, harmless, outcome)
        elif isinstance(outcome, VLLMModalitiesError):
            if is_shared(outcome):
                raise outcome
            failures += [(place, outcome) for place in half]
        else:
            failures += outcome
    return failures


def _once(harmless: Harmless) -> Ask:
    """What the server says to a harmless item: None, or an error; asked until it is one or other.

    If it is refused in the same words as both halves of a batch, then no item is at fault. Two
    over-long texts are refused in the same words too, so the halves alone prove nothing.
    """
    known: list[BadRequestError | None] = []

    def ask() -> Flow[VLLMModalitiesError | None]:
        if known:
            return known[0]
        (outcome,) = yield from Together([harmless()])
        error = outcome if isinstance(outcome, VLLMModalitiesError) else None
        if error is None or isinstance(error, BadRequestError):
            known.append(error)
        return error

    return ask


def _same(outcomes: Sequence[object]) -> bool:
    """Whether all were refused, in the same words."""
    said = {o.message if isinstance(o, BadRequestError) else None for o in outcomes}
    return len(said) == 1 and None not in said
