"""Settings of every test: hypothesis never fails a test for being slow."""

import gc
import os
from collections.abc import Callable, Iterator

import httpx
import httpx2
import pytest
from _script import KINDS, Talker, instant
from hypothesis import settings

for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(name, None)  # rich and typer would colour what tests read; some read it once

settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=100, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each of the clients, and of the event loops."""
    found: str = request.param
    return found


@pytest.fixture(params=KINDS)
def talk(request: pytest.FixtureRequest) -> Callable[..., Talker]:
    """Makes a `Talker` of each kind: `talk(server, **options)`."""
    return lambda servers, **options: Talker(request.param, servers, **options)


@pytest.fixture(params=[httpx, httpx2], ids=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> object:
    return request.param


@pytest.fixture(autouse=True, scope="module")
def nothing_stays_open() -> Iterator[None]:
    """What a module's tests did not close is told there, and not wherever memory is next freed."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the shell says is not what the tests are about."""
    for name in ("VLLM_BASE_URL", "VLLM_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pauses() -> Iterator[list[float]]:
    """Pauses take no time; they are noted here."""
    with instant() as noted:
        yield noted
