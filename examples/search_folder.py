"""Semantic search over a folder of texts: the nearest paragraphs, then the best of them.

VLLM_BASE_URL=http://gpu1:8000,http://gpu2:8000 python search_folder.py FOLDER QUESTION

gpu1: vllm serve BAAI/bge-m3 --runner pooling
gpu2: vllm serve BAAI/bge-reranker-v2-m3 --runner pooling
"""

import sys
from pathlib import Path

from vllm_modalities import Client

folder, question = Path(sys.argv[1]), sys.argv[2]
paragraphs = [
    {"file": file.name, "text": text}
    for file in sorted([*folder.rglob("*.md"), *folder.rglob("*.txt")])
    for text in map(str.strip, file.read_text("utf-8").split("\n\n"))
    if text
]

with Client() as client:
    library = client.embed([one["text"] for one in paragraphs])
    places, _ = library.nearest(client.embed(question), k=20)
    near = [paragraphs[place] for place in places[0]]
    best = client.rerank(question, near, key="text", top_n=3)

for found in best:
    print(f"{found.score:.3f}  {found.document['file']}: {found.document['text']}")
