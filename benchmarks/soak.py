"""A long run on servers that come and go: requests, errors by kind, memory and descriptors.

Three fault servers (tests/faults) are replicas in a process of their own; one client of each kind,
in another, calls them at a moderate rate. Every vector is checked. Once a second the client's
process notes its resident memory, open files, threads and tasks.

    python benchmarks/soak.py --minutes 20 --plot docs/_static/soak.svg
    python benchmarks/soak.py --texts 100000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from vllm_modalities import AsyncClient, Client, VLLMModalitiesError

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
REPLICAS = 3
RATE = 40  # calls a second, of both clients together
CALM, UPSET = 5.0, 15.0  # seconds between two acts of chaos


def serve(pipe: Any, seed: int, stormy: bool) -> None:
    """Three replicas; now and then one fails in some way, or comes back; one is always well."""
    from _script import FakeVLLM
    from faults._faults import half_a_body, reset, sending, status
    from faults._server import Server

    class Forgetful(FakeVLLM):  # type: ignore[misc] # it is untyped
        def answer(self, sent: Any) -> Any:
            self.count = getattr(self, "count", 0) + 1
            answer = super().answer(sent)
            self.sent.clear()
            return answer

    servers = [Server(Forgetful(width=64)) for _ in range(REPLICAS)]
    pipe.send([server.url for server in servers])
    dice, away = random.Random(seed), set[Server]()
    faults = (status(503), status(429), reset, sending(half_a_body), Server.go_away)
    acts = 0
    while not pipe.poll(dice.uniform(CALM, UPSET) / (50 if stormy else 1)):
        acts += 1
        server = dice.choice(servers)
        if server in away:
            away.discard(server)
            server.well()
            server.listen()
        elif len(away) < REPLICAS - 1:
            away.add(server)
            fault = dice.choice(faults)
            if fault is Server.go_away:
                server.go_away()
            else:
                server.always(fault)
    pipe.send({"acts": acts, "requests": sum(server.vllm.count for server in servers)})
    os._exit(0)


@contextmanager
def replicas(seed: int, *, stormy: bool = False) -> Iterator[tuple[list[str], dict[str, int]]]:
    """Their addresses, and, once it is over, what they counted."""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=serve, args=(there, seed, stormy))
    child.start()
    counted: dict[str, int] = {}
    try:
        yield here.recv(), counted
    finally:
        here.send("stop")
        counted |= here.recv()
        child.join()


class Tally:
    """What came of the calls, and what the process held meanwhile."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.outcomes: Counter[str] = Counter()
        self.samples: list[tuple[float, float, int, int]] = []
        self.over = False

    def note(self, texts: list[str], result: Any) -> None:
        from _script import vectors_of

        self.outcomes["right" if (result.vectors == vectors_of(texts, 64)).all() else "WRONG"] += 1

    def failed(self, error: Exception) -> None:
        self.outcomes[type(error).__name__] += 1

    def sample(self) -> None:
        while not self.over:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            files = len(list(Path("/proc/self/fd").iterdir()))
            megabytes = pages * os.sysconf("SC_PAGESIZE") / 2**20
            elapsed = time.monotonic() - self.begun
            self.samples.append((elapsed, megabytes, files, threading.active_count()))
            time.sleep(1)


def some_texts(dice: random.Random) -> list[str]:
    count = dice.choice((1, 1, 2, 8, 40))
    return [f"text {dice.random()}" for _ in range(count)]


def blocking(urls: list[str], tally: Tally, ends: float, seed: int) -> None:
    dice = random.Random(seed)
    with Client(urls, timeout=20) as client:
        while time.monotonic() < ends:
            texts = some_texts(dice)
            try:
                tally.note(texts, client.embed(texts, batch_size=8))
            except VLLMModalitiesError as error:
                tally.failed(error)
            time.sleep(2 / RATE)


async def awaiting(urls: list[str], tally: Tally, ends: float, seed: int) -> None:
    """Some calls are cancelled, as a web server does whose own client leaves."""
    dice = random.Random(seed)
    async with AsyncClient(urls, timeout=20) as client:

        async def call(texts: list[str]) -> None:
            try:
                tally.note(texts, await client.embed(texts, batch_size=8))
            except VLLMModalitiesError as error:
                tally.failed(error)

        async with asyncio.TaskGroup() as group:
            while time.monotonic() < ends:
                task = group.create_task(call(some_texts(dice)))
                if dice.random() < 0.05:
                    await asyncio.sleep(dice.uniform(0, 0.01))
                    if task.cancel():
                        tally.outcomes["cancelled"] += 1
                await asyncio.sleep(2 / RATE)


def soak(minutes: float, seed: int) -> dict[str, Any]:
    tally = Tally()
    ends = tally.begun + minutes * 60
    with replicas(seed) as (urls, counted):
        sampler = threading.Thread(target=tally.sample)
        other = threading.Thread(target=blocking, args=(urls, tally, ends, seed))
        sampler.start()
        other.start()
        asyncio.run(awaiting(urls, tally, ends, seed + 1))
        other.join()
        tally.over = True
        sampler.join()
    return {
        "minutes": minutes,
        "outcomes": dict(tally.outcomes),
        **counted,
        "samples": tally.samples,
    }


def bulk(count: int, seed: int) -> dict[str, Any]:
    """One call of so many texts, on replicas that fail and return all the time."""
    from _script import vectors_of

    texts = [f"text {i}" for i in range(count)]
    begun = time.monotonic()
    with ExitStack() as stack:
        urls, counted = stack.enter_context(replicas(seed, stormy=True))
        client = stack.enter_context(Client(urls, max_retries=8))
        result = client.embed(texts)
    right = int((result.vectors == vectors_of(texts, 64)).all(axis=1).sum())
    return {"texts": count, "right": right, "seconds": time.monotonic() - begun, **counted}


def plot(samples: list[tuple[float, float, int, int]], file: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "soak"
    from matplotlib import pyplot as plt

    minutes, memory, files, threads = np.array(samples).T
    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 4), layout="tight")
    above.plot(minutes / 60, memory, lw=0.8)
    above.set_ylabel("resident memory, MB")
    above.set_ylim(0)
    below.plot(minutes / 60, files, lw=0.8, label="open files")
    below.plot(minutes / 60, threads, lw=0.8, label="threads")
    below.set_xlabel("minutes")
    below.set_ylim(0)
    below.legend()
    figure.savefig(file, metadata={"Date": None})


def steady(samples: list[tuple[float, float, int, int]]) -> dict[str, tuple[float, float]]:
    """Medians of the second quarter and of the last: memory in MB, and open files."""
    rows = np.array(samples)
    quarters = [rows[len(rows) // 4 : len(rows) // 2], rows[3 * len(rows) // 4 :]]
    medians = [np.median(quarter, axis=0) for quarter in quarters]
    return {
        "memory": (float(medians[0][1]), float(medians[1][1])),
        "files": (float(medians[0][2]), float(medians[1][2])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--texts", type=int, help="one bulk call of so many texts instead")
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.texts:
        print(json.dumps(found := bulk(given.texts, given.seed)))
        sys.exit(found["right"] != given.texts)
    found = soak(given.minutes, given.seed)
    samples = found.pop("samples")
    found |= steady(samples)
    print(json.dumps(found))
    if given.json:
        given.json.write_text(json.dumps({**found, "samples": samples}))
    if given.plot:
        plot(samples, given.plot)
    memory, files = found["memory"], found["files"]
    flat = memory[1] <= 1.1 * memory[0] and files[1] <= files[0] + 4
    sys.exit(not flat or "WRONG" in found["outcomes"])


if __name__ == "__main__":
    main()
