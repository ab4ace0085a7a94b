"""What examining servers found: `Check`, `Examined`, `Report`, and each of them as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import Finding
from ..server import ServerInfo

Status = Literal["ok", "fault", "doubt", "left out"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried on a server.

    Attributes:
        name: What was tried.
        status: `"ok"`, `"fault"`, `"doubt"` (worth a look) or `"left out"`.
        evidence: What the server answered, in numbers where there are any.
        cure: What to do about it; "" where nothing is to be done.
    """

    name: str
    status: Status
    evidence: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Examined:
    """One server, examined.

    Attributes:
        server: Who it is.
        model: The model that was examined; None if it serves none that is known.
        family: The name of the model's profile.
        gates: What its release gets wrong, drops or refuses for such a model.
        checks: What was tried.
        announced: Requests that were said to be sent at most, beside asking who it is.
        sent: Requests that were sent.
    """

    server: ServerInfo
    model: str | None
    family: str
    gates: tuple[Finding, ...]
    checks: tuple[Check, ...]
    announced: int
    sent: int

    @property
    def faults(self) -> tuple[Check, ...]:
        """What is wrong."""
        return tuple(check for check in self.checks if check.status == "fault")


@dataclass(frozen=True, slots=True)
class Report:
    """Every server, examined."""

    servers: tuple[Examined, ...]

    def __iter__(self) -> Iterator[Examined]:
        return iter(self.servers)

    def __len__(self) -> int:
        return len(self.servers)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    @property
    def faults(self) -> tuple[Check, ...]:
        """What is wrong, over all servers."""
        return tuple(fault for one in self.servers for fault in one.faults)

    def to_dict(self) -> dict[str, Any]:
        """The whole, for JSON."""
        return {"ok": self.ok, "servers": [_as_dict(one) for one in self.servers]}

    def to_markdown(self) -> str:
        """A memo to keep with the service."""
        verdict = "nothing wrong" if self.ok else f"{len(self.faults)} faults"
        parts = [f"# Servers examined: {verdict}", ""]
        for one in self.servers:
            parts += _memo(one)
        return "\n".join(parts)


def _as_dict(one: Examined) -> dict[str, Any]:
    return {
        "url": one.server.url,
        "version": one.server.version,
        "model": one.model,
        "family": one.family,
        "tasks": sorted(one.server.tasks),
        "requests": {"announced": one.announced, "sent": one.sent},
        "checks": [
            {"name": c.name, "status": c.status, "evidence": c.evidence, "cure": c.cure}
            for c in one.checks
        ],
        "gates": [
            {"code": gate.code, "severity": gate.severity, "message": gate.message}
            for gate in one.gates
        ],
    }


def _memo(one: Examined) -> list[str]:
    does = ", ".join(sorted(one.server.tasks)) or "unknown"
    lines = [
        f"## {one.server.url}",
        "",
        f"- vLLM {one.server.version or 'of an unknown release'}, model {one.model}"
        f" ({one.family}), does {does}",
        f"- {one.sent} requests sent, of {one.announced} announced",
        "",
        "| check | outcome | evidence | cure |",
        "| --- | --- | --- | --- |",
        *(
            f"| {' | '.join(map(_cell, (c.name, c.status, c.evidence, c.cure)))} |"
            for c in one.checks
        ),
        "",
    ]
    if one.gates:
        lines += ["What the client does about this release:", ""]
        lines += [f"- {_cell(gate.message)}" for gate in one.gates]
        lines += [""]
    return lines


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
