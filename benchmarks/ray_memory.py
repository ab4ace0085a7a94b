"""How much memory the driver of a Ray Data job holds, by the number of rows (extra `ray`; Linux).

A table is made, embedded over a simulated server in a process of its own (extra `simulator`), and
written to Parquet, by two workers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

PAGE = os.sysconf("SC_PAGE_SIZE")
SERVER = ("-m", "vllm_modalities", "simulate", "--task", "embed", "--port", "0", "--json")


def size() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def job(rows: int, url: str, folder: str) -> None:
    """Embed so many rows."""
    import ray

    from vllm_modalities.integrations.ray import EmbedBatch

    def worded(batch: Any) -> Any:
        return {**batch, "text": [f"the train number {at} to Berlin" for at in batch["id"]]}

    table = ray.data.range(rows, override_num_blocks=max(4, rows // 10_000)).map_batches(worded)
    embedded = table.map_batches(
        EmbedBatch,
        fn_constructor_kwargs={"base_url": url},
        compute=ray.data.ActorPoolStrategy(size=2),
        num_cpus=0.1,
        batch_format="pyarrow",
        batch_size=4096,
    )
    embedded.write_parquet(folder)


def greatest(rows: int, url: str) -> tuple[int, float]:
    """Bytes that this process had at most during a job, and its seconds."""
    most, over = [size()], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            most[0] = max(most[0], size())

    watching, begun = threading.Thread(target=watch), time.monotonic()
    watching.start()
    with tempfile.TemporaryDirectory() as folder:
        job(rows, url, folder)
    over.set()
    watching.join()
    return most[0], time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000, 400_000])
    given = parser.parse_args()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=400_000_000)
    ray.data.DataContext.get_current().enable_progress_bars = False
    with subprocess.Popen([sys.executable, *SERVER], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["urls"]["embed"]
        print("| rows | vectors, MB | driver at most, MB | seconds |\n|---|---|---|---|")
        for rows in given.rows:
            most, seconds = greatest(rows, url)
            print(f"| {rows:,} | {rows * 384 * 4 / 1e6:,.0f} | {most / 1e6:.0f} | {seconds:.0f} |")
        server.terminate()


if __name__ == "__main__":
    main()
