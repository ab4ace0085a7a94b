"""How many requests a second a simulated server answers on one core.

The server runs in a process of its own on one core, the load comes from another core: a few
connections that each send the same bytes again as soon as the answer is there. Nothing is parsed
but its length, so that the load costs less than the server. Answers are counted by the seconds
that the server had its core, which are those of a clock if nothing else wants that core (Linux).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)")
WORDS = "the quick brown fox jumps over the lazy dog while trains to Berlin leave on time"
SLOTS, TAKES = 4, 0.01  # places, and seconds of a request, of a server that takes time
SERVER = """
import os, sys
os.sched_setaffinity(0, {0})
from vllm_modalities.__main__ import main
sys.argv = ["vllm-modalities", "simulate", "--port", "0", "--json", *sys.argv[1:]]
main()
"""


@dataclass(slots=True)
class Connection(asyncio.Protocol):
    """Sends `request` again and again, and counts the answers.

    Attributes:
        request: The whole request.
        ended: Whether the answer that `received` begins with is complete.
    """

    request: bytes
    count: int = 0
    failed: bool = False
    received: bytearray = field(default_factory=bytearray)
    transport: asyncio.Transport | None = None
    until: int = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.until < 0:
            self._measure()
        chunked = self.until == 0
        done = self.received.endswith(b"0\r\n\r\n") if chunked else len(self.received) >= self.until
        if self.until >= 0 and done:
            self.failed |= not self.received.startswith(b"HTTP/1.1 200")
            self.count += 1
            self.received, self.until = bytearray(), -1
            assert self.transport is not None
            self.transport.write(self.request)

    def _measure(self) -> None:
        """Where the answer ends; 0 where it comes in chunks."""
        head = self.received.find(b"\r\n\r\n")
        if head >= 0:
            length = LENGTH.search(self.received, 0, head)
            self.until = head + 4 + int(length[1]) if length else 0


@contextmanager
def server(*options: object) -> Iterator[tuple[int, int]]:
    """A simulated embedder on the first core; its port and its process."""
    command = [sys.executable, "-c", SERVER, *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        yield int(told["urls"]["embed"].rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        process.wait()


def request(texts: list[str], encoding: str) -> bytes:
    body = json.dumps({"input": texts, "encoding_format": encoding, "endianness": "little"})
    head = "POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json"
    return f"{head}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def processor_time(process: int) -> float:
    """Seconds that all threads of a process have run."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


async def rate(
    port: int, process: int, content: bytes, connections: int, seconds: float
) -> tuple[float, float]:
    """Answers a second of the server's core, and the share of the time that it had it."""
    loop = asyncio.get_running_loop()
    made = [Connection(content) for _ in range(connections)]
    for one in made:
        await loop.create_connection(lambda one=one: one, "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.sleep(0.5)
    before, began, ran = sum(o.count for o in made), time.perf_counter(), processor_time(process)
    await asyncio.sleep(seconds)
    took, ran = time.perf_counter() - began, processor_time(process) - ran
    found = (sum(one.count for one in made) - before) / ran
    for one in made:
        assert one.transport is not None
        one.transport.abort()
    if any(one.failed for one in made):
        raise RuntimeError("not every answer had status 200")
    return found, ran / took


def kept(connections: int, seconds: float) -> float:
    """Answers a second by the clock of a server whose requests take their time."""
    pace = ("--slots", SLOTS, "--seconds-per-request", TAKES)
    with server(*pace) as (port, process):
        content = request([WORDS], "base64")
        found, share = asyncio.run(rate(port, process, content, connections, seconds))
        return found * share


def main() -> None:
    """Print a table, or JSON."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--connections", type=int, default=8)
    arguments.add_argument("--json", action="store_true", help="for machines")
    given = arguments.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {1})
    found = []
    for width in (384, 1024):
        with server("--width", width) as (port, process):
            for count in (1, 32):
                for encoding in ("base64", "bytes_only"):
                    texts = [f"{WORDS}, number {n}" for n in range(count)]
                    content = request(texts, encoding)
                    rates = [
                        asyncio.run(rate(port, process, content, given.connections, given.seconds))
                        for _ in range(given.rounds)
                    ]
                    found.append((width, count, encoding, rates))
    paced = kept(given.connections, given.seconds)
    if given.json:
        print(json.dumps({"rates": found, "paced": paced}))
        return
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, load {load:.1f}, {given.rounds} rounds")
    for width, count, encoding, rates in found:
        low, *_, high = sorted(number for number, _ in rates)
        middle = statistics.median(number for number, _ in rates)
        had = min(share for _, share in rates)
        print(
            f"{width:5} numbers {count:3} texts {encoding:10} {middle:7.0f} a second"
            f"  ({low:.0f} to {high:.0f}; it had {had:.0%} of the core)"
        )
    print(f"{SLOTS} places of {TAKES * 1000:.0f} ms: {paced:.1f} a second of {SLOTS / TAKES:.0f}")


if __name__ == "__main__":
    main()
