"""Faults on demand: what goes wrong, where, and how often."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from ._reply import JSON, Reply, dumps

Kind = Literal["delay", "status", "reset", "cut", "error", "nan", "loop"]
STATUSES: Mapping[int, tuple[str, str]] = {
    429: ("TooManyRequests", "too many requests (simulated)"),
    503: ("Service Unavailable", "the engine is busy (simulated)"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        kind: `"delay"` answers late; `"status"` answers with an error; `"reset"` breaks the
            connection off before the answer, `"cut"` within it; `"error"` puts an error body into
            a 200; `"nan"` makes vectors and scores NaN; `"loop"` makes a model say the same again
            and again until it has no tokens left.
        path: Requests to this path alone; None is any but those that ask who the server is.
        times: How often; None is always.
        probability: Of each request.
        seconds: Of a delay.
        status: Of an error.
        retry_after: Seconds, sent as `Retry-After` with an error; None sends none.
    """

    kind: Kind
    path: str | None = None
    times: int | None = 1
    probability: float = 1.0
    seconds: float = 1.0
    status: int = 503
    retry_after: float | None = None

    def __post_init__(self) -> None:
        """Refuse what would never come about."""
        if self.kind not in get_args(Kind):
            raise ValueError(f"no fault {self.kind!r}: there are {', '.join(get_args(Kind))}")
        if not 0 <= self.probability <= 1:
            raise ValueError(f"probability={self.probability} is not between 0 and 1")

    @classmethod
    def parse(cls, text: str) -> Fault:
        """`"503 retry_after=2 times=3 path=/v1/rerank"`; without `times` it lasts.

        Raises:
            ValueError: There is no such fault or no such option.
        """
        kind, *options = text.split()
        read = {"path": str, "times": int, "probability": float, "seconds": float}
        given: dict[str, object] = {"times": None}
        for option in options:
            name, _, value = option.partition("=")
            reader = (read | {"retry_after": float}).get(name)
            if reader is None:
                raise ValueError(f"a fault has no option {name!r}: {text!r}")
            given[name] = reader(value)
        if kind.isdigit():
            return cls("status", status=int(kind), **given)  # type: ignore[arg-type]
        return cls(kind, **given)  # type: ignore[arg-type]


def failed(fault: Fault) -> Reply | None:
    """The answer that stands in place of the server's own, where a fault has one."""
    if fault.kind not in ("status", "error"):
        return None
    kind, message = STATUSES.get(fault.status, ("Error", f"status {fault.status} (simulated)"))
    error = {"message": message, "type": kind, "param": None, "code": fault.status}
    after = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
    status = 200 if fault.kind == "error" else fault.status
    return Reply(status, JSON | after, dumps({"error": error}))


ASKING = frozenset({"/version", "/v1/models", "/openapi.json", "/health", "/metrics"})


@dataclass(slots=True)
class Faults:
    """Those that are to come, in the order in which they were asked for; safe between threads."""

    seed: int = 0
    _waiting: list[Fault] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """The same seed draws the same faults."""
        self._random = random.Random(self.seed)  # noqa: S311 - nothing secret

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._waiting.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._waiting.clear()

    def next(self, path: str) -> Fault | None:
        """The fault that a request to `path` meets, if any; it is used up by that."""
        if not self._waiting:
            return None
        with self._lock:
            for place, fault in enumerate(self._waiting):
                meant = path not in ASKING if fault.path is None else path == fault.path
                if meant and self._random.random() < fault.probability:
                    self._use(place, fault)
                    return fault
        return None

    def _use(self, place: int, fault: Fault) -> None:
        if fault.times == 1:
            del self._waiting[place]
        elif fault.times is not None:
            self._waiting[place] = replace(fault, times=fault.times - 1)
