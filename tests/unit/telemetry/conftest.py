"""A client whose spans and metrics are kept in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from _script import Talker
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

from vllm_modalities.telemetry import instrument

CALL, REQUEST = "gen_ai.operation.name", "http.request.method"


class Kept(SpanProcessor):
    """What a client told; `begun` has the attributes that each span had at its beginning."""

    def __init__(self) -> None:
        self.begun: list[dict[str, Any]] = []
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self._tracers = TracerProvider(shutdown_on_exit=False)
        self._tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._tracers.add_span_processor(self)
        self._meters = MeterProvider([self._reader], shutdown_on_exit=False)

    def of(self, client: Any, **options: Any) -> None:
        """Have a client tell it."""
        instrument(client, tracer_provider=self._tracers, meter_provider=self._meters, **options)

    def on_start(self, span: Any, parent_context: object = None) -> None:
        self.begun.append(dict(span.attributes))

    @property
    def tracer(self) -> Tracer:
        return self._tracers.get_tracer("test")

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._spans.get_finished_spans())

    @property
    def calls(self) -> list[ReadableSpan]:
        return [span for span in self.spans if CALL in span.attributes]

    @property
    def call(self) -> ReadableSpan:
        (one,) = self.calls
        return one

    @property
    def posts(self) -> list[ReadableSpan]:
        """Of requests, in the order in which they ended."""
        return [span for span in self.spans if span.attributes.get(REQUEST) == "POST"]

    def points(self, metric: str) -> list[HistogramDataPoint]:
        data = self._reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for found in scope.metrics
            if found.name == metric
            for point in found.data.data_points
        ]

    def forget(self) -> None:
        self._spans.clear()


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def telling(talk: Callable[..., Talker], kept: Kept) -> Callable[..., Talker]:
    """Makes a `Talker` of each kind that tells `kept`: `telling(server, **options)`."""

    def made(servers: Any, *, contents: bool = False, **options: Any) -> Talker:
        talker = talk(servers, **options)
        kept.of(talker.client, contents=contents)
        return talker

    return made
