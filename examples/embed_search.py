"""Semantic search: the sentences that mean most nearly the same as a question.

VLLM_BASE_URL=http://gpu1:8000 python embed_search.py

gpu1: vllm serve BAAI/bge-m3 --runner pooling
"""

import json
from pathlib import Path

from vllm_modalities import Client

ASSETS = Path(__file__).parent / "assets"
QUESTION = "Which track does the Berlin train leave from?"

sentences = json.loads((ASSETS / "questions.json").read_text("utf-8"))["sentences"]

with Client() as client:  # the servers of $VLLM_BASE_URL
    library = client.embed(sentences)
    closeness = client.embed(QUESTION).similarity(library)[0]

print(QUESTION)
for place in closeness.argsort()[::-1]:
    print(f"  {closeness[place]:5.2f}  {sentences[place]}")
