"""The clients that are compared, each asked in its own usual way for one array of float32."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
JSON = {"Content-Type": "application/json"}


class Way:
    """One client.

    Args:
        url: The server.
        width: Of the model's vectors.
        model: Its name.
    """

    packages: tuple[str, ...] = ()
    """What has to be installed for it."""
    importing = ""
    """What a program that uses it begins with."""

    def __init__(self, url: str, width: int, model: str) -> None:
        self.url, self.width, self.model = url, width, model

    def call(self, texts: list[str]) -> Matrix:
        """One request with all texts."""
        raise NotImplementedError

    def bulk(self, texts: list[str], batch: int, in_flight: int) -> None:
        """Many requests of `batch` texts, `in_flight` at a time."""
        raise NotImplementedError


def parts(texts: Sequence[str], batch: int) -> Iterator[Sequence[str]]:
    return (texts[i : i + batch] for i in range(0, len(texts), batch))


async def at_once(
    ask: Callable[[list[str]], Awaitable[object]], texts: list[str], batch: int, in_flight: int
) -> None:
    work = parts(texts, batch)

    async def pull() -> None:
        for part in work:
            await ask(list(part))

    await asyncio.gather(*[pull() for _ in range(in_flight)])


class Raw(Way):
    """The limit: http.client, raw bytes, numpy.frombuffer, and one connection a thread."""

    importing = "import http.client, numpy"

    def __init__(self, url: str, width: int, model: str) -> None:
        super().__init__(url, width, model)
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.url).netloc)

    def body(self, texts: Sequence[str]) -> bytes:
        wire = {"encoding_format": "bytes_only", "endianness": "little"}
        return json.dumps({"model": self.model, "input": texts, **wire}).encode()

    def _ask(self, connection: http.client.HTTPConnection, texts: Sequence[str]) -> Matrix:
        connection.request("POST", "/v1/embeddings", self.body(texts), JSON)
        content = connection.getresponse().read()
        return np.frombuffer(content, np.float32).reshape(len(texts), self.width)

    def call(self, texts: list[str]) -> Matrix:
        return self._ask(self._connection, texts)

    def bulk(self, texts: list[str], batch: int, in_flight: int) -> None:
        work, lock = parts(texts, batch), threading.Lock()

        def pull() -> None:
            connection = self._connect()
            while True:
                with lock:
                    part = next(work, None)
                if part is None:
                    return
                self._ask(connection, part)

        threads = [threading.Thread(target=pull) for _ in range(in_flight)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Httpx(Raw):
    """httpx by itself, raw bytes."""

    packages = ("httpx", "numpy")
    importing = "import httpx, numpy"

    def __init__(self, url: str, width: int, model: str) -> None:
        super().__init__(url, width, model)
        import httpx

        self._library, self._client = httpx, httpx.Client()
        self._path = f"{url}/v1/embeddings"

    def call(self, texts: list[str]) -> Matrix:
        content = self._client.post(self._path, content=self.body(texts), headers=JSON).content
        return np.frombuffer(content, np.float32).reshape(len(texts), self.width)

    def bulk(self, texts: list[str], batch: int, in_flight: int) -> None:
        async def main() -> None:
            limits = self._library.Limits(max_connections=None, max_keepalive_connections=in_flight)
            async with self._library.AsyncClient(limits=limits) as client:

                async def ask(part: list[str]) -> None:
                    answer = await client.post(self._path, content=self.body(part), headers=JSON)
                    np.frombuffer(answer.content, np.float32)

                await at_once(ask, texts, batch, in_flight)

        asyncio.run(main())


class Ours(Way):
    """`Client`."""

    packages = ("vllm-modalities",)
    importing = "from vllm_modalities import Client"

    def __init__(self, url: str, width: int, model: str) -> None:
        super().__init__(url, width, model)
        self._clients: dict[int, Any] = {}

    def client(self, in_flight: int) -> Any:
        from vllm_modalities import Client

        if in_flight not in self._clients:
            self._clients[in_flight] = Client(
                self.url, model=self.model, transport="bytes", max_concurrency=in_flight
            )
            self._clients[in_flight].embed("a")  # it asks the server who it is, and the width
        return self._clients[in_flight]

    def call(self, texts: list[str]) -> Matrix:
        vectors: Matrix = self.client(32).embed(texts, batch_size=len(texts)).vectors
        return vectors

    def bulk(self, texts: list[str], batch: int, in_flight: int) -> None:
        self.client(in_flight).embed(texts, batch_size=batch)


class OursAsync(Ours):
    """`AsyncClient`; an event loop runs all the time, as in a server that calls another."""

    importing = "from vllm_modalities import AsyncClient"

    def __init__(self, url: str, width: int, model: str) -> None:
        super().__init__(url, width, model)
        self._loop = asyncio.new_event_loop()

    def client(self, in_flight: int) -> Any:
        from vllm_modalities import AsyncClient

        if in_flight not in self._clients:
            self._clients[in_flight] = AsyncClient(
                self.url, model=self.model, transport="bytes", max_concurrency=in_flight
            )
            self._loop.run_until_complete(self._clients[in_flight].embed("a"))
        return self._clients[in_flight]

    def call(self, texts: list[str]) -> Matrix:
        asked = self.client(32).embed(texts, batch_size=len(texts))
        vectors: Matrix = self._loop.run_until_complete(asked).vectors
        return vectors

    def bulk(self, texts: list[str], batch: int, in_flight: int) -> None:
        asked = self.client(in_flight).embed(texts, batch_size=batch)
        self._loop.run_until_complete(asked)


class OpenAI(Way):
    """openai as it comes: base64 on the wire, lists of numbers in the hand."""

    packages = ("openai", "numpy")
    importing = "from openai import OpenAI"

    def __init__(self, url: str, width: int, model: str) -> None:
        super().__init__(url, width, model)
        import openai

        self._options = {"base_url": f"{url}/v1", "api_key": "none"}
        self._library, self._client = openai, openai.OpenAI(**self._options)

    def call(self, texts: list[str]) -> Matrix:
        found = self._client.embeddings.create(model=self.model, input=texts)
        return np.array([row.embedding for row in found.data], np.float32)

    def bulk(self, texts: list[str], batch: int, in_flight: int) -> None:
        async def main() -> None:
            async with self._library.AsyncOpenAI(**self._options) as client:

                async def ask(part: list[str]) -> None:
                    found = await client.embeddings.create(model=self.model, input=part)
                    np.array([row.embedding for row in found.data], np.float32)

                await at_once(ask, texts, batch, in_flight)

        asyncio.run(main())


class Cohere(Way):
    """cohere against `/v2/embed`, numbers."""

    packages = ("cohere", "numpy")
    importing = "from cohere import ClientV2"

    def __init__(self, url: str, width: int, model: str) -> None:
        super().__init__(url, width, model)
        import cohere

        self._client = cohere.ClientV2(base_url=url, api_key="none")

    def call(self, texts: list[str]) -> Matrix:
        found = self._client.embed(
            model=self.model, texts=texts, input_type="search_query", embedding_types=["float"]
        )
        return np.array(found.embeddings.float_, np.float32)


class LiteLLM(Way):
    """litellm's provider for vLLM."""

    packages = ("litellm", "numpy")
    importing = "from litellm import embedding"

    def __init__(self, url: str, width: int, model: str) -> None:
        super().__init__(url, width, model)
        import litellm

        self._library = litellm
        self._options = {
            "model": f"hosted_vllm/{self.model}",
            "api_base": f"{url}/v1",
            "api_key": "none",
            "encoding_format": "float",
        }

    def call(self, texts: list[str]) -> Matrix:
        found = self._library.embedding(input=texts, **self._options)
        return np.array([row["embedding"] for row in found.data], np.float32)

    def bulk(self, texts: list[str], batch: int, in_flight: int) -> None:
        async def ask(part: list[str]) -> None:
            found = await self._library.aembedding(input=part, **self._options)
            np.array([row["embedding"] for row in found.data], np.float32)

        asyncio.run(at_once(ask, texts, batch, in_flight))


class Baseten(Way):
    """baseten-performance-client (Rust), numbers; it sends 128 texts in a request at most."""

    packages = ("baseten-performance-client", "numpy")
    importing = "from baseten_performance_client import PerformanceClient"
    form: str | None = None

    def __init__(self, url: str, width: int, model: str) -> None:
        super().__init__(url, width, model)
        import baseten_performance_client as baseten

        self._library = baseten
        self._client = baseten.PerformanceClient(base_url=url, api_key="none")

    def _asked(self, texts: list[str], batch: int, in_flight: int) -> Any:
        preference = self._library.RequestProcessingPreference(
            batch_size=batch, max_concurrent_requests=in_flight, max_chars_per_request=1_000_000
        )
        return self._client.embed(texts, self.model, self.form, preference=preference)

    def call(self, texts: list[str]) -> Matrix:
        vectors: Matrix = self._asked(texts, 128, 32).numpy()
        return vectors

    def bulk(self, texts: list[str], batch: int, in_flight: int) -> None:
        self._asked(texts, batch, in_flight).numpy()


class BasetenBase64(Baseten):
    """The same with base64, which it leaves to its user to decode."""

    form = "base64"

    def call(self, texts: list[str]) -> Matrix:
        import base64

        rows = [base64.b64decode(row.embedding) for row in self._asked(texts, 128, 32).data]
        return np.frombuffer(b"".join(rows), np.float32).reshape(len(texts), self.width)

    def bulk(self, texts: list[str], batch: int, in_flight: int) -> None:
        import base64

        found = self._asked(texts, batch, in_flight)
        np.frombuffer(b"".join(base64.b64decode(row.embedding) for row in found.data), np.float32)


class HuggingFace(Way):
    """huggingface_hub's feature extraction, from a server that speaks its schema."""

    packages = ("huggingface_hub", "numpy")
    importing = "from huggingface_hub import InferenceClient"

    def __init__(self, url: str, width: int, model: str) -> None:
        super().__init__(url, width, model)
        import huggingface_hub

        self._client = huggingface_hub.InferenceClient(f"{url}/{self.model}", token="none")

    def call(self, texts: list[str]) -> Matrix:
        return np.asarray(self._client.feature_extraction(texts), np.float32)


class LangChain(Way):
    """langchain-openai, which sends text as vLLM needs it only when told to."""

    packages = ("langchain-openai", "numpy")
    importing = "from langchain_openai import OpenAIEmbeddings"

    def __init__(self, url: str, width: int, model: str) -> None:
        super().__init__(url, width, model)
        import langchain_openai

        self._client = langchain_openai.OpenAIEmbeddings(
            model=self.model,
            base_url=f"{url}/v1",
            api_key="none",
            check_embedding_ctx_length=False,
            chunk_size=2048,
        )

    def call(self, texts: list[str]) -> Matrix:
        return np.array(self._client.embed_documents(texts), np.float32)


WAYS: dict[str, type[Way]] = {
    "raw limit": Raw,
    "httpx, raw bytes": Httpx,
    "ours": Ours,
    "ours, async": OursAsync,
    "ours, fast": Ours,
    "ours, fast, async": OursAsync,
    "baseten": Baseten,
    "baseten, base64": BasetenBase64,
    "openai": OpenAI,
    "cohere": Cohere,
    "huggingface_hub": HuggingFace,
    "litellm": LiteLLM,
    "langchain-openai": LangChain,
}
