"""Whose turn it is to send: a place of the client's, and one at the server, as many as it bears."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ._retry import is_overload
from .errors import VLLMModalitiesError


class _Event(Protocol):
    def set(self) -> Any: ...


E = TypeVar("E", bound=_Event)


class Window:
    """How many requests one server is sent at a time: as many as there are, until it has too many.

    Then half of those that were in flight, and one more for each windowful of answers, as TCP
    does. A server that only takes longer, since more is asked of it, keeps its window.
    """

    def __init__(self) -> None:
        self.limit = math.inf
        self.in_flight = 0
        self._cuts = 0
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        return self.in_flight + 1 > self.limit

    @contextmanager
    def judging(self) -> Iterator[None]:
        """Learn from what comes of one request, which is in flight."""
        cuts = self._cuts
        try:
            yield
        except VLLMModalitiesError as error:
            with self._lock:
                # Requests that fail together are one failure.
                if is_overload(error) and self._cuts == cuts:
                    self._cuts += 1
                    self.limit = max(min(self.limit, self.in_flight) / 2, 1.0)
            raise
        with self._lock:
            self.limit += 1 / self.limit


@dataclass(eq=False, slots=True)
class Turn(Generic[E]):
    """A request that is in flight once it `has_place`; `ready` tells it so if it has to wait."""

    window: Window
    ready: E | None = None
    has_place: bool = False


class Places(Generic[E]):
    """The client's places: who comes first goes first, past those whose server's window is full.

    Args:
        most: Requests in flight at most, over all servers.
        event: Makes what a waiting request waits for.
    """

    def __init__(self, most: int, event: Callable[[], E]) -> None:
        self._free, self._event = most, event
        self._waiting: deque[Turn[E]] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, window: Window | None) -> Iterator[Turn[E]]:
        """Stand in line, and leave the line or give the place back in the end."""
        turn: Turn[E] = Turn(window or Window())
        with self._lock:
            self._waiting.append(turn)
            self._admit()
            if not turn.has_place:
                turn.ready = self._event()
        try:
            yield turn
        finally:
            with self._lock:
                if turn.has_place:
                    self._free += 1
                    turn.window.in_flight -= 1
                else:
                    self._waiting.remove(turn)
                self._admit()

    def _admit(self) -> None:
        """Give the free places away."""
        while self._free:
            turn = next((turn for turn in self._waiting if not turn.window.is_full), None)
            if turn is None:
                return
            self._waiting.remove(turn)
            self._free -= 1
            turn.window.in_flight += 1
            turn.has_place = True
            if turn.ready is not None:
                turn.ready.set()
