"""Measures everything, and writes docs/performance.md and its plot: `nox -s bench`."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import validating
import where
from footprint import LIBRARIES, footprints, installed
from plot import bars
from targets import met
from ways import WAYS, Baseten, Httpx, LiteLLM, OpenAI, Ours, Raw
from workers import Cost, interleaved, memory, server

DOCS = Path(__file__).parent.parent / "docs"
COUNTS, WIDTHS = (1, 32, 256, 2048), (384, 1024, 4096)
SLOW = ("cohere", "huggingface_hub", "litellm", "langchain-openai")  # many seconds a call
BULK = [n for n in WAYS if issubclass(WAYS[n], Raw | Ours | OpenAI | LiteLLM | Baseten | Httpx)]
FLIGHT = ["raw limit", "httpx, raw bytes", *(name for name in WAYS if name.startswith("ours"))]
IN_FLIGHT = (8, 64, 256)
ALONE = "ours, nothing used yet"
REMEMBERED = ((256, 1024), (2048, 1024), (2048, 4096))
Table = dict[str, dict[str, Cost]]


def sizes(url: str, rounds: int, counts: Iterable[int], widths: Iterable[int]) -> Table:
    """What one call costs, by size and client."""
    found: Table = {}
    for width in widths:
        for count in counts:
            cell = f"{count}×{width}"
            say(f"{cell} {os.getloadavg()[0]:.1f}")
            names = [name for name in WAYS if quick(name, count, width)]
            found |= interleaved(names, url, width, rounds, {cell: ("call", count)})
    return found


def quick(name: str, count: int, width: int) -> bool:
    """Whether a call of that size takes no more than some seconds."""
    return count * width < 4_000_000 or name not in SLOW


def flights(url: str, rounds: int) -> Table:
    """What one request costs with so many in flight."""
    say("in flight")
    requests = 2048  # so that what threads and connections take to begin is a small part
    works = {str(many): ("bulk", requests, 1, many) for many in IN_FLIGHT}
    found = interleaved(FLIGHT, url, 1024, rounds, works)
    return {
        many: {
            name: Cost(cost.cpu / requests, cost.wall / requests, cost.memory)
            for name, cost in costs.items()
        }
        for many, costs in found.items()
    }


def bulks(url: str, rounds: int) -> Table:
    """8,192 texts in batches of 32, 32 in flight."""
    say("bulk")
    return interleaved(BULK, url, 1024, rounds, {"bulk": ("bulk", 8192, 32, 32)})


def say(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {words}", flush=True)


def rows(table: Table, of: str, reference: str | None) -> list[str]:
    """Markdown: a row a client, a column a size; multiples of `reference`, whose row is in ms."""
    lines = [f"| | {' | '.join(table)} |", f"|---|{'---|' * len(table)}"]
    names = dict.fromkeys(name for costs in table.values() for name in costs)
    if reference:
        shown = (f"{getattr(costs[reference], of) * 1000:.3g} ms" for costs in table.values())
        lines.append(f"| {reference} | {' | '.join(shown)} |")
    for name in names:
        if name != reference:
            cells = [cell(costs, name, of, reference) for costs in table.values()]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def cell(costs: Mapping[str, Cost], name: str, of: str, reference: str | None) -> str:
    if name not in costs:
        return ""
    value = getattr(costs[name], of)
    return f"{value / getattr(costs[reference], of):.3g}" if reference else f"{value * 1000:.3g}"


def memories(url: str) -> list[str]:
    """Markdown: MiB that calls in a row take at most."""
    say("memory")
    lines = ["| | " + " | ".join(f"{n}×{w}" for n, w in REMEMBERED) + " |"]
    lines += [f"|---|{'---|' * len(REMEMBERED)}"]
    result = (f"{n * w * 4 / 2**20:.0f}" for n, w in REMEMBERED)
    lines.append(f"| the array itself | {' | '.join(result)} |")
    for name in WAYS:
        shown = (
            f"{memory(name, url, width, count):.0f}" if quick(name, count, width) else ""
            for count, width in REMEMBERED
        )
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return lines


def footing(runs: int) -> tuple[list[str], tuple[float, float]]:
    """Markdown: importing and room; and the ratios of our import, alone and with the client."""
    say("importing")
    named = {name: way for name, way in WAYS.items() if "," not in name or name[:5] == "httpx"}
    statements = {"the libraries": LIBRARIES, **{n: w.importing for n, w in named.items()}}
    statements[ALONE] = "import vllm_modalities"
    found = footprints(statements, runs)
    base = found["the libraries"].importing
    packages = {name: way.packages for name, way in named.items()}
    packages |= {"the libraries": ("httpx", "numpy", "pydantic"), ALONE: packages["ours"]}
    lines = ["| | import, ms of CPU | ratio | resident, MiB | installed, MiB |"]
    lines += ["|---|---|---|---|---|"]
    for name, one in found.items():
        figures = f"{one.importing * 1000:.0f} | {one.importing / base:.2f} | {one.resident:.0f}"
        lines.append(f"| {name} | {figures} | {installed(packages[name]):.0f} |")
    return lines, (found[ALONE].importing / base, found["ours"].importing / base)


def machine() -> str:
    model = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores"
        f" ({model[1] if model else platform.machine()}), {gib:.0f} GiB, no GPU,"
        f" Python {platform.python_version()}, {platform.system()}"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--real", action="store_true", help="also a real vLLM server")
    given = arguments.parse_args()
    began = os.getloadavg()
    with server() as url:
        calls = sizes(url, given.rounds, COUNTS, WIDTHS)
        flying, bulk = flights(url, given.rounds), bulks(url, given.rounds)
        remembered = memories(url)
    footed, imported = footing(given.rounds)
    real: list[str] = []
    if given.real:
        import real_server

        real = real_server.measured(given.rounds)
    load = f"load {began[0]:.1f} at the start, {os.getloadavg()[0]:.1f} at the end"
    values = {name: cost.cpu * 1000 for name, cost in calls["2048×1024"].items()}
    plot = bars("Milliseconds of processor time: 2,048 texts to 2,048 × 1,024 float32", values)
    (DOCS / "_static" / "performance.svg").write_text(plot)
    page = (Path(__file__).parent / "page.md").read_text()
    filled = {
        "machine": f"{machine()}; {given.rounds} rounds; {load}",
        "cpu": "\n".join(rows(calls, "cpu", "raw limit")),
        "wall": "\n".join(rows(calls, "wall", "raw limit")),
        "memory": "\n".join(remembered),
        "flight": "\n".join(rows(flying, "cpu", None)),
        "bulk": "\n".join(rows(bulk, "cpu", None)),
        "import": "\n".join(footed),
        "real": "\n".join(real) or "Not measured in this run.",
        "targets": "\n".join(met(calls, flying, bulk["bulk"], imported)),
        "validating": "\n".join(validating.table()),
        "where": "\n".join(where.table()),
    }
    for name, text in filled.items():
        page = page.replace(f"{{{name}}}", text)
    (DOCS / "performance.md").write_text(page)
    say("docs/performance.md is written")


if __name__ == "__main__":
    main()
