"""The page on testing applications: its test files pass, and its other blocks do what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs._pages import ROOT, Block, blocks, run

PAGE = ROOT / "docs" / "testing-your-application.md"
BLOCKS = blocks(PAGE)
FILES = [block for block in BLOCKS if "\ndef test_" in block.code]


def lines(block: Block) -> int:
    return len(block.code.splitlines())


def test_the_first_block_is_a_test_file_of_ten_lines() -> None:
    assert BLOCKS[0] in FILES
    assert lines(BLOCKS[0]) <= 10


@pytest.mark.parametrize("block", FILES, ids=str)
def test_a_test_file_passes_with_the_plugin_alone(block: Block, tmp_path: Path) -> None:
    (tmp_path / "test_application.py").write_text(block.code, "utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "vllm_modalities._pytest", "--strict-markers"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": ":".join(filter(None, [str(ROOT), *sys.path])),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout


def test_the_other_blocks_do_what_they_say() -> None:
    namespace: dict[str, object] = {}
    held = [run(block, namespace, {}) for block in BLOCKS if block not in FILES]
    assert sum(held) >= 7


def test_every_fault_is_in_the_table() -> None:
    from typing import get_args

    from vllm_modalities.simulator._faults import Kind

    told = set(re.findall(r'^\| `"(\w+)"`', PAGE.read_text("utf-8"), re.MULTILINE))
    assert told | {"status"} == set(get_args(Kind))
