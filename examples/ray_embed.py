"""Vectors of a table by Ray Data: on this machine's Ray, or unchanged on a cluster.

VLLM_BASE_URL=http://gpu1:8000,http://gpu2:8000 python ray_embed.py [FOLDER]

gpu1, gpu2: vllm serve BAAI/bge-m3 --runner pooling
Needs the extra `ray`. In a cluster: RAY_ADDRESS=auto, a folder that all nodes see, such as
s3://bucket/vectors, and addresses that they can reach. Ray adds to what is in the folder.
"""

import json
import os
import sys
from pathlib import Path

import ray
from pyarrow.dataset import dataset, field

from vllm_modalities.integrations.ray import EmbedBatch

ASSETS = Path(__file__).parent / "assets"
SERVERS = os.environ.get("VLLM_BASE_URL", "http://localhost:8000")

folder = sys.argv[1] if len(sys.argv) > 1 else str(Path("vectors").resolve())
sentences = json.loads((ASSETS / "questions.json").read_text("utf-8"))["sentences"]
rows = [{"id": number, "text": sentences[number % len(sentences)]} for number in range(2000)]

table = ray.data.from_items(rows)  # or ray.data.read_parquet(…): it never stands in memory whole
vectors = table.map_batches(
    EmbedBatch,
    fn_constructor_kwargs={"base_url": SERVERS, "column": "text"},
    compute=ray.data.ActorPoolStrategy(size=2),
    num_cpus=0.1,  # a worker waits for the servers
    batch_format="pyarrow",
    batch_size=500,
)
vectors.write_parquet(folder)

written = dataset(folder)
failed = written.count_rows(filter=field("error").is_valid())
print(f"{written.count_rows()} rows in {folder}, {failed} failed")
