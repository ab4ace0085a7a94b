"""`Gate`: one row of the table: on which releases, which requests, and what is done."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._wire import RequestModel
from ..errors import Finding, ServerDefectWarning
from ..profiles import Profile
from ..server import ServerVersion


class Action(enum.Enum):
    """What happens to a request that a gate concerns."""

    REFUSE = "refused before it is sent"
    DEFECT = "sent, with a ServerDefectWarning"
    NOTE = "sent, with a line in `.warnings`"
    REPAIR = "sent; the answer is repaired, with a line in `.warnings`"
    DIFFERS = "a line in `.warnings` where replicas stand on both sides"


@dataclass(frozen=True, slots=True)
class When:
    """Which values of a field a gate is about, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]


SENT = When("given", lambda value: value is not None)
ANY = When("", lambda _: True)
ABSENT = When("left out", lambda value: value is None)


def that(words: str) -> When:
    """A property of the request that is true or not."""
    return When(words, bool)


def below(number: float) -> When:
    return When(f"below {number:g}", lambda value: value is not None and value < number)


def above(number: float) -> When:
    return When(f"above {number:,}", lambda value: value is not None and value > number)


def one_of(*values: Any) -> When:
    return When(" or ".join(map(repr, values)), lambda value: value in values)


def longer_than(count: int) -> When:
    return When(f"longer than {count}", lambda value: value is not None and len(value) > count)


def containing(characters: str) -> When:
    words = f"with one of {' '.join(repr(c) for c in characters)}"
    return When(words, lambda value: value is not None and not set(characters).isdisjoint(value))


@dataclass(frozen=True, slots=True)
class Models:
    """Which models a gate is about, in words and as a test of their profile."""

    words: str
    holds: Callable[[Profile], bool]


ALL = Models("every model", lambda _: True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """On releases in [since, until), `action` applies to requests that use `field` so.

    Attributes:
        code: Stable name.
        requests: Names of the request models it concerns; one that others are made from stands
            for all of them.
        field: The field, in the server's spelling.
        reads: The property of the request model that is looked at, where it is not the field.
        when: The values it concerns.
        models: The models it concerns.
        since, until: vLLM releases; None is open.
        action: What is done.
        problem: What the server does with it; `{value}` stands for what was read.
        cure: What to do instead.
        source: Where that is read; where it is seen stands in `seen.json`.
    """

    code: str
    requests: tuple[str, ...]
    field: str
    reads: str | None = None
    when: When = SENT
    models: Models = ALL
    since: str | None = None
    until: str | None = None
    action: Action
    problem: str
    cure: str
    source: str

    @property
    def window(self) -> str:
        """The releases, in words."""
        if self.since is None:
            return "in every release" if self.until is None else f"before {self.until}"
        before = "" if self.until is None else f" to before {self.until}"
        return f"from {self.since}{before}"

    def judges(self, kind: type[RequestModel]) -> bool:
        """Whether it is about requests of that class, or of a class that it is made from."""
        return any(base.__name__ in self.requests for base in kind.__mro__)

    def affects(self, version: ServerVersion | None) -> bool:
        """Whether the release lies in the window; of an unknown one only an open window is sure."""
        if version is None:
            return self.since is None and self.until is None
        started = self.since is None or version >= self.since
        return started and (self.until is None or version < self.until)

    def concerns(self, request: RequestModel, profile: Profile) -> bool:
        """Whether a request, of a class that it judges, uses the field as the gate is about."""
        return self.models.holds(profile) and self.when.holds(
            value_of(request, self.reads or self.field)
        )

    def finding(self, request: RequestModel, version: ServerVersion | None) -> Finding:
        """What is said of `request`."""
        value = value_of(request, self.reads or self.field)
        shown = f"{value:,}" if isinstance(value, int | float) else str(value)[:40]
        problem = self.problem.replace("{value}", shown)
        if self.reads is not None:
            problem = f"{self.field}: {problem}"
        elif value is not None:
            given = value if isinstance(value, int | float) else repr(str(value)[:40])
            problem = f"{self.field}={given}: {problem}"
        runs = f"; this server runs {version}" if version and (self.since or self.until) else ""
        return self.says(f"{problem} ({self.window}{runs}). {self.cure}")

    def says(self, message: str) -> Finding:
        """A finding of this row, in these words."""
        return Finding(
            code=self.code,
            severity="error" if self.action is Action.REFUSE else "warning",
            field=self.field,
            message=message,
            since=self.since,
            until=self.until,
            source=self.source,
            warns=ServerDefectWarning if self.action is Action.DEFECT else None,
        )


def value_of(request: RequestModel, field: str) -> Any:
    """A field or property of a request, or what `extra_body` gives by that name."""
    value = getattr(request, field, None)
    if value is None and request.extra_body:
        return request.extra_body.get(field)
    return value
