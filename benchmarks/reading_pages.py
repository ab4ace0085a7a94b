"""What pages cost before they are sent, what a long document takes, how busy servers are kept.

The servers are processes of their own that read a page in the time that a plan gives it, as in
`keeping_busy.py`; nothing is asked of a GPU.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import platform
import resource
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from multiprocessing.connection import Connection
from pathlib import Path

import keeping_busy
from keeping_busy import Plan, whole

from vllm_modalities import Client
from vllm_modalities.documents.reading import LEVEL, to_data_url
from vllm_modalities.documents.sources import source_of

A4 = (595, 842)  # units of a PDF
DPI = 144
LINES, WORDS = 54, 13
SECONDS = 4.0  # that a server takes for a page, of which it reads SLOTS at once
SAID: dict[str, object] = {
    "/version": {"version": "0.32.0"},
    "/v1/models": {"data": [{"id": "deepseek-ocr"}]},
    "/openapi.json": {"paths": {"/v1/chat/completions": {}}},
}
TEXT = "<|ref|>text<|/ref|><|det|>[[80, 80, 900, 900]]<|/det|>\n" + "Some words of a page. " * 100


def report(pages: int) -> bytes:
    """A PDF of A4 pages full of words, each of its own."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>")
    kids = []
    for page in range(pages):
        lines = "".join(
            f"({' '.join(f'word{(page * 7919 + line * 31 + n) % 9973}' for n in range(WORDS))}) ' "
            for line in range(LINES)
        )
        content = f"BT /F 9 Tf 14 TL 50 800 Td {lines} ET"
        kids.append(f"{len(objects) + 1} 0 R")
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {A4[0]} {A4[1]}]"
            f" /Resources << /Font << /F 3 0 R >> >> /Contents {len(objects) + 2} 0 R >>",
            f"<< /Length {len(content)} >> stream\n{content}\nendstream",
        ]
    objects[1] = f"<< /Type /Pages /Count {pages} /Kids [{' '.join(kids)}] >>"
    written, places = BytesIO(b"%PDF-1.4\n"), []
    written.seek(0, 2)
    for number, one in enumerate(objects, 1):
        places.append(written.tell())
        written.write(f"{number} 0 obj\n{one}\nendobj\n".encode())
    start = written.tell()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    written.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode())
    return written.getvalue()


def bare(content: bytes) -> int:
    """Render and encode every page with pypdfium2 and Pillow alone; the bytes of all pictures."""
    return _bare(content, LEVEL)


def usual(content: bytes) -> int:
    """The same at Pillow's own level of compression."""
    return _bare(content, 6)


def _bare(content: bytes, level: int) -> int:
    import pypdfium2

    size = 0
    with pypdfium2.PdfDocument(content) as pdf:
        for page in pdf:
            file = BytesIO()
            page.render(scale=DPI / 72).to_pil().save(file, "PNG", compress_level=level)
            size += file.tell()
    return size


def ours(content: bytes) -> int:
    """The same as `ocr` does it, up to the text that is sent."""
    source = source_of(content)
    return sum(len(to_data_url(source.read(n, dpi=DPI).image)) for n in source.numbers)


def preparing(pages: int, rounds: int) -> dict[str, float]:
    """Seconds of a core a page, the best of some rounds of each, turn about."""
    content = report(pages)
    ways = (bare, usual, ours)
    best = {way.__name__: float("inf") for way in ways}
    for _ in range(rounds):
        for way in ways:
            begun = time.process_time()
            way(content)
            best[way.__name__] = min(best[way.__name__], time.process_time() - begun)
    found = {name: seconds / pages for name, seconds in best.items()}
    return found | {"ratio": found["ours"] / found["bare"]}


class Server(keeping_busy.Server):
    """Reads every page in the same time."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._plan = seconds, Plan()

    async def answer(self, method: str, path: str, body: bytes) -> bytes:
        if path == "/busy":
            return whole({"busy": self._plan.busy()})
        if method == "GET":
            return whole(SAID[path])
        end = self._plan.over(time.monotonic(), self._seconds)
        await asyncio.sleep(max(end - time.monotonic(), 0))
        choice = {"message": {"content": f"{TEXT}{time.monotonic_ns()}"}, "finish_reason": "stop"}
        return whole({"choices": [choice]})


def served(seconds: float, told: Connection) -> None:
    async def main() -> None:
        serve = Server(seconds).serve
        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**24)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


@contextmanager
def server(seconds: float) -> Iterator[str]:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=served, args=(seconds, there), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.terminate()
        process.join()


def busy(pages: int) -> dict[str, object]:
    """How busy two servers are kept by one document, each with SLOTS pages at once."""
    with ExitStack() as stack:
        urls = [stack.enter_context(server(SECONDS)) for _ in range(2)]
        with Client(urls) as client:
            begun = time.perf_counter()
            client.ocr(report(pages))
            seconds = time.perf_counter() - begun
        told = [json.load(urllib.request.urlopen(f"{url}/busy"))["busy"] for url in urls]
    return {"busy": told, "pages a second": pages / seconds}


def _long(url: str, pages: int, told: Connection) -> None:
    content = report(pages)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Client(url) as client:
        document = client.ocr(content)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told.send((len(document), before / 1024, after / 1024))


def memory(pages: int) -> dict[str, float]:
    """Peak MB of a process that reads a long document, before it and in all."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with server(0.05) as url:
        process = context.Process(target=_long, args=(url, pages, there))
        process.start()
        count, before, after = here.recv()
        process.join()
    return {"pages": count, "before": before, "peak": after}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--long", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "preparing": preparing(given.pages, given.rounds),
        "busy": busy(16 * given.pages // 5),
        "memory": memory(given.long),
    }
    text = json.dumps(found, indent=2)
    print(text)
    if given.out:
        given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
