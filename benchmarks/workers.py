"""Each client in a process of its own, all on one core; they are made to work in turn."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXTRAS = ("httptools", "pybase64")  # of `fast`
CLIENT_CORE, SERVER_CORE = "0", "1"
IN_A_ROW = 10  # calls; what one leaves behind adds up


@dataclass(frozen=True)
class Cost:
    """What one piece of work took: seconds, and MiB beyond what the process had before."""

    cpu: float
    wall: float
    memory: float


def median(costs: Iterable[Cost]) -> Cost:
    known = list(costs)
    return Cost(*(statistics.median(getattr(c, n) for c in known) for n in Cost.__annotations__))


class Worker:
    """One client in its process; `ask` has it work once."""

    def __init__(self, name: str, url: str, width: int, model: str | None = None) -> None:
        program = ["taskset", "-c", CLIENT_CORE, sys.executable, str(HERE / "workers.py")]
        self._process = subprocess.Popen(
            [*program, name, url, str(width), model or f"canned-{width}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "OPENBLAS_NUM_THREADS": "1",  # numpy's threads spin while they start
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # or it asks the internet for prices
            },
        )

    def ask(self, method: str, *arguments: int, times: int = 1) -> Cost:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([method, times, *arguments]), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the worker broke; its words are above")
        return Cost(*json.loads(answer))

    def close(self) -> None:
        self._process.communicate()


@contextmanager
def server() -> Iterator[str]:
    """The canned server, alone on its core."""
    program = ["taskset", "-c", SERVER_CORE, sys.executable, str(HERE / "canned.py")]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def interleaved(
    names: Iterable[str], url: str, width: int, rounds: int, works: Mapping[str, tuple[Any, ...]]
) -> dict[str, dict[str, Cost]]:
    """The median cost of each work for each client.

    Every round has each client do each work for a while, in turn.

    Args:
        names: The clients'.
        url, width: As for `Worker`.
        rounds: How many.
        works: By name, what `Worker.ask` is given.
    """
    with ExitStack() as stack:
        workers: dict[str, Worker] = {}
        for name in names:
            workers[name] = stack.enter_context(closing(Worker(name, url, width)))
        turns = [(name, work) for name in workers for work in works]
        times = {}
        for name, work in turns:
            workers[name].ask(*works[work])  # the first call connects, imports and learns
            once = workers[name].ask(*works[work])
            times[name, work] = max(1, min(200, int(0.1 / max(once.cpu, 1e-6))))
        found: dict[str, dict[str, list[Cost]]] = {work: {n: [] for n in workers} for work in works}
        for _ in range(rounds):
            for name, work in turns:
                cost = workers[name].ask(*works[work], times=times[name, work])
                found[work][name].append(cost)
    return {work: {n: median(costs) for n, costs in told.items()} for work, told in found.items()}


@contextmanager
def closing(worker: Worker) -> Iterator[Worker]:
    try:
        yield worker
    finally:
        worker.close()


def memory(name: str, url: str, width: int, *arguments: int) -> float:
    """MiB that calls in a row take at most, in a process that has made a small call before."""
    with closing(Worker(name, url, width)) as worker:
        worker.ask("call", 2)
        return worker.ask("call", *arguments, times=IN_A_ROW).memory


def work() -> None:
    """Run by `Worker`: take orders, a line each, and answer with what each cost."""
    name, url, width, model = sys.argv[1:]
    if name.startswith("ours") and "fast" not in name:
        for extra in EXTRAS:
            sys.modules[extra] = None  # type: ignore[assignment] # as if it were not installed
    from ways import WAYS

    way = WAYS[name](url, int(width), model)
    for order in sys.stdin:
        method, times, *arguments = json.loads(order)
        print(json.dumps(taken(way, method, times, *arguments)), flush=True)


def taken(way: Any, method: str, times: int, count: int, *arguments: int) -> list[float]:
    texts = [f"text number {i}, of a length that is usual in retrieval" for i in range(count)]
    act = getattr(way, method)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the highest memory so far
    before = resident("VmRSS")
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(times):
        found = act(texts, *arguments)
        assert method != "call" or found.shape == (count, way.width)
        del found
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return [cpu / times, wall / times, resident("VmHWM") - before]


def resident(field: str) -> float:
    """A figure of `/proc/self/status`, in MiB."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


if __name__ == "__main__":
    work()
