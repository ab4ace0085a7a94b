"""A server that answers at once, from memory, like vLLM 0.32.0: all that is left is the client.

`/v1/embeddings`, `/v2/embed`, `/rerank` and what a client asks before them, for any model named
`canned-WIDTH`. As on a real server, raw bodies are chunked, one chunk a vector, and JSON has a
length. `POST /canned-WIDTH` answers like the feature-extraction servers that huggingface_hub calls.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

JSON = "application/json"
WIDTHS = (384, 1024, 4096)
ROUTES = ("/v1/embeddings", "/v2/embed", "/rerank", "/v1/rerank")


def vectors(count: int, width: int) -> NDArray[np.float32]:
    """The same for every request of that shape."""
    return np.random.default_rng(width).standard_normal((count, width)).astype("<f4")


def whole(content: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(content)}\r\ncontent-type: {JSON}\r\n\r\n"
    return head.encode() + content


def chunked(parts: Iterator[bytes]) -> bytes:
    head = (
        b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: application/octet-stream\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
    )
    return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def embeddings(asked: dict[str, Any]) -> bytes:
    """vllm/entrypoints/pooling/embed/serving.py, for every `encoding_format`."""
    width = int(asked["model"].rpartition("-")[2])
    texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
    found = vectors(len(texts), width)
    form = asked.get("encoding_format") or "float"
    if form == "bytes_only":
        return chunked(row.tobytes() for row in found)
    rows: list[Any] = (
        [base64.b64encode(row.tobytes()).decode() for row in found]
        if form == "base64"
        else found.tolist()
    )
    data = [{"index": i, "object": "embedding", "embedding": row} for i, row in enumerate(rows)]
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts), "completion_tokens": 0}
    return whole(
        compact(
            {
                "id": "embd-0123456789abcdef",
                "object": "list",
                "created": 1_700_000_000,
                "model": asked["model"],
                "data": data,
                "usage": usage,
            }
        )
    )


def cohere(asked: dict[str, Any]) -> bytes:
    """vllm/entrypoints/pooling/embed/serving.py, Cohere's shape."""
    found = vectors(len(asked["texts"]), int(asked["model"].rpartition("-")[2]))
    kinds = asked.get("embedding_types") or ["float"]
    rows: dict[str, list[Any]] = {
        "float": found.tolist(),
        "base64": [base64.b64encode(row.tobytes()).decode() for row in found],
    }
    meta = {"billed_units": {"input_tokens": len(found)}}
    answer = {"id": "embd-0", "embeddings": {kind: rows[kind] for kind in kinds}, "meta": meta}
    return whole(compact(answer | {"texts": [], "response_type": "embeddings_by_type"}))


def rerank(asked: dict[str, Any]) -> bytes:
    scores = vectors(1, len(asked["documents"]))[0].tolist()
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    results = [
        {"index": i, "document": {"text": asked["documents"][i]}, "relevance_score": scores[i]}
        for i in order
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return whole(compact({"id": "r", "model": asked["model"], "usage": usage, "results": results}))


def features(asked: dict[str, Any], width: int) -> bytes:
    texts = [asked["inputs"]] if isinstance(asked["inputs"], str) else asked["inputs"]
    return whole(compact(vectors(len(texts), width).tolist()))


def answer(method: str, path: str, body: bytes) -> bytes:
    """The whole answer to a request, as it goes over the wire."""
    if method == "GET":
        names = [f"canned-{one}" for one in WIDTHS]
        models = [{"id": name, "object": "model", "root": name} for name in names]
        said: dict[str, object] = {
            "/version": {"version": "0.32.0"},
            "/v1/models": {"object": "list", "data": models},
            "/openapi.json": {"paths": {route: {} for route in ROUTES}},
        }
        return whole(compact(said.get(path, {})))
    asked = json.loads(body)
    match path:
        case "/v1/embeddings":
            return embeddings(asked)
        case "/v2/embed":
            return cohere(asked)
        case "/rerank" | "/v1/rerank":
            return rerank(asked)
    return features(asked, int(path.rpartition("-")[2]))


class Canned(asyncio.Protocol):
    """One connection; an answer is made once for each different request."""

    known: ClassVar[dict[tuple[bytes, bytes], bytes]] = {}

    def __init__(self) -> None:
        self._came = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._came += data
        while (end := self._came.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._came[:end])
            length = self._length(head)
            if len(self._came) < end + 4 + length:
                return
            body = bytes(self._came[end + 4 : end + 4 + length])
            del self._came[: end + 4 + length]
            self._transport.write(self._answer(head.partition(b"\r\n")[0], body))

    def _length(self, head: bytes) -> int:
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                return int(value)
        return 0

    def _answer(self, line: bytes, body: bytes) -> bytes:
        key = (line, body)
        if key not in self.known:
            method, path, _ = line.decode().split()
            self.known[key] = answer(method, path, body)
        return self.known[key]


async def serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Canned, "127.0.0.1", port, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=0)
    given = arguments.parse_args()
    asyncio.run(serve(given.port))


if __name__ == "__main__":
    main()
