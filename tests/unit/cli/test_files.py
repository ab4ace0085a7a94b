"""Which files a command's arguments mean; `ocr` and `transcribe` mean the same by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_modalities.cli._ending import WrongUsage
from vllm_modalities.cli._files import files_of

KINDS = frozenset({".png"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b.png", "a.PNG", "note.txt", "deep/er/c.png", "deep/d[1].png", "d.png/e.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["b.png", "a.PNG"], ["b.png", "a.PNG"]),
        (["note.txt"], ["note.txt"]),
        (["deep"], ["deep/d[1].png", "deep/er/c.png"]),
        (["."], ["a.PNG", "b.png", "d.png/e.png", "deep/d[1].png", "deep/er/c.png"]),
        (["*.png"], ["b.png"]),
        (["**/*.png"], ["b.png", "d.png/e.png", "deep/d[1].png", "deep/er/c.png"]),
        (["deep/d[1].png"], ["deep/d[1].png"]),
        (["b.png", "*.png", "./b.png"], ["b.png"]),
        (["n*"], ["note.txt"]),
    ],
    ids=str,
)
def test_an_argument_is_a_file_a_folder_or_a_pattern_and_each_file_comes_once(
    folder: Path, arguments: list[str], expected: list[str]
) -> None:
    assert files_of(arguments, KINDS, what="page") == [Path(name) for name in expected]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("nowhere.png", "nowhere.png: no such file or folder"),
        ("empty", "empty: there is no page in it"),
        ("*.pdf", r"\*.pdf: no file fits it"),
        ("emp*", r"emp\*: no file fits it"),
    ],
)
def test_an_argument_that_means_nothing_is_refused_before_anything_is_read(
    folder: Path, argument: str, words: str
) -> None:
    with pytest.raises(WrongUsage, match=words):
        files_of(["b.png", argument], KINDS, what="page")
