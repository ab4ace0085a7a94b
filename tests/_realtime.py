"""A server with `/v1/realtime` on a real socket, which follows vLLM's own source.

Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/realtime/connection.py.
"""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

MODEL = "Voxtral-Mini-4B-Realtime-2602"


@dataclass
class Realtime:
    """What came, and what is answered.

    Attributes:
        behave: What a session does; `usual` is as vLLM does.
        word: The delta that a message of sound is answered with.
        key: The API key that is asked for.
        model: What it lists.
        serves: What it takes in a session, if that is another.
        is_shy: Whether it lists no models.
        refuses: The status and body of every handshake.
        events: What each session was told, in order; sound as its samples.
        headers: Of each handshake.
        closed: Set when a session is over.
    """

    behave: Callable[[Realtime, ServerConnection], None] = lambda server, ws: server.usual(ws)
    word: Callable[[np.ndarray], str] = lambda samples: f" {len(samples)}"
    version: str = "0.32.0"
    model: str = MODEL
    serves: str | None = None
    is_shy: bool = False
    key: str | None = None
    refuses: tuple[int, bytes] | None = None
    events: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    @property
    def sound(self) -> np.ndarray:
        """All samples that came."""
        return np.concatenate([one for one in self.events if isinstance(one, np.ndarray)])

    @property
    def known(self) -> str:
        return self.serves or self.model

    def usual(self, ws: ServerConnection) -> None:
        """Each event as vLLM takes it; here it answers each message of sound at once."""
        send(ws, "session.created", id="sess-1", created=1)
        is_known, text, waiting, begun = False, "", [], False
        while True:
            event = self.take(ws)
            match event:
                case {"type": "session.update", "model": name} if name == self.known:
                    is_known = True
                case {"type": "session.update", "model": name}:
                    error = f"The model `{name}` does not exist."
                    send(ws, "error", error=error, code="model_not_found")
                case {"type": "input_audio_buffer.commit"} if not is_known:
                    send(ws, "error", error="Model not validated.", code="model_not_validated")
                case {"type": "input_audio_buffer.commit", "final": True}:
                    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
                    send(ws, "transcription.done", text=text, usage=usage)
                case {"type": "input_audio_buffer.commit"}:
                    begun = True
                case np.ndarray():
                    waiting.append(event)
            while begun and waiting:
                text += (delta := self.word(waiting.pop(0)))
                send(ws, "transcription.delta", delta=delta)

    def take(self, ws: ServerConnection) -> Any:
        event = json.loads(ws.recv())
        if event["type"] == "input_audio_buffer.append":
            event = np.frombuffer(base64.b64decode(event["audio"]), "<i2")
        self.events.append(event)
        return event

    def session(self, ws: ServerConnection) -> None:
        self.headers.append(dict(ws.request.headers.raw_items()))
        try:
            self.behave(self, ws)
        except ConnectionClosed:
            pass
        finally:
            self.closed.set()

    def plain(self, ws: ServerConnection, request: Request) -> Response | None:
        """What is asked without a websocket, and refused without one."""
        listed = [] if self.is_shy else [{"id": self.model, "root": self.model}]
        told = {
            "/version": {"version": self.version},
            "/v1/models": {"object": "list", "data": listed},
            "/openapi.json": {"paths": {"/v1/chat/completions": {}}},
        }.get(request.path)
        if told is not None:
            return answer(ws, HTTPStatus.OK, json.dumps(told).encode())
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return answer(ws, HTTPStatus.UNAUTHORIZED, b'{"error": "Unauthorized"}')
        if self.refuses is not None:
            return answer(ws, *self.refuses)
        return None


def answer(ws: ServerConnection, status: int, content: bytes) -> Response:
    response = ws.respond(HTTPStatus(status), "")
    response.body = content
    del response.headers["Content-Length"]
    response.headers["Content-Length"] = str(len(content))
    return response


def send(ws: ServerConnection, kind: str, **fields: Any) -> None:
    ws.send(json.dumps({"type": kind, **fields}))


@contextlib.contextmanager
def realtime(tls: ssl.SSLContext | None = None, **told: Any) -> Iterator[Realtime]:
    server = Realtime(**told)
    running: Server = serve(
        server.session, "127.0.0.1", 0, process_request=server.plain, ssl=tls, max_size=2**24
    )
    port = running.socket.getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://{'localhost' if tls else '127.0.0.1'}:{port}"
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        running.shutdown()
        thread.join()
