"""Prints docs/versions.md from the table of gates."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

from ..server import ServerVersion
from . import GATES, Action, Gate
from ._gate import ALL

HEAD = """\
# What each vLLM release takes

<!-- Printed from the table: python -m vllm_modalities.gates._print > docs/versions.md -->

A vLLM server drops request fields that it is too old to know, without a word, and some releases
give wrong results with status 200. The client asks each server for its release and holds every
request against this table before it is sent.

A release counts by its number: pre-releases, dev builds and local builds of 0.32.0 are 0.32.0. A
server that does not tell its release is refused nothing but what every release refuses, with one
warning; `Client(server_version="0.32.0")` says it instead. `validation="warn"` turns refusals into
warnings; `validation="off"` checks nothing and makes no probe.

Each row ends with its source, and with the releases on which it was put to a real server and seen
to hold, or not to hold ([all answers](matrix.md)).
"""
# By row, the releases on which a real server was asked, oldest first.
SEEN = Path(__file__).parent / "seen.json"
BASES = {
    "PoolingFields": "all pooling requests",
    "ChatFields": "`EmbeddingRequest`, `PoolingRequest`, `ClassifyRequest`",
}
UNITS = {
    "size": "bytes",
    "duration": "seconds",
    "pixels": "pixels",
    "longest": "characters",
    "lowest_id": "token ids",
}

TITLES = {
    Action.REFUSE: "## Refused before it is sent",
    Action.DEFECT: "## Wrong results\n\nSent, with a `ServerDefectWarning` and a line in"
    " `.warnings`.",
    Action.REPAIR: "## Repaired\n\nThe answer is put right, with a line in `.warnings`.",
    Action.NOTE: "## Noted\n\nSent, with a line in `.warnings`.",
    Action.DIFFERS: "## Not comparable\n\nA line in `.warnings` where replicas of one model run"
    " releases on both sides.",
}


def page() -> str:
    """The whole page, in Markdown."""
    asked = json.loads(SEEN.read_text("utf-8"))
    parts = [HEAD]
    for action, title in TITLES.items():
        rows = [gate for gate in GATES if gate.action is action]
        parts += [title, "", "| releases | request | what | problem | cure | source |"]
        parts += [
            "| --- | --- | --- | --- | --- | --- |",
            *(_row(row, asked.get(row.code, [])) for row in rows),
        ]
        parts += [""]
    return "\n".join(parts)


def _row(gate: Gate, asked: list[str]) -> str:
    unit = UNITS.get(gate.reads or "")
    what = " ".join(filter(None, (f"`{gate.field}`", unit, gate.when.words)))
    if gate.models is not ALL:
        what += f", of {gate.models.words}"
    requests = ", ".join(BASES.get(name, f"`{name}`") for name in gate.requests)
    source = f"{gate.source}; {_evidence(gate, asked)}"
    cells = (gate.window, requests, what, gate.problem, gate.cure, source)
    return f"| {' | '.join(map(_cell, cells))} |"


def _evidence(gate: Gate, asked: list[str]) -> str:
    """On which of the releases that were asked the row was seen to hold, and on which not."""
    spans: dict[bool, list[str]] = {True: [], False: []}
    for within, run in groupby(map(ServerVersion, asked), gate.affects):
        first, *_, last = [*run] * 2
        spans[within].append(first if first == last else f"{first} to {last}")
    holds, fails = (" and ".join(spans[each]) for each in (True, False))
    if not holds:
        return f"read in source; seen not to hold on {fails}" if fails else "read in source"
    return f"seen on {holds}" + (f", not on {fails}" if fails else "")


def _cell(text: str) -> str:
    return text.replace("{value}", "N").replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
