"""What a client costs before its first call: time to import it, memory, and room on the disk."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from importing import INSTALLED
from packaging.requirements import Requirement

TIMED = """
import time, re
start = time.process_time()
{statement}
took = time.process_time() - start
print(took, int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""
LIBRARIES = "import httpx, numpy; from pydantic import BaseModel"


@dataclass(frozen=True)
class Footprint:
    """Seconds of processor time, and MiB."""

    importing: float
    resident: float


def footprints(statements: Mapping[str, str], runs: int) -> dict[str, Footprint]:
    """Each statement in fresh interpreters, in turn; medians."""
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in statements}
    for run in range(runs + 1):
        for name, statement in statements.items():
            program = [sys.executable, "-c", TIMED.format(statement=statement)]
            done = subprocess.run(
                program, env=INSTALLED, capture_output=True, text=True, check=True
            )
            if run:  # the first compiles, and fills the file cache
                found[name].append(tuple(map(float, done.stdout.split()[-2:])))
    medians = {
        name: map(statistics.median, zip(*many, strict=True)) for name, many in found.items()
    }
    return {name: Footprint(*both) for name, both in medians.items()}


def installed(packages: Iterable[str]) -> float:
    """MiB of the packages and all that they need, without compiled Python."""
    seen: set[str] = set()
    waiting = list(packages)
    size = 0
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in seen:
            continue
        seen.add(name)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # it is needed elsewhere, such as on Windows
            continue
        size += sum(
            path.stat().st_size
            for file in found.files or ()
            if file.suffix != ".pyc" and (path := Path(str(found.locate_file(file)))).is_file()
        )
        for line in found.requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed.name)
    return size / 2**20
