"""What telemetry costs: embedding with and without it, in turn, by processor time.

    python benchmarks/tracing.py [--texts N] [--rounds N] [--json]

Many texts are those of `keeping_busy.py`, to the server there; calls of so many texts each, 1,024
numbers a text, are those of `report.py`, to the server that answers from memory. Spans go through
OpenTelemetry's own SDK and its batch processor, which works in a thread of this process, to an
exporter that drops them; metrics to a reader. "The SDK alone" is what it takes for spans that are
begun and ended where ours of requests are, with the same attributes, and nothing else. Needs
`opentelemetry-sdk`. Exit status 1 if the server is kept less busy by more than 3 %.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
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
from workers import server as canned

from vllm_modalities import Client
from vllm_modalities._flow import Request, Response
from vllm_modalities.telemetry import instrument

ALLOWED = 0.03
SIZES = (1, 32, 256, 2048)  # texts in one call


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


def instrumented(client: Client, exporter: SpanExporter, part: float) -> Client:
    """The client, telling this part of its calls."""
    tracers = TracerProvider(sampler=ParentBasedTraceIdRatio(part))
    tracers.add_span_processor(BatchSpanProcessor(exporter))
    meters = MeterProvider([InMemoryMetricReader()])
    instrument(client, tracer_provider=tracers, meter_provider=meters)
    return client


class Bare:
    """A transport that begins a span for each request, and ends it after the answer."""

    def __init__(self, client: Client, url: str, exporter: SpanExporter) -> None:
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
        self.client = client
        driver: Any = client._driver  # noqa: SLF001
        self._transport, driver.transport = driver.transport, self

    def send(self, request: Request) -> Response:
        span = self._tracer.start_span("POST", None, SpanKind.CLIENT, self._attributes)
        answer: Response = self._transport.send(request)
        span.set_attributes({"http.response.status_code": answer.status})
        span.end()
        return answer

    def close(self) -> None:
        self._transport.close()


def ways(make: Callable[[], Client], url: str, exporter: SpanExporter) -> dict[str, Client]:
    return {
        "without": make(),
        "the SDK alone": Bare(make(), url, exporter).client,
        "every call": instrumented(make(), exporter, 1.0),
        "a tenth": instrumented(make(), exporter, 0.1),
    }


def many_texts(count: int, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of processor time a text, and how busy the server was; the least of all rounds,
    since whatever else the machine does adds to it.
    """
    exporter, given = Dropping(), list(texts(count))
    with server() as url:
        clients = ways(partial(Client, url), url, exporter)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in clients}
        for client in clients.values():
            client.embed(given[:1000])  # connections, and what is loaded late
        for _ in range(rounds):
            for name, client in clients.items():
                busy(url)
                took = cost(partial(client.embed, given)) / count
                found[name].append((took, busy(url)))
        for client in clients.values():
            client.close()
    assert exporter.count > rounds * count / 128
    return {
        name: {"text": min(t for t, _ in told), "busy": max(b for _, b in told)}
        for name, told in found.items()
    }


def calls(size: int, rounds: int) -> dict[str, float]:
    """Seconds of processor time a call of so many texts; the median of all rounds."""
    exporter, given = Dropping(), ["a text of some words"] * size
    with canned() as url:
        make = partial(Client, url, model="canned-1024", transport="bytes")
        clients = ways(make, url, exporter)
        times = max(5, 3000 // (10 + size))
        found: dict[str, list[float]] = {name: [] for name in clients}
        for _ in range(rounds + 1):
            for name, client in clients.items():
                found[name].append(cost(partial(embedded, client, given, times)) / times)
        for client in clients.values():
            client.close()
    return {name: statistics.median(told[1:]) for name, told in found.items()}


def embedded(client: Client, given: list[str], times: int) -> None:
    for _ in range(times):
        client.embed(given, batch_size=len(given))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="for machines")
    asked = parser.parse_args()
    found = many_texts(asked.texts, asked.rounds)
    sizes = {size: calls(size, asked.rounds) for size in SIZES}
    if asked.json:
        print(json.dumps({"many": found, "calls": sizes, "load": os.getloadavg()[0]}))
    else:
        print(f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
        for name, told in found.items():
            more = told["text"] / found["without"]["text"] - 1
            print(
                f"{name:13} {told['busy']:.1%} of capacity, {told['text'] * 1e6:5.2f} µs of CPU a"
                f" text ({more:+.1%})"
            )
        for size, took in sizes.items():
            shown = (
                f"{n} {t * 1e3:.2f} ms ({t / took['without'] - 1:+.1%})" for n, t in took.items()
            )
            print(f"a call of {size:,}: {', '.join(shown)}")
    lost = 1 - found["every call"]["busy"] / found["without"]["busy"]
    return 0 if lost <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
