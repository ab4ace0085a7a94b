"""Simulated servers for the frameworks to talk to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from PIL import Image

from vllm_modalities import AsyncClient, Client
from vllm_modalities.simulator import Simulator, simulate

TEXTS = ["Bread rises since yeast makes gas.", "Trains to Berlin leave at noon.", "A cat sleeps."]
QUERY = "trains to Berlin"
ASSETS = Path(__file__).parents[2] / "examples" / "assets"


@pytest.fixture(scope="session")
def servers() -> Iterator[Simulator]:
    with simulate() as running:
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


@pytest.fixture(scope="session")
def recording() -> Path:
    return ASSETS / "speech-en-us.flac"


@pytest.fixture(scope="session")
def silence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording in which nobody speaks."""
    path = tmp_path_factory.mktemp("sounds") / "silence.wav"
    soundfile.write(path, np.zeros(16_000, np.float32), 16_000)
    return path


@pytest.fixture(scope="session")
def scans(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A TIFF of two pages, and a PNG."""
    folder = tmp_path_factory.mktemp("scans")
    page = Image.open(ASSETS / "invoice.png").convert("RGB")
    page.save(folder / "two.tiff", save_all=True, append_images=[page])
    page.save(folder / "one.png")
    return [folder / "two.tiff", folder / "one.png"]
