"""Search by MaxSim: a vector a token for each sentence, kept as int8, and the best for a query.

VLLM_BASE_URL=http://gpu1:8000 python late_interaction.py

gpu1: vllm serve colbert-ir/colbertv2.0 --runner pooling
"""

import json
from pathlib import Path

from vllm_modalities import Client

ASSETS = Path(__file__).parent / "assets"

question = json.loads((ASSETS / "questions.json").read_text("utf-8"))["rerank"]

with Client() as client:  # a server of $VLLM_BASE_URL with a vector a token
    documents = client.embed_tokens(question["documents"]).quantize("int8")
    asked = client.embed_tokens(question["query"])

places, scores = asked.maxsim(documents, top_k=3)
print(f"{question['query']}  ({asked.lengths[0]} tokens, {documents})")
for place, score in zip(places[0], scores[0], strict=True):
    print(f"  {score:.2f}  {question['documents'][place]}")
