"""Simulated servers for the frameworks to talk to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    """Ray on this machine, which starts once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anyone
        import ray

        ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100_000_000)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield ray
        ray.shutdown()
