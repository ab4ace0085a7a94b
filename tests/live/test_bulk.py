"""A job on a real server: its vectors are those of the client, also after it was ended half-way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from _both import KEY
from pyarrow import parquet, table

from vllm_modalities import Client, bulk
from vllm_modalities._rig import Rig

pytestmark = pytest.mark.servers("embed")


class EndedError(Exception):
    """The job's caller has had enough."""


def test_a_job_that_was_ended_goes_on_to_the_vectors_of_the_client(
    servers: Rig, tmp_path: Path
) -> None:
    texts = [
        None if row == 30 else f"Train {row} leaves at noon. " * (row % 5) for row in range(90)
    ]
    parquet.write_table(table({"id": range(90), "text": texts}), tmp_path / "in.parquet")
    out = tmp_path / "out"

    def enough(done: int, _: int | None) -> None:
        if done > 20:
            raise EndedError

    with Client(servers["embed"].base_url, api_key=KEY, max_concurrency=2) as client:
        options = {"out": out, "column": "text", "batch_size": 7, "shard_rows": 40}
        with pytest.raises(EndedError):
            bulk.embed(client, tmp_path / "in.parquet", progress=enough, **options)
        report = bulk.embed(client, tmp_path / "in.parquet", **options)
        expected = client.embed([text for text in texts if text is not None])
    assert (report.rows, report.failed, report.found > 0) == (90, 1, True)
    found = parquet.read_table(out)
    assert found["id"].to_pylist() == [row for row in range(90) if row != 30]
    np.testing.assert_allclose(np.array(found["embedding"].to_pylist()), expected, atol=1e-3)
