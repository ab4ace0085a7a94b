"""Five hundred odd and damaged recordings: each gives a transcript or a `MediaError`.

`PYTHONPATH=tests python benchmarks/odd_sounds.py [--count 500]` prints how many were which, the
slowest of them, and the memory at most. Anything else than those two outcomes ends it.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from pathlib import Path

from _script import BLOCKING, Talker
from _sounds import KINDS, made
from _words import Hearing

from vllm_modalities import MediaError, PartialFailureError


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=500)
    count = arguments.parse_args().count
    outcomes: Counter[str] = Counter()
    slowest = (0.0, "")
    for seed, kind in zip(range(count), itertools.cycle(KINDS), strict=False):
        source, began = made(kind, seed), time.perf_counter()
        try:
            Talker(BLOCKING, Hearing()).transcribe(source, language="en", on_error="return")
            outcomes["heard"] += 1
        except (MediaError, PartialFailureError):
            outcomes["named as damaged"] += 1
        slowest = max(slowest, (time.perf_counter() - began, f"{kind}, seed {seed}"))
    peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    print(f"{count} recordings of {len(KINDS)} kinds: {dict(outcomes)};")
    print(f"the slowest took {slowest[0]:.2f} s ({slowest[1]}); {peak:.0f} MB of memory at most")


if __name__ == "__main__":
    main()
