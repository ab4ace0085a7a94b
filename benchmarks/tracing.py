"""What telemetry costs: embedding with and without it, in turn, by processor time.

    python benchmarks/tracing.py [--texts N] [--rounds N] [--json]

Many texts are those of `keeping_busy.py`, to the server there; single calls are of one text, to the
same server. Spans go through OpenTelemetry's own SDK and its batch processor, which works in a
thread of this process, to an exporter that drops them; metrics to a reader. "The SDK alone" is what
it takes for spans that are begun and ended in the same places, with the same attributes, and
nothing else: what we add is what "every call" takes beyond it. Needs `opentelemetry-sdk`. Exit
status 1 if the server is kept less busy by more than 3 %.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from keeping_busy import busy, server, texts
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
from opentelemetry.trace import SpanKind

from vllm_modalities import Client
from vllm_modalities._flow import Request, Response
from vllm_modalities.telemetry import instrument

ALLOWED = 0.03
SINGLE = 300  # calls of one text in a round


class Dropping(SpanExporter):
    """Takes spans, and counts them."""

    count = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.count += len(spans)
        return SpanExportResult.SUCCESS


def cost(work: Callable[[], object]) -> float:
    """Seconds of processor time."""
    began = time.process_time()
    work()
    return time.process_time() - began


def instrumented(url: str, exporter: SpanExporter, part: float) -> Client:
    """A client that tells this part of its calls."""
    tracers = TracerProvider(sampler=ParentBasedTraceIdRatio(part))
    tracers.add_span_processor(BatchSpanProcessor(exporter))
    client = Client(url)
    meters = MeterProvider([InMemoryMetricReader()])
    instrument(client, tracer_provider=tracers, meter_provider=meters)
    return client


class Bare:
    """A transport that begins a span for each request, and ends it after the answer."""

    def __init__(self, url: str, exporter: SpanExporter) -> None:
        tracers = TracerProvider()
        tracers.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = tracers.get_tracer("bare")
        self._attributes: dict[str, str | int] = {
            "http.request.method": "POST",
            "url.full": f"{url}/v1/embeddings",
            "url.template": "/v1/embeddings",
            "server.address": "127.0.0.1",
            "server.port": int(url.rpartition(":")[2]),
        }
        self.client = Client(url)
        driver: Any = self.client._driver  # noqa: SLF001
        self._transport, driver.transport = driver.transport, self

    def send(self, request: Request) -> Response:
        span = self._tracer.start_span("POST", None, SpanKind.CLIENT, self._attributes)
        answer: Response = self._transport.send(request)
        span.set_attributes({"http.response.status_code": answer.status})
        span.end()
        return answer

    def close(self) -> None:
        self._transport.close()


def measured(url: str, count: int, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of processor time a text and a single call, and how busy the server was; the
    least of all rounds, since whatever else the machine does adds to it.
    """
    exporter, given = Dropping(), list(texts(count))
    ways = {
        "without": Client(url),
        "the SDK alone": Bare(url, exporter).client,
        "every call": instrumented(url, exporter, 1.0),
        "a tenth": instrumented(url, exporter, 0.1),
    }
    found: dict[str, dict[str, list[float]]] = {
        name: {"text": [], "busy": [], "call": []} for name in ways
    }
    for client in ways.values():
        client.embed(given[:1000])  # connections, and what is loaded late
    for _ in range(rounds):
        for name, client in ways.items():
            busy(url)
            found[name]["text"].append(cost(partial(client.embed, given)) / count)
            found[name]["busy"].append(busy(url))
            found[name]["call"].append(cost(partial(single, client)) / SINGLE)
    for client in ways.values():
        client.close()
    assert exporter.count > rounds * count / 128
    return {
        name: {what: (max if what == "busy" else min)(values) for what, values in told.items()}
        for name, told in found.items()
    }


def single(client: Client) -> None:
    for _ in range(SINGLE):
        client.embed("a text")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="for machines")
    asked = parser.parse_args()
    with server() as url:
        found = measured(url, asked.texts, asked.rounds)
    if asked.json:
        print(json.dumps({**found, "load": os.getloadavg()[0]}))
    else:
        print(f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
        for name, told in found.items():
            more = told["text"] / found["without"]["text"] - 1
            print(
                f"{name:13} {told['busy']:.1%} of capacity, {told['text'] * 1e6:5.2f} µs of CPU a"
                f" text ({more:+.1%}); a call of one text {told['call'] * 1e6:4.0f} µs"
            )
    lost = 1 - found["every call"]["busy"] / found["without"]["busy"]
    return 0 if lost <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
