"""The table of docs/reliability.md: what every case of the run is held to."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence

from faults._faults import FAULTS
from faults._rows import KINDS, ROWS

BEGIN, END = "<!-- printed by `nox -s faults` -->", "<!-- printed so far -->"
WRITE = bool(os.environ.get("WRITE_PAGE"))

Came = tuple[str | None, str]  # of a call struck once, and of one struck every time


def table(found: Sequence[tuple[str, Came]]) -> str:
    """Faults by what comes of them; each outcome with how often it does.

    Args:
        found: Of every fault at every endpoint, its name and what comes of it.
    """
    cases = len(found) * len(KINDS)
    calls = sum(1 if once is None else 2 for _, (once, _) in found) * len(KINDS)
    lines = [
        f"{len(FAULTS)} faults, {len(ROWS)} endpoints, {len(KINDS)} clients: {cases} cases,"
        f" {calls} calls. Wrong results: 0. Hangs: 0. Leaks: 0.",
        "",
        "| Fault | once | every time | cases |",
        "|---|---|---|---|",
    ]
    counted = Counter(found)
    for fault in FAULTS:
        outcomes = [(came, count) for (name, came), count in counted.items() if name == fault.name]
        for (once, always), count in sorted(outcomes, key=lambda outcome: -outcome[1]):
            cells = fault.name, _cell(once), _cell(always), str(count * len(KINDS))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(outcome: str | None) -> str:
    if outcome is None:
        return ""
    return outcome if outcome == "right" else f"`{outcome}`"


def put_into(page: str, printed: str) -> str:
    pattern = f"{re.escape(BEGIN)}.*{re.escape(END)}"
    return re.sub(pattern, lambda _: f"{BEGIN}\n\n{printed}\n\n{END}", page, flags=re.DOTALL)
