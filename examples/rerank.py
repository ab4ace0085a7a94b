"""Order documents by how well they answer a question, best first.

VLLM_BASE_URL=http://gpu1:8000 python rerank.py

gpu1: vllm serve BAAI/bge-reranker-v2-m3 --runner pooling
"""

import json
from pathlib import Path

from vllm_modalities import Client

ASSETS = Path(__file__).parent / "assets"

question = json.loads((ASSETS / "questions.json").read_text("utf-8"))["rerank"]

with Client() as client:  # the servers of $VLLM_BASE_URL
    ranking = client.rerank(question["query"], question["documents"], top_n=3)

print(f"{question['query']}  ({ranking.model}, scores of a {ranking.score_type})")
for rank, found in enumerate(ranking, 1):
    print(f"  {rank}. {found.score:.3f}  {found.document}")
