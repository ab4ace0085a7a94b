"""The example for Ray on a real server gives the client's own vectors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from conftest import ASSETS
from pyarrow import parquet

from vllm_modalities import Client
from vllm_modalities._rig import running

CLOSE = 1e-5  # texts of one batch share a matrix product, so the last digits may differ


def test_the_example_s_vectors_are_the_client_s(tmp_path: Path) -> None:
    sentences = json.loads((ASSETS / "questions.json").read_text("utf-8"))["sentences"]
    with running(["embed"], report=print) as rig, Client(rig["embed"].base_url) as client:
        ran = subprocess.run(
            [sys.executable, str(ASSETS.parent / "ray_embed.py"), str(tmp_path)],
            env={
                **os.environ,
                "RAY_USAGE_STATS_ENABLED": "0",  # nothing is told to anyone
                "VLLM_BASE_URL": rig["embed"].base_url,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stderr
        expected = client.embed(sentences).vectors
    assert ran.stdout == f"2000 rows in {tmp_path}, 0 failed\n"
    table = parquet.read_table(tmp_path).sort_by("id")
    assert table["id"].to_pylist() == list(range(2000))
    found = np.array(table["vector"].to_pylist(), np.float32)
    assert np.abs(found - np.tile(expected, (400, 1))).max() < CLOSE
