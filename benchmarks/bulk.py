"""A job of a million short rows: the server's capacity that it uses, its memory, and ten kills.

    python benchmarks/bulk.py [--rows N] [--kills N] [--json]

The server is that of `keeping_busy.py`, in a process and on a core of its own, and counts how
often each row reaches it. One run is left alone, for the capacity and the memory. Another is
killed with SIGKILL at moments taken at random, and begun again, until it ends. Exit status 1 if
less than 95 % is used, a row is missing or there twice, or more was sent again than a batch a
worker and kill.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from keeping_busy import Server, busy, held, pin, served, whole
from pyarrow import parquet

from vllm_modalities import Client
from vllm_modalities.bulk import embed

ALLOWED = 0.95  # of the server's capacity
BATCH, WORKERS = 128, 32  # rows of a request, and requests in flight: what there is by default


class Counting(Server):
    """Counts how often each row came."""

    def __init__(self) -> None:
        super().__init__()
        self._seen = np.zeros(0, np.int64)

    async def answer(self, method: str, path: str, body: bytes) -> bytes:
        if path == "/seen":
            seen, self._seen = self._seen, np.zeros(0, np.int64)
            return whole({"rows": int((seen > 0).sum()), "texts": int(seen.sum())})
        if method == "POST":
            rows = [int(text.split(" ", 2)[1]) for text in json.loads(body)["input"]]
            if max(rows) >= len(self._seen):
                self._seen.resize(2 * max(rows) + 1, refcheck=False)
            np.add.at(self._seen, rows, 1)
        return await super().answer(method, path, body)


@contextmanager
def server() -> Iterator[str]:
    """The address of a server in a process and on a core of its own."""
    ours, theirs = multiprocessing.Pipe()
    spawned = multiprocessing.get_context("spawn")
    process = spawned.Process(target=served, args=(1, theirs, Counting), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


def table(file: Path, rows: int) -> None:
    """Write rows of 5 to 13 words."""
    words = random.Random(7)
    with parquet.ParquetWriter(file, pa.schema({"id": pa.int64(), "text": pa.string()})) as writer:
        for first in range(0, rows, 100_000):
            ids = range(first, min(first + 100_000, rows))
            texts = [f"row {number} of " + "word " * words.randint(2, 10) for number in ids]
            writer.write_table(pa.table({"id": ids, "text": texts}))


def job(file: str, out: str, url: str) -> None:
    """The job itself, in a process that may be killed; what it came to and took is printed."""
    pin(0)
    memory: list[tuple[int, int]] = []

    def look(done: int, total: int | None) -> None:
        if done >= (total or 0) / 10 * (len(memory) + 1):
            memory.append((done, held()))

    with Client(url) as client:
        report = embed(client, file, out=out, column="text", progress=look)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({**report.to_dict(), "memory": memory, "peak": peak}))


def started(file: Path, out: Path, url: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--job", str(file), str(out), url]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    said, _ = process.communicate()
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(said)
    return found


def seen(url: str) -> dict[str, int]:
    """Rows that reached the server since it was last asked, and texts, in all."""
    with urllib.request.urlopen(f"{url}/seen") as said:
        found: dict[str, int] = json.load(said)
    return found


def check(out: Path, rows: int) -> None:
    """Raise AssertionError if a row is missing, is there twice, or has no vector."""
    ids = parquet.read_table(out, columns=["id"])["id"].to_numpy()
    assert np.array_equal(ids, np.arange(rows)), "rows are missing, doubled or out of order"
    for shard in out.glob("part-*.parquet"):
        vectors = parquet.read_table(shard, columns=["embedding"])["embedding"]
        assert vectors.null_count == 0
    assert not list(out.glob("_part-*")), "something is left that should have been tidied up"


def killed(file: Path, out: Path, url: str, *, kills: int, seconds: float) -> dict[str, Any]:
    """Run the job, killing it so often, and then to its end."""
    moments = random.Random(11)
    for _ in range(kills):
        process = started(file, out, url)
        time.sleep(moments.uniform(0.5, 1.5) * seconds / (kills + 1))
        assert process.poll() is None, "it ended before it was killed; give it more rows"
        process.kill()
        process.communicate()
    return ended(started(file, out, url))


def main() -> int:
    """Print what was found; exit status 1 if less was reached than is promised."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--kills", type=int, default=10)
    arguments.add_argument("--json", action="store_true", help="for machines")
    arguments.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.job:
        job(*given.job)
        return 0
    with tempfile.TemporaryDirectory() as folder, server() as url:
        file = Path(folder, "in.parquet")
        table(file, given.rows)
        alone = ended(started(file, Path(folder, "alone"), url))
        part, once = busy(url), seen(url)
        check(Path(folder, "alone"), given.rows)
        ending = killed(
            file, Path(folder, "killed"), url, kills=given.kills, seconds=alone["seconds"]
        )
        again = seen(url)
        check(Path(folder, "killed"), given.rows)
    sent_again, bound = again["texts"] - given.rows, given.kills * WORKERS * BATCH
    found = {
        "rows": given.rows,
        "busy": part,
        "rows_per_second": alone["rows_per_second"],
        "peak": alone["peak"],
        "memory": alone["memory"],
        "sent": once["texts"],
        "kills": given.kills,
        "sent_again": sent_again,
        "bound": bound,
        "found_by_the_last_run": ending["found"],
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
    }
    print(json.dumps(found) if given.json else _told(found))
    return int(part < ALLOWED or once["texts"] != given.rows or sent_again > bound)


def _told(found: dict[str, Any]) -> str:
    lines = [
        f"Python {found['python']}, load {found['load']:.1f}",
        f"{found['rows']:,} rows, {found['rows_per_second']:,.0f} a second,"
        f" {found['busy']:.2%} of capacity; sent: {found['sent']:,}",
        *(f"  {size / 2**20:7.1f} MiB held after {done:9,}" for done, size in found["memory"]),
        f"  {found['peak'] / 2**20:7.1f} MiB at the peak",
        f"{found['kills']} kills: complete, none twice; {found['sent_again']:,} rows sent again,"
        f" bound {found['bound']:,}",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
