"""Where the processor time of one call goes, by what the code is for: `python benchmarks/where.py`.

Sizes that go out as one request, since cProfile sees one thread. It adds to every function's own
time, and so to Python's share: the shares show what there is to save, not what it would save.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from collections import defaultdict

from workers import server

from vllm_modalities import Client

CALLS, ROUNDS = 400, 5
SIZES = ((1, 384), (32, 1024), (128, 1024))
WAITING = "method 'poll'"
PARTS = {
    "sockets: system calls": ("method 'send'", "method 'recv", "method 'connect'"),
    "HTTP: head, chunks, pool": ("_transport", "httptools", "/h11/"),
    "retries and deadlines": ("tenacity", "_retry", "_exchange", "_places", "threading"),
    "which server, which rules": ("/gates/", "_routing", "_fleet", "server.py", "_sizes", "packag"),
    "request and answer checked": ("pydantic", "_wire", "_content", "_rows", "decode", "_pooling"),
    "numpy": ("numpy",),
}
REST = "the rest: flows, options, results"


def part_of(file: str, name: str) -> str:
    at = f"{file} {name}"
    return next((part for part, marks in PARTS.items() if any(m in at for m in marks)), REST)


def shares(client: Client, texts: list[str]) -> tuple[float, dict[str, float]]:
    """Seconds of one call, the least of some rounds; and how they are shared out, by a profile."""
    calls = max(10, CALLS // len(texts))
    for _ in range(20):
        client.embed(texts)
    least = min(_seconds(client, texts, calls) for _ in range(ROUNDS))
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(calls):
        client.embed(texts)
    profile.disable()
    found: dict[str, float] = defaultdict(float)
    for (file, _, name), (_, _, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if WAITING not in name:
            found[part_of(file, name)] += own
    whole = sum(found.values())
    return least, {part: own / whole for part, own in found.items()}


def _seconds(client: Client, texts: list[str], calls: int) -> float:
    began = time.process_time()
    for _ in range(calls):
        client.embed(texts)
    return (time.process_time() - began) / calls


def table() -> list[str]:
    """Markdown: a row a part, a column a size."""
    found = {}
    with server() as url:
        for count, width in SIZES:
            with Client(url, model=f"canned-{width}", transport="bytes") as client:
                found[f"{count}×{width}"] = shares(client, ["a text of some words"] * count)
    lines = ["| | " + " | ".join(found) + " |", f"|---|{'---|' * len(found)}"]
    lines += [f"| a call, ms | {' | '.join(f'{s * 1000:.2f}' for s, _ in found.values())} |"]
    for part in (*PARTS, REST):
        cells = (f"{by[part]:.0%}" if part in by else "" for _, by in found.values())
        lines.append(f"| {part} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
