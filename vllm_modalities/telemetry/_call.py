"""One call of a client as a span and as metrics, in the words of the GenAI conventions.

Source: opentelemetry-semantic-conventions 0.66b2, which has these names as GenAI 1.42.0 has them.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from opentelemetry import context as contexts
from opentelemetry import metrics, propagate, trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from ..errors import PartialFailureError
from ._contents import read

NAME = "vllm_modalities"
SCHEMA = "https://opentelemetry.io/schemas/gen-ai/1.42.0"

# What the conventions call our methods; they have no word for the others, which keep their own.
OPERATIONS = dict.fromkeys(
    ("embed", "embed_iter", "embed_tokens", "embed_sparse"), "embeddings"
) | {"ocr_iter": "ocr", "stream_transcription": "transcribe"}

# Bounds of the histograms' buckets, as the conventions ask for.
SECONDS = [0.01 * 2**n for n in range(14)]
TOKENS = [4**n for n in range(14)]

Attributes = dict[str, AttributeValue]


class Telemetry:
    """Where spans and metrics go.

    Args:
        tracer_provider, meter_provider: None are the global ones.
        contents: Whether words that were sent and read are recorded.
    """

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None,
        meter_provider: metrics.MeterProvider | None,
        *,
        contents: bool,
    ) -> None:
        self.contents = contents
        self.tracer = trace.get_tracer(NAME, None, tracer_provider, SCHEMA)
        meter = metrics.get_meter(NAME, "", meter_provider, SCHEMA)
        self.duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=TOKENS,
        )

    def status(self, error: BaseException) -> Status:
        """A failed span's; an error's words may quote what was sent, and so are contents."""
        return Status(StatusCode.ERROR, str(error) if self.contents else None)


class Call:
    """One call: a context from its beginning to its end, under the span where it was made.

    Args:
        method: The client's method.
        model: The model that was asked for, if one was.
        where: The server, if there is one alone.

    Attributes:
        context: What its requests' spans stand under.
        is_recorded: Whether it is sampled; the requests of one that is not have no spans either,
            as most samplers would have it.
        headers: What tells servers that it is not.
        may_be_left: Whether giving it up half-way is no error.
        left: Whether whoever reads it wants no more, so that it ends half-way.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        method: str,
        model: str | None,
        where: Attributes,
    ) -> None:
        self.telemetry = telemetry
        self.context = contexts.get_current()
        self.headers: dict[str, str] = {}
        self._operation = OPERATIONS.get(method, method)
        self.may_be_left = self.left = False
        self._live = False  # and none of its text is there
        self._lock = threading.Lock()  # batches end side by side
        self._found: Attributes = {}  # for the span alone
        self._counted = False
        self._read = self._written = 0
        self._shared: Attributes = {  # by the span and the metrics
            "gen_ai.operation.name": self._operation,
            "gen_ai.provider.name": "vllm",
            **where,
        }
        if model is not None:
            self._shared["gen_ai.request.model"] = model

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        self._span = self.telemetry.tracer.start_span(
            self._named(), self.context, SpanKind.CLIENT, self._shared
        )
        self.context = trace.set_span_in_context(self._span, self.context)
        self.is_recorded = self._span.is_recording()
        if not self.is_recorded:
            propagate.inject(self.headers, self.context)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, PartialFailureError):
            self.gave(error.results)
        if error is not None:
            self._failed(error)
        telemetry, shared = self.telemetry, dict(self._shared)  # metrics keep it
        telemetry.duration.record(time.perf_counter() - self._began, shared, self.context)
        for count, name, counted in (
            (self._read, "input", self._counted),
            (self._written, "output", self._written),
        ):
            if counted:
                self._found[f"gen_ai.usage.{name}_tokens"] = count
                of_type = shared | {"gen_ai.token.type": name}
                telemetry.tokens.record(count, of_type, self.context)
        self._span.set_attributes(self._found)
        self._span.end()

    def asked(self, model: str) -> None:
        """A request goes out for this model."""
        if "gen_ai.request.model" not in self._shared:
            self._shared["gen_ai.request.model"] = self._found["gen_ai.request.model"] = model
            self._span.update_name(self._named())

    def is_live(self) -> None:
        """Its text is told while it comes."""
        self._live = self.may_be_left = True
        self._found["gen_ai.request.stream"] = True

    def told(self) -> None:
        """Some of its text is there."""
        if self._live:
            self._live = False
            seconds = time.perf_counter() - self._began
            self._found["gen_ai.response.time_to_first_chunk"] = seconds

    def gave(self, result: Any) -> None:
        """Note what its result, or one of many, tells of it."""
        usage = getattr(result, "usage", None)
        if usage is not None:
            with self._lock:
                self._counted = True
                self._read += usage.prompt_tokens
                self._written += usage.total_tokens - usage.prompt_tokens
        if model := getattr(result, "model", None):
            self._shared["gen_ai.response.model"] = self._found["gen_ai.response.model"] = model
        if width := getattr(result, "dimensions", None):
            self._found["gen_ai.embeddings.dimension.count"] = width

    def said(self, result: Any) -> None:
        """Record the words of its result, if contents are wanted."""
        if self.telemetry.contents and (messages := read(result)):
            self._found["gen_ai.output.messages"] = messages

    def _failed(self, error: BaseException) -> None:
        if self.left or (self.may_be_left and isinstance(error, GeneratorExit)):
            return
        self._shared["error.type"] = self._found["error.type"] = kind_of(error)
        self._span.set_status(self.telemetry.status(error))

    def _named(self) -> str:
        return f"{self._operation} {self._shared.get('gen_ai.request.model', '')}".rstrip()


def kind_of(error: BaseException) -> str:
    """What an error is called; asyncio, trio and generators have each its own word for one."""
    return type(error).__name__ if isinstance(error, Exception) else "cancelled"


def server_of(url: str) -> Attributes:
    """Where a server is."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return {"server.address": parts.hostname or "", "server.port": port}
