"""How busy a server is kept by many texts, and how much memory a stream of them takes.

The server works on 8 requests at once, each for 5 ms and 20 µs a token, by a plan: a place is free
again when its time is over, not when a timer that is late has fired. It is a process of its own;
where there are two cores, each side keeps to one.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import multiprocessing
import os
import platform
import random
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from vllm_modalities import AsyncClient, Client

SLOTS, PER_REQUEST, PER_TOKEN = 8, 5e-3, 20e-6
WIDTH = 384
ALLOWED = 0.97  # of the server's capacity
SAID: dict[str, object] = {
    "/version": {"version": "0.32.0"},
    "/v1/models": {"data": [{"id": "canned"}]},
    "/openapi.json": {"paths": {"/v1/embeddings": {}}},
}


class Plan:
    """When each request is over, and how much work that was in how long."""

    def __init__(self, slots: int = SLOTS) -> None:
        self._free = [0.0] * slots
        self._work, self._first, self._last = 0.0, float("inf"), 0.0

    def over(self, now: float, takes: float) -> float:
        end = max(now, self._free[0]) + takes
        heapq.heapreplace(self._free, end)
        self._work += takes
        self._first, self._last = min(self._first, now), max(self._last, end)
        return end

    def busy(self) -> float:
        """The part of its capacity that was used from the first request to the end of the last."""
        return self._work / (len(self._free) * (self._last - self._first))


@cache
def raw(count: int) -> bytes:
    """As vLLM sends it: chunked, one chunk a vector."""
    row = np.ones(WIDTH, "<f4").tobytes()
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
    )
    return head + (b"%x\r\n%b\r\n" % (len(row), row)) * count + b"0\r\n\r\n"


def whole(said: object) -> bytes:
    content = json.dumps(said).encode()
    head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
    return f"{head}{len(content)}\r\n\r\n".encode() + content


class Server:
    """Answers `/v1/embeddings` with vectors of ones, in its time."""

    def __init__(self) -> None:
        self._plan = Plan()

    async def answer(self, method: str, path: str, body: bytes) -> bytes:
        if path == "/busy":
            plan, self._plan = self._plan, Plan()
            return whole({"busy": plan.busy()})
        if method == "GET":
            return whole(SAID[path])
        asked = json.loads(body)
        texts: list[str] = asked["input"]
        takes = PER_REQUEST + sum(map(len, texts)) // 5 * PER_TOKEN
        end = self._plan.over(time.monotonic(), takes)
        await asyncio.sleep(max(end - time.monotonic(), 0))
        if asked["encoding_format"] == "bytes_only":
            return raw(len(texts))
        rows = [{"index": i, "embedding": [1.0] * WIDTH} for i in range(len(texts))]
        return whole({"data": rows})

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            method, path, _ = head[0].split()
            fields = dict(line.lower().split(": ", 1) for line in head[1:])
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            writer.write(await self.answer(method, path, body))
        writer.close()


async def _head(reader: asyncio.StreamReader) -> list[str]:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
    except (asyncio.IncompleteReadError, ConnectionError):
        return []


def served(core: int, told: Connection, kind: type[Server] = Server) -> None:
    """Serve for ever on that core; the port is told."""

    async def main() -> None:
        server = await asyncio.start_server(kind().serve, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    pin(core)
    asyncio.run(main())


def pin(core: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[core % len(cores)]})


def texts(count: int) -> Iterator[str]:
    """Of 1 to some 200 words, half of them below 20."""
    lengths = random.Random(7)
    return ("word " * (1 + int(lengths.lognormvariate(3, 0.8))) for _ in range(count))


def embed(url: str, given: list[str]) -> None:
    with Client(url) as client:
        client.embed(given)


def embed_iter(url: str, given: list[str]) -> None:
    with Client(url) as client:
        for _ in client.embed_iter(given):
            pass


def async_embed(url: str, given: list[str]) -> None:
    async def main() -> None:
        async with AsyncClient(url) as client:
            await client.embed(given)

    asyncio.run(main())


def async_embed_iter(url: str, given: list[str]) -> None:
    async def main() -> None:
        async with AsyncClient(url) as client:
            async for _ in client.embed_iter(given):
                pass

    asyncio.run(main())


WAYS: dict[str, Callable[[str, list[str]], None]] = {
    "Client.embed": embed,
    "Client.embed_iter": embed_iter,
    "AsyncClient.embed": async_embed,
    "AsyncClient.embed_iter": async_embed_iter,
}


def busy(url: str) -> float:
    """The part of the server's capacity that was used since it was last asked."""
    with urllib.request.urlopen(f"{url}/busy") as said:
        found: float = json.load(said)["busy"]
    return found


def held() -> int:
    """Bytes of memory that this process has in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def streamed(url: str, count: int) -> list[tuple[int, int]]:
    """(texts done, bytes held) after each tenth of a stream."""
    found, done, step = [(0, held())], 0, count // 10
    with Client(url) as client:
        for batch in client.embed_iter(texts(count)):
            done += len(batch)
            if done >= step * len(found):
                found.append((done, held()))
    return found


@contextmanager
def server() -> Iterator[str]:
    """The address of a server in a process and on a core of its own."""
    ours, theirs = multiprocessing.Pipe()
    spawned = multiprocessing.get_context("spawn")
    process = spawned.Process(target=served, args=(1, theirs), daemon=True)
    process.start()
    pin(0)
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


def main() -> None:
    """Print the parts and the memory; exit status 1 if one way uses less than is allowed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--texts", type=int, default=200_000)
    arguments.add_argument("--stream", type=int, default=1_000_000, help="texts of the long one")
    arguments.add_argument("--json", action="store_true", help="for machines")
    given = arguments.parse_args()
    parts: dict[str, tuple[float, float]] = {}
    with server() as url:
        many = list(texts(given.texts))
        for name, way in WAYS.items():
            way(url, many[:1000])  # connections, and what is loaded late
            busy(url)
            began = time.process_time()
            way(url, many)
            parts[name] = busy(url), (time.process_time() - began) / len(many)
        del many
        memory = streamed(url, given.stream)
    if given.json:
        print(json.dumps({"parts": parts, "memory": memory, "load": os.getloadavg()[0]}))
    else:
        print(f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
        for name, (part, seconds) in parts.items():
            print(f"{name:24} {part:7.2%} of capacity, {seconds * 1e6:5.1f} µs of CPU a text")
        for done, size in memory:
            print(f"embed_iter after {done:9,} texts {size / 2**20:7.1f} MiB held")
    sys.exit(min(part for part, _ in parts.values()) < ALLOWED)


if __name__ == "__main__":
    main()
