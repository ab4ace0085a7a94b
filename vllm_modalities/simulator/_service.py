"""How long answers take: requests wait for one of a few places, and keep it for their time."""

from __future__ import annotations

import asyncio
import heapq
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """The time that a simulated server takes.

    Attributes:
        slots: Requests that are worked on at once; None is any number.
        seconds_per_request: For each request.
        seconds_per_token: For each token that is read (embeddings, ranking) or written (speech,
            pages), besides.
    """

    slots: int | None = None
    seconds_per_request: float = 0.0
    seconds_per_token: float = 0.0


class Service:
    """Holds answers back by their pace.

    Places follow a plan: one is free again when its time is over, not when a timer that is late
    has fired, so that what is served in an hour does not depend on the timers.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._free = [0.0] * (pace.slots or 0)

    def over(self, now: float, tokens: int) -> float:
        """When a request that comes `now` is done, in the seconds of the same clock."""
        takes = self._pace.seconds_per_request + tokens * self._pace.seconds_per_token
        if not self._free:
            return now + takes
        end = max(now, self._free[0]) + takes
        heapq.heapreplace(self._free, end)
        return end

    async def hold(self, tokens: int) -> None:
        """Wait for a place, and then for the time that the tokens take."""
        if self._pace.seconds_per_request or self._pace.seconds_per_token:
            end = self.over(time.monotonic(), tokens)
            await asyncio.sleep(max(0.0, end - time.monotonic()))
