"""Spans and metrics of a client's calls, by OpenTelemetry; needs the extra `otel`.

client = Client("http://localhost:8000")
instrument(client)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..integrations import missing

try:
    from opentelemetry import metrics, trace
except ModuleNotFoundError as error:
    raise missing("otel", error) from None

from ._call import Telemetry
from ._sending import traced
from ._watching import watching

if TYPE_CHECKING:
    from ..client import AsyncClient, Client

__all__ = ["instrument"]


def instrument(
    client: Client | AsyncClient,
    *,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
    contents: bool = False,
) -> None:
    """Give every call of a client a span, and every request of the call one under it.

    Clients that `client.with_options` makes afterwards have them too. A second call replaces the
    first.

    Args:
        client: It is changed, and otherwise stays as it is.
        tracer_provider, meter_provider: Where spans and metrics go; None are OpenTelemetry's global
            ones.
        contents: Record what was sent and read in words, and what errors say, which may quote it.
            Neither a key nor a file is recorded, whatever this says.

    Source: https://github.com/open-telemetry/semantic-conventions-genai, schema 1.42.0.
    """
    telemetry = Telemetry(tracer_provider, meter_provider, contents=contents)
    servers = [replica.url for replica in client._fleet.replicas]  # noqa: SLF001
    client._watch = watching(telemetry, servers)  # noqa: SLF001
    driver: Any = client._driver  # noqa: SLF001
    driver.transport = traced(driver.transport)
