"""What `import vllm_modalities` costs beside the libraries that any such client needs."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass

TIMED = """
import time
wall, processor = time.perf_counter(), time.process_time()
{statement}
print(time.perf_counter() - wall, time.process_time() - processor)
"""
STATEMENTS = {
    "libraries": "import httpx, numpy; from pydantic import BaseModel",
    "package": "import vllm_modalities",
    "client": "from vllm_modalities import Client",
}
CLOCKS = ("wall", "processor")
INSTALLED = {
    **os.environ,
    "OPENBLAS_NUM_THREADS": "1",  # numpy's threads spin while they start
    "PYTHONDONTWRITEBYTECODE": "",  # what is installed is compiled, and so may this tree be
}
ALLOWED = 1.3  # times the libraries alone


@dataclass(frozen=True)
class Taken:
    """What one statement took in a fresh interpreter, in seconds."""

    wall: float
    processor: float


def taken(statement: str) -> Taken:
    """Run one statement in a fresh interpreter."""
    ran = subprocess.run(
        [sys.executable, "-c", TIMED.format(statement=statement)],
        env=INSTALLED,
        capture_output=True,
        check=True,
        text=True,
    )
    return Taken(*map(float, ran.stdout.split()))


def measured(runs: int) -> dict[str, list[Taken]]:
    """Every statement in turn, `runs` times over; what slows the machine down slows both."""
    for statement in STATEMENTS.values():
        taken(statement)  # compiles, and fills the file cache
    found: dict[str, list[Taken]] = {name: [] for name in STATEMENTS}
    for _ in range(runs):
        for name, statement in STATEMENTS.items():
            found[name].append(taken(statement))
    return found


def ratio(found: dict[str, list[Taken]], name: str, clock: str) -> float:
    """Median of a statement over median of the libraries, by that clock."""
    own, libraries = (
        statistics.median(getattr(one, clock) for one in found[which])
        for which in (name, "libraries")
    )
    return float(own / libraries)


def main() -> None:
    """Print medians, ratios and spread; exit status 1 if the package takes longer than is allowed.

    The ratio of processor times decides: it does not depend on what else the machine does.
    """
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=15)
    arguments.add_argument("--json", action="store_true", help="for machines")
    given = arguments.parse_args()
    found = measured(given.runs)
    ratios = {name: {clock: ratio(found, name, clock) for clock in CLOCKS} for name in found}
    if given.json:
        seconds = {name: [asdict(one) for one in many] for name, many in found.items()}
        print(json.dumps({"seconds": seconds, "ratio": ratios, "load": os.getloadavg()[0]}))
    else:
        print(
            f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}, {given.runs} runs"
        )
        for clock in CLOCKS:
            for name, many in found.items():
                low, *_, high = times = sorted(getattr(one, clock) * 1000 for one in many)
                middle = statistics.median(times)
                spread = f"({low:.0f} to {high:.0f} ms)"
                print(f"{clock:10} {name:10} {middle:5.0f} ms {ratios[name][clock]:6.2f}  {spread}")
    sys.exit(ratios["package"]["processor"] > ALLOWED)


if __name__ == "__main__":
    main()
