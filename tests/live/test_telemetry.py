"""The spans of a real vLLM server stand under those of the client's requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from unit.telemetry.conftest import Kept

from vllm_modalities import Client
from vllm_modalities._rig import SERVERS, Spec, running


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """Where a server sends its spans: the address, and what came."""
    came: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", came
    finally:
        server.shutdown()
        server.server_close()


def test_a_real_server_s_span_is_a_child_of_the_request_s(monkeypatch, report) -> None:
    kept = Kept()
    with collector() as (url, came):
        spec = Spec(
            "traced",
            model="minilm",
            served_name="minilm",
            flags=("--runner", "pooling", "--otlp-traces-endpoint", url),
            variables={"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
        )
        monkeypatch.setitem(SERVERS, "traced", spec)
        with running(["traced"], report=report) as rig, Client(rig["traced"].base_url) as client:
            kept.of(client)
            client.embed("a text")
            (post,) = kept.posts
            # In protobuf both stand as they are, of 16 and of 8 bytes.
            trace, span = post.context.trace_id.to_bytes(16), post.context.span_id.to_bytes(8)
            ends = time.monotonic() + 30
            while not any(trace in part for part in came) and time.monotonic() < ends:
                time.sleep(0.5)
    told = [part for part in came if trace in part]
    assert told
    assert any(span in part for part in told)
