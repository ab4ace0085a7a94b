"""The pytest fixture `vllm_simulator`; until a test asks for it, nothing else is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .simulator import Simulator


def pytest_configure(config: pytest.Config) -> None:
    """Make the fixture's mark known."""
    config.addinivalue_line(
        "markers",
        "vllm_simulator(**settings): what vllm_modalities.simulator.simulate is told for a test",
    )


@pytest.fixture
def vllm_simulator(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    """Simulated vLLM servers, one a task: `Client(vllm_simulator.urls)`."""
    from .simulator import simulate

    mark = request.node.get_closest_marker("vllm_simulator")
    with simulate(**(mark.kwargs if mark else {})) as simulator:
        yield simulator
