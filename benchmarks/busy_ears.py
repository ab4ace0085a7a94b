"""How busy two servers are kept by one long recording.

Each server works on 2 pieces at once, a second for each, by a plan, as in `keeping_busy.py`: so the
two hear some 100 seconds of sound a second.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import soundfile
from keeping_busy import Plan, busy, whole
from preparing import RATE, minute

from vllm_modalities import Client

SLOTS, SECONDS, MINUTES, ALLOWED = 2, 1.0, 60, 0.95
AUDIO = "/v1/audio/transcriptions"
SAID: dict[str, object] = {
    "/version": {"version": "0.32.0"},
    "/v1/models": {"data": [{"id": "ears"}]},
    "/openapi.json": {"paths": {AUDIO: {}}},
}


class Ears:
    """Answers with words, in its time."""

    def __init__(self) -> None:
        self._plan = Plan(SLOTS)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
                method, path, _ = head[0].split()
                fields = dict(line.lower().split(": ", 1) for line in head[1:])
                await reader.readexactly(int(fields.get("content-length", 0)))
                writer.write(await self._answer(method, path))
        except asyncio.IncompleteReadError:
            writer.close()

    async def _answer(self, method: str, path: str) -> bytes:
        if path == "/busy":
            return whole({"busy": self._plan.busy()})
        if method == "GET":
            return whole(SAID[path])
        end = self._plan.over(time.monotonic(), SECONDS)
        await asyncio.sleep(max(end - time.monotonic(), 0))
        return whole({"text": "The museum is open on Monday."})


async def serve() -> None:
    """Serve for ever at two ports, which are told."""
    servers = [await asyncio.start_server(Ears().serve, "127.0.0.1", 0) for _ in range(2)]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    command = [sys.executable, __file__, "serve"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        urls = [f"http://127.0.0.1:{port}" for port in process.stdout.readline().split()]
        path = Path(folder) / "sound.wav"
        one = minute()
        with soundfile.SoundFile(path, "w", RATE, 2, subtype="PCM_16") as file:
            for _ in range(MINUTES):
                file.write(one)
        began = time.perf_counter()
        with Client(urls) as client:
            heard = client.transcribe(path, language="en")
        took = time.perf_counter() - began
        parts = [busy(url) for url in urls]
        process.terminate()
    print(f"{MINUTES} minutes in {len(heard.segments)} pieces took {took:.1f} s;")
    print(f"the servers were busy for {parts[0]:.1%} and {parts[1]:.1%} of the time")
    sys.exit(min(parts) < ALLOWED)


if __name__ == "__main__":
    main()
