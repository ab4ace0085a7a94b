"""Simulated servers for the frameworks to talk to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vllm_modalities import AsyncClient, Client
from vllm_modalities.simulator import Simulator, simulate

TEXTS = ["Bread rises since yeast makes gas.", "Trains to Berlin leave at noon.", "A cat sleeps."]
QUERY = "trains to Berlin"


@pytest.fixture(scope="session")
def servers() -> Iterator[Simulator]:
    with simulate(tasks=["embed", "rerank"]) as running:
        yield running


@pytest.fixture
def client(servers: Simulator) -> Iterator[Client]:
    with Client(servers.urls) as client:
        yield client


@pytest.fixture
def async_client(servers: Simulator) -> AsyncClient:
    return AsyncClient(servers.urls)
