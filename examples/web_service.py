"""A web service of your own over the servers: FastAPI, and one client for all requests.

VLLM_BASE_URL=http://gpu1:8000,http://gpu2:8000 uvicorn web_service:app --port 9000
curl localhost:9000/best --json '{"question": "…", "texts": ["…", "…"]}'
curl localhost:9000/transcribe --data-binary @talk.wav

gpu1: vllm serve BAAI/bge-reranker-v2-m3 --runner pooling
gpu2: vllm serve openai/whisper-large-v3-turbo
Needs fastapi and uvicorn.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Body, FastAPI, Request
from fastapi.responses import JSONResponse

from vllm_modalities import (
    AsyncClient,
    InvalidRequestError,
    MediaError,
    VLLMModalitiesError,
)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, AsyncClient]]:
    async with AsyncClient(timeout=60) as client:  # its connections and what it knows are shared
        yield {"client": client}


app = FastAPI(lifespan=lifespan)


@app.post("/best")
async def best(
    request: Request, question: Annotated[str, Body()], texts: Annotated[list[str], Body()]
) -> dict[str, str | float]:
    client: AsyncClient = request.state.client
    found = (await client.rerank(question, texts, top_n=1))[0]
    return {"text": found.document, "score": found.score}


@app.post("/transcribe")
async def transcribe(request: Request) -> dict[str, str]:
    client: AsyncClient = request.state.client
    speech = await client.transcribe(await request.body())
    return {"text": speech.text, "srt": speech.to_srt()}


@app.exception_handler(VLLMModalitiesError)
async def failed(_: Request, error: VLLMModalitiesError) -> JSONResponse:
    """The caller's own mistakes are a 422, the servers' a 502."""
    status = 422 if isinstance(error, InvalidRequestError | MediaError) else 502
    return JSONResponse({"error": str(error)}, status)
