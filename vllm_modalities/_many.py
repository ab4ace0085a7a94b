"""Many items in one call: batches side by side, and the one bad item found by bisection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol, TypeVar

from ._flow import Flow, Together
from .errors import (
    APIConnectionError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    InvalidRequestError,
    NotFoundError,
    PartialFailureError,
    UnsupportedTaskError,
    VLLMModalitiesError,
)

OnError = Literal["collect", "raise", "return"]
Failure = tuple[int, VLLMModalitiesError]
# Does the items at these positions, and gives those that failed by themselves.
Run = Callable[[Sequence[int]], Flow[list[Failure]]]
Harmless = Callable[[], Flow[None]]


class _Many(Protocol):
    def __len__(self) -> int: ...


R = TypeVar("R", bound=_Many)


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
    stop: Callable[[VLLMModalitiesError], bool] = is_shared
    if on_error == "raise":
        stop = bool  # any error
    outcomes = yield from Together([_batch(batch, run, harmless, on_error) for batch in work], stop)
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
    first, count = failures[0][1], len(results) if count is None else count
    words = {str(error) for _, error in failures}
    if len(failures) == count and len(words) == 1:
        raise first
    if on_error == "return":
        return results
    raise PartialFailureError(results, failures, count=count)


def _batch(
    batch: Sequence[int], run: Run, harmless: Harmless, on_error: OnError
) -> Flow[list[Failure]]:
    try:
        failures = yield from run(batch)
    except VLLMModalitiesError as error:
        if is_shared(error) or on_error == "raise":
            raise
        return (yield from _refused(batch, run, harmless, error))
    if failures and on_error == "raise":
        raise failures[0][1]
    return failures


def _refused(
    batch: Sequence[int], run: Run, harmless: Harmless, error: VLLMModalitiesError
) -> Flow[list[Failure]]:
    """Which items of a failed batch are at fault; only what the server refused is looked into."""
    if len(batch) == 1 or not isinstance(error, BadRequestError):
        return [(place, error) for place in batch]
    middle = len(batch) // 2
    halves = (batch[:middle], batch[middle:])
    outcomes = yield from Together([run(half) for half in halves], is_shared)
    if _same(outcomes) and (yield from _refuses_all(harmless, outcomes)):
        return [(place, error) for place in batch]
    failures: list[Failure] = []
    for half, outcome in zip(halves, outcomes, strict=True):
        if isinstance(outcome, VLLMModalitiesError):
            if is_shared(outcome):
                raise outcome
            failures += yield from _refused(half, run, harmless, outcome)
        else:
            failures += outcome
    return failures


def _refuses_all(harmless: Harmless, outcomes: Sequence[object]) -> Flow[bool]:
    """Whether a harmless item is refused in the same words as both halves.

    Then no item is at fault. Two over-long texts are refused in the same words too, so the halves
    alone prove nothing.
    """
    try:
        yield from harmless()
    except BadRequestError as error:
        return _same([error, *outcomes])
    return False


def _same(outcomes: Sequence[object]) -> bool:
    """Whether all were refused, in the same words."""
    said = {o.message if isinstance(o, BadRequestError) else None for o in outcomes}
    return len(said) == 1 and None not in said
