"""Looks for inputs that no seed has: `nox -s fuzz -- --minutes 60`.

Every target gets the same time, in a process of its own, under atheris (libFuzzer): inputs that
reach new code of the package are kept in `build/fuzz`, and the next run goes on from them. What
breaks a target, takes longer than 60 s or more than 2 GB is a finding: put it among the seeds.
Before that, words and seeds are repeated, to see whether time grows faster than they do.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

KEPT = Path("build") / "fuzz"
LONGEST_INPUT, SECONDS, MEGABYTES = 4_096, 60, 2_048
EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


def one(name: str) -> None:
    """Fuzz a target until libFuzzer ends this process; its options stand behind the name."""
    import atheris

    with atheris.instrument_imports(include=["vllm_modalities", "packaging", "PIL"]):
        from fuzz.targets import TARGETS

    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[name])
    atheris.Fuzz()


def looked_into(name: str, seconds: int) -> tuple[int, list[Path]]:
    """How many inputs a target got, and the findings among them."""
    from fuzz.targets import SEEDS

    corpus, found = KEPT / "corpus" / name, KEPT / "findings" / name
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    options = (
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST_INPUT}",
        f"-timeout={SECONDS}",
        f"-rss_limit_mb={MEGABYTES}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
    )
    command = (sys.executable, "-m", "fuzz", name, *options, str(corpus), str(SEEDS / name))
    with (found.parent / f"{name}.log").open("w") as log:
        status = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
    said = Path(log.name).read_text(errors="replace")
    counted = EXECUTED.search(said)
    new = sorted(set(found.iterdir()) - before)
    if status and not new:
        raise SystemExit(f"{name} ended with status {status}: see {log.name}")
    return int(counted[1]) if counted else 0, new


def too_slow(name: str) -> list[bytes]:
    """Units that take more than seven times as long when repeated four times as often."""
    from fuzz.targets import TARGETS, WORDS, seeds

    def seconds(unit: bytes, size: int) -> float:
        began = time.process_time()
        TARGETS[name](b"200 application/json\n" + unit * (size // len(unit)))
        return time.process_time() - began

    found = []
    for unit in {b"a", b"-", b"[", b"![](", b'{"a":', b"1.", *WORDS, *seeds(name).values()}:
        short = seconds(unit, 40_000)
        if short > 0.1 and seconds(unit, 160_000) > 7 * short:
            found.append(unit)
    return found


def main() -> None:
    from fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(prog="nox -s fuzz --", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="for all targets together")
    parser.add_argument("--target", choices=TARGETS, action="append")
    chosen = parser.parse_args()
    names = chosen.target or list(TARGETS)
    seconds = max(1, round(chosen.minutes * 60 / len(names)))
    findings: list[Path | bytes] = []
    for name in names:
        slow = too_slow(name)
        findings += slow
        began = time.monotonic()
        executed, new = looked_into(name, seconds)
        findings += new
        took = time.monotonic() - began
        found = len(new) + len(slow)
        print(f"{name}: {executed:,} inputs in {took:.0f} s, {found} findings", flush=True)
        with (KEPT / "runs.jsonl").open("a") as runs:
            entry = {"target": name, "inputs": executed, "seconds": took, "findings": found}
            runs.write(json.dumps(entry) + "\n")
    if findings:
        raise SystemExit("\n".join(["what broke a target:", *map(str, findings)]))


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[2].startswith("-max_total_time"):
        one(sys.argv[1])
    else:
        main()
