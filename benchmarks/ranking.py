"""Ranking 100,000 documents on a simulated server: what of its capacity is used, in what memory.

    python benchmarks/ranking.py [--documents N] [--slots N] [--seconds S]

The simulator (extra `simulator`) runs in a process of its own; it works on so many requests at
once and keeps each for so long, which is its capacity. The client ranks all documents in one call,
and once a tenth of them before, for what a process needs that has ranked anything. Exit status 1
if less than 0.9 of the capacity is used, or if the second call takes more memory than its bound.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

from vllm_modalities import Client

USED, WINDOW_MB, DOCUMENT_BYTES = 0.9, 32.0, 200
"""The bound in MB: `WINDOW_MB` for the requests in flight, and so many bytes for each document's
place in the ranking."""
BATCH = 128


def documents_of(count: int) -> list[str]:
    return [
        f"document {n} of {count}: " + "words of a passage that is as long as most " * 8
        for n in range(count)
    ]


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=1.0)
    asked = parser.parse_args()
    command = [sys.executable, "-m", "vllm_modalities", "simulate", "--task", "rerank", "--json"]
    pace = ["--slots", str(asked.slots), "--seconds-per-request", str(asked.seconds)]
    server = subprocess.Popen([*command, *pace, "--port", "0"], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["urls"]["rerank"]
        with Client(url) as client:
            return measured(client, asked)
    finally:
        server.terminate()
        server.wait()


def measured(client: Client, asked: argparse.Namespace) -> int:
    documents = documents_of(asked.documents)
    client.rerank("a query", documents[: asked.documents // 10], batch_size=BATCH)
    before, began, processor = peak(), time.perf_counter(), time.process_time()
    ranking = client.rerank("a query", documents, batch_size=BATCH)
    took, grown = time.perf_counter() - began, peak() - before
    processor = time.process_time() - processor
    assert len(ranking) == len(documents)
    requests = -(-asked.documents // BATCH)
    ideal = -(-requests // asked.slots) * asked.seconds
    bound = WINDOW_MB + asked.documents * DOCUMENT_BYTES / 2**20
    print(f"{asked.documents:,} documents in {took:.1f} s, {asked.documents / took:,.0f} a second")
    print(f"capacity used: {ideal / took:.3f} ({asked.slots} requests at once, {asked.seconds} s)")
    print(f"processor time of the client: {processor:.1f} s")
    print(f"memory: {before:.0f} MB before, {grown:.0f} MB more, bound {bound:.0f} MB")
    return 0 if ideal / took >= USED and grown <= bound else 1


if __name__ == "__main__":
    sys.exit(main())
