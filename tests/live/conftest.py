"""Real vLLM servers for the tests in this folder, started once for all of them.

A test says which it needs, and takes the fixture:

    @pytest.mark.servers("embed", "rerank")
    def test_it(servers: Rig) -> None:
        url = servers["embed"].base_url

What the collected tests name is started side by side before the first of them runs; any other
server starts when a test first asks for it. `nox -s live -- --release 0.23.0` takes another release
than the newest; tests of what came later fail there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from vllm_modalities._rig import Report, Rig, running
from vllm_modalities._rig.releases import RELEASE


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--release", default=RELEASE, help="of vLLM; see RELEASES of the rig")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "servers(*names): real servers, by their names in the rig")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("live")


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Report:
    """Lines on the terminal while they are news, also where pytest captures what tests print."""
    plugins = request.config.pluginmanager
    capture, terminal = plugins.get_plugin("capturemanager"), plugins.get_plugin("terminalreporter")
    assert capture is not None
    assert terminal is not None

    def report(line: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.write_line(f"  {line}")

    return report


@pytest.fixture(scope="session")
def release(request: pytest.FixtureRequest) -> str:
    """Of vLLM, on which the tests run."""
    found: str = request.config.getoption("--release")
    return found


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest, release: str, report: Report) -> Iterator[Rig]:
    marks = (mark for item in request.session.items for mark in item.iter_markers("servers"))
    names = (name for mark in marks for name in mark.args)
    with running(names, release=release, report=report) as rig:
        yield rig
