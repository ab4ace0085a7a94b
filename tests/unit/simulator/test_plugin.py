"""The fixture `vllm_simulator`: what users of pytest get with the extra."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from vllm_modalities import Client, _pytest
from vllm_modalities.simulator import releases

ROOT = Path(__file__).parents[3]
NEWEST = releases("embed", "rerank", "transcribe", "ocr")[-1]


def test_the_fixture_gives_a_server_for_each_task(vllm_simulator) -> None:
    assert vllm_simulator.version == NEWEST
    with Client(vllm_simulator.urls) as client:
        tasks = frozenset().union(*(server.tasks for server in client.servers()))
    assert {"embed", "rerank", "score", "transcribe", "translate", "ocr"} <= tasks


@pytest.mark.vllm_simulator(tasks=["embed"], version=NEWEST)
def test_a_mark_says_what_is_simulated(vllm_simulator) -> None:
    assert len(vllm_simulator.urls) == 1
    with Client(vllm_simulator.url) as client:
        assert len(client.embed("a")) == 1


@pytest.mark.vllm_simulator(tasks=["embed"])
def test_each_test_has_servers_of_its_own(vllm_simulator) -> None:
    assert vllm_simulator.count == 0


def test_loading_the_plugin_loads_nothing_but_pytest() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import vllm_modalities._pytest;"
        "print(*sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    assert ran.stdout.split() == ["vllm_modalities", "vllm_modalities._pytest"]


TEST = """
def test_it(vllm_simulator):
    pass
"""


def run(folder: Path, *prelude: str) -> subprocess.CompletedProcess[str]:
    """pytest with the plugin, on one test that asks for the fixture."""
    (folder / "test_it.py").write_text(TEST)
    code = "; ".join(("import sys, pytest", *prelude, "sys.exit(pytest.main(sys.argv[1:]))"))
    return subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "vllm_modalities._pytest",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )


def test_pytest_runs_with_the_plugin(tmp_path) -> None:
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_without_the_extra_the_fixture_says_what_is_missing(tmp_path) -> None:
    ran = run(tmp_path, "sys.modules['starlette'] = None")
    assert ran.returncode == 1
    assert (
        "simulated servers need starlette: pip install 'vllm-modalities[simulator]'" in ran.stdout
    )


def test_the_entry_point_names_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"vllm_modalities": _pytest.__name__}
