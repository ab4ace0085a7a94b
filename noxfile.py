"""What is run on every change; plain `nox` runs all that needs no vLLM server."""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

nox.options.sessions = ["lint", "tests", "wheel", "docs"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True
nox.needs_version = ">=2024.4"

TEST = ["pytest>=8", "pytest-cov>=5", "hypothesis>=6.100", "trio>=0.25", "httpx2>=2.12"]
TEST += ["httptools>=0.6", "pybase64>=1.4", "trustme>=1"]
PEERS = ["openai", "cohere", "litellm", "baseten-performance-client", "huggingface_hub"]
PEERS += ["langchain-openai"]


@nox.session
def lint(session: nox.Session) -> None:
    """Style, and types as mypy and pyright see them."""
    session.install("-e", ".[cli]", "ruff>=0.8", "mypy>=1.13", "pyright[nodejs]>=1.1.390")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("pyright")


@nox.session
def tests(session: nox.Session) -> None:
    """Unit and property tests, without a server; every branch of the core is run."""
    session.install("-e", ".[cli]", *TEST)
    session.run(
        *("pytest", "tests/unit", "tests/property", "tests/docs"),
        *("--cov", "--cov-report=term-missing:skip-covered", "--cov-fail-under=100"),
        *session.posargs,
    )


@nox.session
def wheel(session: nox.Session) -> None:
    """The built wheel alone: installed where the source tree is not."""
    session.install("build>=1.2", *TEST)
    dist = Path(session.create_tmp()) / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(dist))
    (built,) = dist.glob("*.whl")
    session.install("--force-reinstall", "--no-deps", str(built))
    session.install(f"vllm-modalities[cli] @ {built.resolve().as_uri()}")
    elsewhere = Path(session.create_tmp()) / "elsewhere"
    shutil.rmtree(elsewhere, ignore_errors=True)
    shutil.copytree("tests", elsewhere / "tests")
    shutil.copy("pyproject.toml", elsewhere)
    session.chdir(elsewhere)
    session.run("pytest", "-q", "tests/unit")
    session.run("vllm-modalities", "demo", "--help", silent=True)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, into docs/_build; a warning is an error."""
    session.install("-e", ".", "-r", "docs/requirements.txt")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "docs/_build")


@nox.session
def live(session: nox.Session) -> None:
    """The tests against real vLLM servers on this machine's CPU; the first run installs vLLM."""
    session.install("-e", ".[cli]", *TEST)
    session.run("pytest", "tests/live", "-v", "--durations=15", *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """Every job once, on real vLLM servers on this machine's CPU."""
    session.install("-e", ".[cli]")
    session.run("vllm-modalities", "demo", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """What a call costs beside other clients, into docs/performance.md; `-- --real` needs vLLM."""
    session.install("-e", ".[cli,fast]", *PEERS)
    session.run("python", "benchmarks/importing.py")
    session.run("python", "benchmarks/report.py", *session.posargs)
