"""What telemetry costs: embedding with and without it, in turn, by processor time.

    python benchmarks/tracing.py [--texts N] [--rounds N] [--json]

Many texts are those of `keeping_busy.py`, to the server there; single calls are of one text, to the
same server. Spans go through OpenTelemetry's own SDK and its batch processor, which works in a
thread of this process, to an exporter that drops them; metrics to a reader. Needs
`opentelemetry-sdk`. Exit status 1 if many texts take more than 3 % beside what they take without.
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

from keeping_busy import busy, server, texts
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from vllm_modalities import Client
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


def measured(url: str, count: int, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of processor time a text and a single call, and how busy the server was; medians."""
    exporter, tracers = Dropping(), TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(exporter))
    given = list(texts(count))
    found: dict[str, dict[str, list[float]]] = {}
    with Client(url) as plain, Client(url) as traced:
        meters = MeterProvider([InMemoryMetricReader()])
        instrument(traced, tracer_provider=tracers, meter_provider=meters)
        ways = {"without": plain, "with telemetry": traced}
        for client in ways.values():
            client.embed(given[:1000])  # connections, and what is loaded late
        for _ in range(rounds):
            for name, client in ways.items():
                told = found.setdefault(name, {"text": [], "busy": [], "call": []})
                busy(url)
                told["text"].append(cost(lambda c=client: c.embed(given)) / count)  # type: ignore[misc]
                told["busy"].append(busy(url))
                told["call"].append(
                    cost(lambda c=client: [c.embed("a text") for _ in range(SINGLE)]) / SINGLE  # type: ignore[misc]
                )
    tracers.shutdown()
    assert exporter.count >= rounds * (count / 128 + 2 * SINGLE)
    return {
        name: {what: statistics.median(values) for what, values in told.items()}
        for name, told in found.items()
    }


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
            print(
                f"{name:15} {told['text'] * 1e6:6.2f} µs of CPU a text, {told['busy']:.1%} of"
                f" capacity; a call of one text {told['call'] * 1e6:5.0f} µs"
            )
    without, with_ = found["without"], found["with telemetry"]
    more = with_["text"] / without["text"] - 1
    print(f"{more:+.2%} for many texts", file=sys.stderr)
    return 0 if more <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
