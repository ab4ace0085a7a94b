"""Prints docs/versions.md from the table of gates."""

from __future__ import annotations

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
"""
BASES = {
    "PoolingFields": "all pooling requests",
    "ChatFields": "`EmbeddingRequest`, `PoolingRequest`, `ClassifyRequest`",
}
UNITS = {"size": "bytes", "duration": "seconds", "pixels": "pixels", "longest": "characters"}

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
    parts = [HEAD]
    for action, title in TITLES.items():
        rows = [gate for gate in GATES if gate.action is action]
        parts += [title, "", "| releases | request | what | problem | cure | source |"]
        parts += ["| --- | --- | --- | --- | --- | --- |", *map(_row, rows), ""]
    return "\n".join(parts)


def _row(gate: Gate) -> str:
    unit = UNITS.get(gate.reads or "")
    what = " ".join(filter(None, (f"`{gate.field}`", unit, gate.when.words)))
    if gate.models is not ALL:
        what += f", of {gate.models.words}"
    requests = ", ".join(BASES.get(name, f"`{name}`") for name in gate.requests)
    cells = (gate.window, requests, what, gate.problem, gate.cure, gate.source)
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return text.replace("{value}", "N").replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
