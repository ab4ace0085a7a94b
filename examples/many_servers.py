"""One client, several servers: every job at once, each on the server that does it.

VLLM_BASE_URL=http://gpu1:8000,http://gpu2:8000,… python many_servers.py

gpu1 to gpu4: what `vllm-modalities recipe` prints for BAAI/bge-m3, BAAI/bge-reranker-v2-m3,
openai/whisper-large-v3-turbo and deepseek-ai/DeepSeek-OCR
"""

import asyncio
import json
from pathlib import Path

from vllm_modalities import AsyncClient

ASSETS = Path(__file__).parent / "assets"


async def main() -> None:
    samples = json.loads((ASSETS / "questions.json").read_text("utf-8"))
    query, documents = samples["rerank"]["query"], samples["rerank"]["documents"]
    async with AsyncClient() as client:  # the servers of $VLLM_BASE_URL
        for server in await client.servers():
            models = ", ".join(model.id for model in server.models)
            print(
                f"{server.url}  vLLM {server.version}  {models}: {', '.join(sorted(server.tasks))}"
            )
        vectors, ranking, speech, document = await asyncio.gather(
            client.embed(samples["sentences"]),
            client.rerank(query, documents, top_n=1),
            client.transcribe(ASSETS / "speech-en-us.flac", language="en"),
            client.ocr(ASSETS / "invoice.png", max_tokens=200),
        )
    print(f"embed       {len(vectors)} sentences, {vectors.dimensions} numbers each")
    print(f"rerank      {ranking[0].document}")
    print(f"transcribe  {speech.text}")
    print(f"ocr         {len(document.text)} characters, {len(document.pages[0].blocks)} blocks")


asyncio.run(main())
