"""Jobs that send a row a request: rows a second, beside one row after another, and memory.

    python benchmarks/bulk_rows.py [--rows N] [--wide N] [--json]

Rows are recordings of 5 s, pictures of pages, or queries with 4 documents each. The server is the
simulator (extra `simulator`), in a process of its own, which works on 8 requests at once, each for
0.1 s; each job runs in a process of its own, too. The wide table has rows of 1 MB, in pages of one
each.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import soundfile
from PIL import Image
from pyarrow import parquet

from vllm_modalities import Client, bulk

SLOTS, TAKES = 8, 0.1  # places of the server, and seconds of a request
AT_ONCE = (1, 32)  # requests in flight: one row after another, and what there is by default
RANKED = {"query": "query", "documents": "documents"}


def recordings(folder: Path, rows: int) -> Path:
    """Five seconds of a tone that comes and goes."""
    time = np.arange(5 * 16_000) / 16_000
    for row in range(rows):
        wave = np.sin(time * (300 + row)) * 0.3 * (np.sin(time * 7) > 0)
        soundfile.write(folder / f"{row:06}.wav", wave, 16_000)
    return folder


def pages(folder: Path, rows: int) -> Path:
    """Black lines on white, 850 by 1100 pixels."""
    page = np.full((1100, 850), 255, np.uint8)
    for row in range(rows):
        page[100:1000:20, 100:750] = np.random.default_rng(row).integers(0, 2, (45, 650)) * 255
        Image.fromarray(page).save(folder / f"{row:06}.png", compress_level=1)
    return folder


def queries(folder: Path, rows: int, more: int = 0) -> Path:
    """A Parquet file; each row has so many bytes more."""
    words, file = random.Random(7), folder / "in.parquet"
    columns = {"query": pa.string(), "documents": pa.list_(pa.string()), "more": pa.binary()}
    with parquet.ParquetWriter(file, pa.schema(columns), write_batch_size=1) as writer:
        for first in range(0, rows, 64):
            numbers = range(first, min(first + 64, rows))
            table = {
                "query": [f"question {number}" for number in numbers],
                "documents": [
                    [f"document {n} of {number}" for n in range(4)] for number in numbers
                ],
                "more": [words.randbytes(more) for _ in numbers],
            }
            writer.write_table(pa.table(table, schema=writer.schema))
    return file


Made = Callable[[Path, int], Path]
JOBS: Mapping[str, tuple[str, Made, Mapping[str, Any]]] = {
    "rerank": ("rerank", queries, RANKED),
    "transcribe": ("transcribe", recordings, {}),
    "ocr": ("ocr", pages, {}),
}
WIDE: tuple[str, Made, Mapping[str, Any]] = ("rerank", partial(queries, more=1_000_000), RANKED)


@contextmanager
def server(task: str) -> Iterator[str]:
    """The address of a simulator."""
    command = [sys.executable, "-m", "vllm_modalities", "simulate", "--port", "0", "--json"]
    pace = ["--task", task, "--slots", str(SLOTS), "--seconds-per-request", str(TAKES)]
    process = subprocess.Popen([*command, *pace], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["urls"][task]
    finally:
        process.terminate()
        process.wait()


def peak() -> int:
    """MiB of memory that this program has had in use at most (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def job(name: str, source: str, out: str, url: str, at_once: str, options: str) -> None:
    """The job itself; what it came to and took is printed."""
    before = peak()
    with Client(url, max_concurrency=int(at_once)) as client:
        report = getattr(bulk, name)(client, source, out=out, **json.loads(options))
    assert not report.failed
    print(json.dumps({"rate": report.rows_per_second, "before": before, "peak": peak()}))


def measured(
    name: str, made: Made, options: Mapping[str, Any], rows: int, at_once: int
) -> dict[str, float]:
    """Rows a second, and MiB of memory before the job and at the peak."""
    with tempfile.TemporaryDirectory() as folder, server(name) as url:
        (given := Path(folder, "in")).mkdir()
        asked = [name, made(given, rows), Path(folder, "out"), url, at_once, json.dumps(options)]
        command = [sys.executable, __file__, "--job", *map(str, asked)]
        told = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        found: dict[str, float] = json.loads(told.stdout)
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=800)
    arguments.add_argument("--wide", type=int, default=1500, help="rows of the wide table")
    arguments.add_argument("--json", action="store_true", help="for machines")
    arguments.add_argument("--job", nargs=6, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.job:
        job(*given.job)
        return 0
    alone, many = AT_ONCE
    found = {
        name: {
            "one": measured(*JOBS[name], given.rows // SLOTS, alone),
            "many": measured(*JOBS[name], given.rows, many),
        }
        for name in JOBS
    }
    wide = measured(*WIDE, given.wide, many)
    if given.json:
        print(json.dumps({"jobs": found, "wide": wide, "load": os.getloadavg()[0]}))
        return 0
    print(f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
    for name, told in found.items():
        one, rate = told["one"]["rate"], told["many"]["rate"]
        print(
            f"{name:10} {one:5.1f} rows a second one after another, {rate:5.1f} side by side"
            f" ({rate / one:.1f} times; {rate * TAKES / SLOTS:.1%} of the server's capacity)"
        )
    print(
        f"rows of 1 MB: {wide['rate']:.1f} a second, {wide['before']:.0f} MiB before,"
        f" {wide['peak']:.0f} MiB at the peak of {given.wide:,}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
