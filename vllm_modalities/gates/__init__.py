"""What each vLLM release takes, drops or gets wrong: one table, and `admit`, which reads it.

`admit` is the only way from a request model to a wire body, so no endpoint can forget its gates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

from .._wire import RequestModel
from ..errors import Finding, InvalidRequestError, VLLMModalitiesWarning
from ..server import ServerInfo, ServerVersion
from ._gate import Action, Gate, Models, When
from .embeddings import EMBEDDING_GATES
from .media import MEDIA_GATES
from .ranking import RANKING_GATES
from .realtime import REALTIME_GATES
from .speech import SPEECH_GATES

Validation = Literal["error", "warn", "off"]

GATES: tuple[Gate, ...] = (
    *EMBEDDING_GATES,
    *RANKING_GATES,
    *SPEECH_GATES,
    *REALTIME_GATES,
    *MEDIA_GATES,
)


def examine(server: ServerInfo, request: RequestModel) -> list[Finding]:
    """What is wrong or doubtful about `request` on `server`, by the table and by the model."""
    profile = server.profile(request.model)
    found = [
        gate.finding(request, server.version)
        for gate in _in_force(type(request), server.version)
        if gate.concerns(request, profile)
    ]
    return found + list(request.limits(server))


@lru_cache(maxsize=256)
def _in_force(kind: type[RequestModel], version: ServerVersion | None) -> tuple[Gate, ...]:
    """The rows that judge requests of that class on that release."""
    judging = (Action.REFUSE, Action.DEFECT, Action.NOTE)
    return tuple(
        gate
        for gate in GATES
        if gate.action in judging and gate.judges(kind) and gate.affects(version)
    )


def admit(
    server: ServerInfo, request: RequestModel, validation: Validation = "error"
) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """The wire fields of `request` for `server`, and the warnings to hand on.

    Raises:
        InvalidRequestError: With `validation="error"`, if anything found is an error.
    """
    fields = request.fields_sent()
    unchecked = dict(request.extra_body or {})
    if validation == "off":
        return fields | unchecked, ()
    findings = examine(server, request)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors and validation == "error":
        raise InvalidRequestError(errors)
    findings = [
        replace(finding, warns=VLLMModalitiesWarning) if finding in errors else finding
        for finding in findings
    ]
    findings += [
        Finding(
            code="extra-body",
            severity="warning",
            field=name,
            message=f"{name!r} is passed on unchecked; a server that does not know it drops it",
        )
        for name in unchecked
    ]
    return fields | unchecked, tuple(findings)


@lru_cache(maxsize=256)
def repairs(code: str, version: ServerVersion | None) -> Gate | None:
    """The row of that code, if a server of that release needs its repair."""
    row = next(gate for gate in GATES if gate.code == code)
    return row if row.affects(version) else None


def differing(request: RequestModel, servers: Iterable[ServerInfo]) -> list[Finding]:
    """What makes the answers of `servers`, replicas of one model, not comparable."""
    versions = sorted({server.version for server in servers if server.version})
    if len(versions) < 2:
        return []
    runs = " and ".join(versions)
    return [
        gate.says(f"the replicas run {runs}: {gate.problem} ({gate.window}). {gate.cure}")
        for gate in GATES
        if gate.action is Action.DIFFERS
        and gate.judges(type(request))
        and len({gate.affects(version) for version in versions}) > 1
    ]


__all__ = [
    "GATES",
    "Action",
    "Gate",
    "Models",
    "Validation",
    "When",
    "admit",
    "differing",
    "examine",
    "repairs",
]
