"""Semantic search over a folder of texts: the nearest paragraphs, then the best of them.

VLLM_BASE_URL=http://gpu1:8000,http://gpu2:8000 python search_folder.py FOLDER QUESTION

gpu1: vllm serve BAAI/bge-m3 --runner pooling
gpu2: vllm serve BAAI/bge-reranker-v2-m3 --runner pooling
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from vllm_modalities import Client


def paragraphs(folder: Path) -> Iterator[dict[str, str]]:
    """Those of all texts, each under the heading that it stands under."""
    for file in sorted([*folder.rglob("*.md"), *folder.rglob("*.txt")]):
        heading = ""
        for paragraph in file.read_text("utf-8", errors="replace").split("\n\n"):
            text = " ".join(paragraph.split())
            if text.startswith("#"):
                heading = text.lstrip("# ")
            elif text:
                yield {"file": str(file.relative_to(folder)), "heading": heading, "text": text}


if len(sys.argv) != 3:
    sys.exit(__doc__)
folder, question = Path(sys.argv[1]), sys.argv[2]
library = list(paragraphs(folder))
if not library:
    sys.exit(f"There is no .md or .txt file with words in {folder}.")

with Client() as client:
    vectors = client.embed([f"{one['heading']}\n{one['text']}".strip() for one in library])
    places, _ = vectors.nearest(client.embed(question), k=20)
    near = [library[place] for place in places[0]]
    best = client.rerank(question, near, key="text", top_n=3)

for found in best:
    print(f"{found.score:.3f}  {found.document['file']}: {found.document['text']}")
