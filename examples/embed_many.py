"""Many texts to a file of vectors, a batch at a time: memory does not grow with them.

VLLM_BASE_URL=http://gpu1:8000,http://gpu2:8000 python embed_many.py

gpu1, gpu2: vllm serve BAAI/bge-m3 --runner pooling
"""

import json
from pathlib import Path

import numpy as np

from vllm_modalities import Client

ASSETS = Path(__file__).parent / "assets"
COUNT = 2000

sentences = json.loads((ASSETS / "questions.json").read_text("utf-8"))["sentences"]
texts = (f"{number}. {sentences[number % len(sentences)]}" for number in range(COUNT))

with Client() as client, Path("vectors.f32").open("wb") as file:  # $VLLM_BASE_URL
    for batch in client.embed_iter(texts):
        batch.vectors.tofile(file)
        width = batch.dimensions

vectors = np.memmap("vectors.f32", np.float32, "r", shape=(COUNT, width))
print(f"{len(vectors)} vectors of {width} numbers, {vectors.nbytes / 1e6:.1f} MB in vectors.f32")
