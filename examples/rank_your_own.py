"""Rank objects of your own, and score several queries against all of them.

VLLM_BASE_URL=http://gpu1:8000 python rank_your_own.py

gpu1: vllm serve BAAI/bge-reranker-v2-m3 --runner pooling
"""

import json
from pathlib import Path

from vllm_modalities import Client

ASSETS = Path(__file__).parent / "assets"

question = json.loads((ASSETS / "questions.json").read_text("utf-8"))["rerank"]
notes = [{"id": n, "body": text} for n, text in enumerate(question["documents"])]

with Client() as client:  # the servers of $VLLM_BASE_URL
    ranking = client.rerank(question["query"], notes, key="body", top_n=2)
    queries = [question["query"], "Where is Berlin?"]
    scores = client.score(queries, notes, key="body", pairs=False)

for found in ranking:
    print(f"note {found.document['id']}: {found.score:.3f}")
print(f"{len(queries)} queries, {len(notes)} notes: {scores}")
