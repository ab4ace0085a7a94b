"""Scripted vLLM servers, and three ways to put them before the package without a socket.

`FakeVLLM` answers like one release with one model; faults are put into its answers on demand.
`Talker` calls it through either client and httpx's (or httpx2's) mock transport; `Play` runs a flow
by `step()` alone, under a clock that only `Sleep` moves.
"""

from __future__ import annotations

import base64
import email
import email.policy
import json
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

import anyio
import anyio.lowlevel
import httpx
import numpy as np

from vllm_modalities import APIConnectionError, AsyncClient, Client
from vllm_modalities._context import Context, Options
from vllm_modalities._fleet import Fleet, replicas_of
from vllm_modalities._flow import (
    Alone,
    Done,
    Request,
    Response,
    Sleep,
    Together,
    Work,
    said,
    step,
)
from vllm_modalities.errors import ResponseError, VLLMModalitiesError, status_class
from vllm_modalities.vectors.precision import PRECISIONS

URL = "http://server"
BLOCKING, ASYNCIO, TRIO = KINDS = ("blocking", "asyncio", "trio")

RERANKS = ("/rerank", "/v1/rerank", "/v2/rerank", "/score", "/v1/score")
ROUTES = {
    "embed": ("/v1/embeddings", "/v2/embed", *RERANKS),
    "cross-encoder": ("/classify", *RERANKS),
    "late-interaction": ("/pooling", *RERANKS),
    "chat": ("/v1/chat/completions",),
    "speech": ("/v1/audio/transcriptions", "/v1/audio/translations"),
    "tokens": ("/tokenize", "/detokenize"),
}


@dataclass(frozen=True)
class Answer:
    """What comes back.

    Attributes:
        broken: The name of httpx's exception that comes instead.
        cut: Whether the body breaks off half-way.
        endless: Called before each part of a body that never ends.
        silent: Whether nothing ever comes.
    """

    status: int = 200
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    broken: str = ""
    cut: bool = False
    endless: Callable[[], object] | None = None
    silent: bool = False


Fault = Callable[[Answer], Answer]


def as_is(answer: Answer) -> Answer:
    return answer


def cut(answer: Answer) -> Answer:
    return replace(answer, cut=True)


def broken(name: str) -> Fault:
    return lambda _: Answer(broken=name)


def status(code: int, message: str = "no", **headers: str) -> Fault:
    return body({"error": {"message": message, "code": code}}, code, **headers)


def body(content: object, code: int = 200, **headers: str) -> Fault:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Answer(code, raw, named)


def edited(edit: Callable[[Any], Any]) -> Fault:
    """Change the usual answer's JSON; what `edit` returns counts, or else what it changed."""

    def fault(answer: Answer) -> Answer:
        found = json.loads(answer.content)
        changed = edit(found)
        return replace(answer, content=json.dumps(changed or found).encode())

    return fault


NOT_FOUND = body({"detail": "Not Found"}, 404)


class Part(NamedTuple):
    """One part of a multipart body."""

    name: str
    content: bytes
    filename: str | None
    type: str | None


@dataclass(frozen=True)
class Sent:
    """One request that reached a server."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any = None

    @property
    def texts(self) -> tuple[str, ...]:
        asked = self.body if isinstance(self.body, dict) else {}
        found = asked.get("input") or asked.get("texts") or ()
        many = (found,) if isinstance(found, str) else found
        return tuple(one for one in many if isinstance(one, str))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of a multipart body, in order."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        parts = email.message_from_bytes(head + self.body, policy=email.policy.HTTP).iter_parts()
        return tuple(
            Part(
                part.get_param("name", header="content-disposition"),
                part.get_payload(decode=True),
                part.get_filename(),
                part.get("content-type"),
            )
            for part in parts
        )

    @property
    def fields(self) -> dict[str, list[str]]:
        """The parts of a multipart body that are no file: the values under each name."""
        found: dict[str, list[str]] = defaultdict(list)
        for part in self.parts:
            if part.filename is None:
                found[part.name].append(part.content.decode())
        return dict(found)


def vector_of(text: str, width: int) -> np.ndarray:
    seed = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    return np.random.default_rng(seed).standard_normal(width).astype("<f4")


def vectors_of(
    texts: Iterable[str], width: int, vector: Callable[[str, int], np.ndarray] = vector_of
) -> np.ndarray:
    return np.stack([vector(text, width) for text in texts])


def words_of(given: Any) -> str:
    """What stands for an input that is no text."""
    return given if isinstance(given, str) else json.dumps(given)


def written(vectors: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers as bytes of a precision: the nearest that there are, or cut off."""
    match dtype:
        case "float32" | "float16":
            return vectors.astype({"float32": "<f4", "float16": "<f2"}[dtype])
        case "bfloat16":
            return (vectors.astype("<f4").view("<u4") >> 16).astype("<u2")
    table = PRECISIONS[dtype].numbers(bytes(range(256)))
    table = np.where(np.isfinite(table), table, 1e9)
    return np.abs(vectors[..., np.newaxis] - table).argmin(axis=-1).astype(np.uint8)


def score_of(query: str, document: str) -> float:
    return zlib.crc32(f"{query}\0{document}".encode()) / 2**32


def refusal(message: str, code: int = 400) -> Answer:
    return status(code, message)(Answer())


def same(value: object) -> Answer:
    return body(value)(Answer())


def streamed(text: str) -> Answer:
    """The text as a stream, a word an event."""
    words = [f" {word}" for word in text.split()]
    chunks = [{"choices": [{"delta": {"content": word}}]} for word in words]
    chunks.append({"choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    content = "".join([*lines, "data: [DONE]\n\n"]).encode()
    return Answer(200, content, {"content-type": "text/event-stream"})


@dataclass
class FakeVLLM:
    """One server: `once` and `always` put faults into the answers at a path or to a text.

    Attributes:
        version, models, routes: What it tells; None answers 404.
        matryoshka: Whether `dimensions` is taken, or the sizes that are.
        refuses: The words in which a text is refused, or None.
        vector, score: What it makes of a text, or of a query and a document.
        prompts: What it puts before a text, by input type.
        says: What it hears in every recording, and reads on every page.
        sent: The requests that came, in order.
        most_in_flight: Requests that were under way at the same time, at most.
    """

    task: str = "embed"
    version: str | None = "0.32.0"
    model: str = "m"
    models: list[dict[str, Any]] | None = field(default_factory=list)
    routes: tuple[str, ...] | None = ()
    width: int = 4
    matryoshka: bool | tuple[int, ...] = False
    refuses: Callable[[str], str | None] = lambda _: None
    vector: Callable[[str, int], np.ndarray] = vector_of
    score: Callable[[str, str], float] = score_of
    prompts: Mapping[str, str] = field(default_factory=dict)
    says: str | None = " A word."
    sent: list[Sent] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _once: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    _always: dict[str, Fault] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.models is not None:
            self.models.insert(0, {"id": self.model, "root": f"hub/{self.model}"})
        if self.routes == ():
            self.routes = ROUTES[self.task]

    def once(self, key: str, *faults: Fault) -> None:
        self._once[key] += faults

    def always(self, key: str, fault: Fault) -> None:
        self._always[key] = fault

    def well(self, key: str) -> None:
        """Take back what `always` began."""
        self._always.pop(key)

    def asked(self, path: str) -> list[Sent]:
        return [sent for sent in self.sent if sent.path == path]

    @property
    def posts(self) -> list[Sent]:
        return [sent for sent in self.sent if sent.method == "POST"]

    @contextmanager
    def busy(self) -> Iterator[None]:
        with self._lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield
        finally:
            with self._lock:
                self.in_flight -= 1

    def answer(self, sent: Sent) -> Answer:
        self.sent.append(sent)
        answer = self._usual(sent)
        for key in ("*", sent.path, *sent.texts):
            if self._once[key]:
                answer = self._once[key].pop(0)(answer)
            answer = self._always.get(key, as_is)(answer)
        return answer

    def _usual(self, sent: Sent) -> Answer:
        match sent.path:
            case "/version" if self.version is not None:
                return same({"version": self.version})
            case "/v1/models" if self.models is not None:
                return same({"object": "list", "data": self.models})
            case "/openapi.json" if self.routes is not None:
                return same({"paths": {route: {} for route in self.routes}})
            case path if path in (self.routes or ROUTES[self.task]):
                if sent.method == "POST":
                    return self._serve(sent.path, sent.body)
                return body({"detail": "Method Not Allowed"}, 405)(Answer())
        return NOT_FOUND(Answer())

    def _serve(self, path: str, asked: Any) -> Answer:
        if path.startswith("/v1/audio/"):  # a form
            if isinstance(asked, bytes) and b'name="stream"' in asked:
                return streamed(self.says or "")
            return same({"text": self.says})
        if not isinstance(asked, dict):  # what is answered is the test's own to say
            return same({})
        known = [self.model, *(model["id"] for model in self.models or ())]
        if asked.get("model", self.model) not in known:
            return refusal(f"The model `{asked['model']}` does not exist.", 404)
        match path:
            case "/v1/embeddings":
                return self._embed(asked)
            case "/v2/embed":
                return self._cohere(asked)
            case "/v1/chat/completions":
                choice = {"message": {"content": self.says}, "finish_reason": "stop"}
                return same({"model": self.model, "choices": [choice]})
            case "/tokenize" | "/detokenize" | "/pooling" | "/classify":
                own = {"/pooling": self._pool, "/classify": self._classify}
                return own.get(path, self._tokenize)(asked)
            case "/score" | "/v1/score":
                return self._score(asked)
        return self._rerank(asked)

    def _tokenize(self, asked: dict[str, Any]) -> Answer:
        """A word is a token, and its bytes are its number."""
        if "tokens" in asked:
            words = [n.to_bytes((n.bit_length() + 7) // 8) for n in asked["tokens"]]
            return same({"prompt": b" ".join(words).decode("utf-8", "replace")})
        text = asked.get("prompt", "") or json.dumps(asked.get("messages", ""))
        if self.task == "tokens" and (refused := self.refuses(text)):
            return refusal(refused)
        ids = [int.from_bytes(word.encode()) for word in text.split()]
        strings = text.split() if asked.get("return_token_strs") else None
        return same({"tokens": ids, "count": len(ids), "token_strs": strings, "max_model_len": 512})

    def _inputs(self, asked: dict[str, Any]) -> list[Any]:
        if "messages" in asked:
            return [json.dumps(asked["messages"])]
        given = asked.get("input", "")
        return [given] if isinstance(given, str) else list(given)

    def _pool(self, asked: dict[str, Any]) -> Answer:
        """A vector, or with `token_classify` a weight, for each word or token."""
        inputs = self._inputs(asked)
        refused = next(filter(None, map(self.refuses, map(str, inputs))), None)
        if refused:
            return refusal(refused)
        width = 1 if asked.get("task") == "token_classify" else self.width
        items = [text.split() if isinstance(text, str) else map(str, text) for text in inputs]
        arrays = [
            np.array([self.vector(word, width) for word in words], "<f4").reshape(-1, width)
            for words in items
        ]
        usage = {"prompt_tokens": sum(map(len, arrays)), "total_tokens": sum(map(len, arrays))}
        form = asked.get("encoding_format", "float")
        if form == "bytes":
            ends = np.cumsum([array.nbytes for array in arrays]).tolist()
            data = [
                {"index": i, "start": end - array.nbytes, "end": end, "shape": array.shape}
                for i, (array, end) in enumerate(zip(arrays, ends, strict=True))
            ]
            told = json.dumps({"model": self.model, "data": data, "usage": usage})
            headers = {"content-type": "application/octet-stream", "metadata": told}
            return Answer(200, b"".join(array.tobytes() for array in arrays), headers)
        rows = [
            base64.b64encode(array.tobytes()).decode() if form == "base64" else array.tolist()
            for array in arrays
        ]
        data = [{"index": i, "object": "pooling", "data": row} for i, row in enumerate(rows)]
        return same({"model": self.model, "data": data, "usage": usage})

    def _embed_tokens(self, asked: dict[str, Any]) -> Answer:
        """What `/pooling` gives, as JSON alone, or the mean of each chunk (0.33.0)."""
        if (form := asked.get("encoding_format", "float")) != "float":
            return refusal(f"1 validation error: {{'msg': \"Input should be 'float'\", {form!r}}}")
        answer = self._pool(asked)
        if answer.status != 200:
            return answer
        size = asked.get("late_chunking_params", {}).get("chunk_size", 1)

        def chunked(found: Any) -> None:
            for row in found["data"]:
                vectors = row.pop("data")
                parts = [vectors[at : at + size] for at in range(0, len(vectors), size)]
                row["embedding"] = [np.mean(part, axis=0).tolist() for part in parts]

        return edited(chunked)(answer)

    def _classify(self, asked: dict[str, Any]) -> Answer:
        """The probability of "yes" is the text's score."""
        texts = list(map(str, self._inputs(asked)))
        refused = next(filter(None, map(self.refuses, texts)), None)
        if refused:
            return refusal(refused)
        probs = [[1 - (yes := self.score("class", text)), yes] for text in texts]
        data = [
            {"index": i, "label": ("no", "yes")[row[1] > row[0]], "probs": row, "num_classes": 2}
            for i, row in enumerate(probs)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return same({"model": self.model, "data": data[::-1], "usage": usage})

    def _embed(self, asked: dict[str, Any]) -> Answer:
        if self.task == "late-interaction":
            return self._embed_tokens(asked)
        texts = [words_of(given) for given in _listed(asked)]
        size = asked.get("dimensions")
        refused = (None if size is None else self._size_refused(size)) or next(
            filter(None, map(self.refuses, texts)), None
        )
        if refused:
            return refusal(refused)
        vectors = np.stack([self.vector(text, self.width) for text in texts])
        vectors = vectors[:, :size].astype("<f4")
        form = asked.get("encoding_format", "float")
        if form != "float":
            vectors = written(vectors, asked.get("embed_dtype", "float32"))
        if form in ("bytes", "bytes_only"):
            return Answer(200, vectors.tobytes(), {"content-type": "application/octet-stream"})
        rows = (
            [base64.b64encode(vector.tobytes()).decode() for vector in vectors]
            if form == "base64"
            else vectors.tolist()
        )
        data = [{"index": i, "object": "embedding", "embedding": row} for i, row in enumerate(rows)]
        tokens = sum(map(len, texts))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return same({"object": "list", "model": self.model, "data": data, "usage": usage})

    def _cohere(self, asked: dict[str, Any]) -> Answer:
        """vllm/entrypoints/pooling/embed/io_processor.py: an unknown name lists the known."""
        name, size = asked.get("input_type"), asked.get("output_dimension")
        if name is not None and name not in self.prompts:
            known = ", ".join(sorted(self.prompts))
            defined = f"Supported values: {known}" if known else "This model does not define any."
            return refusal(f"Unsupported input_type {name!r}. {defined}")
        given = asked.get("texts") or asked.get("images") or asked["inputs"]
        texts = [self.prompts.get(name, "") + words_of(one) for one in given]
        vectors = vectors_of(texts, self.width, self.vector)[:, :size].astype("<f4")
        packed = np.packbits(vectors >= 0, axis=1).astype(int)
        rows = {
            "base64": [base64.b64encode(vector.tobytes()).decode() for vector in vectors],
            "float": vectors.tolist(),
            "ubinary": packed.tolist(),
            "binary": (packed - 128).tolist(),
        }
        rows = {kind: rows[kind] for kind in asked.get("embedding_types", ["float"])}
        kind = "input_tokens" if "texts" in asked else "image_tokens"
        meta = {"billed_units": {kind: sum(map(len, texts))}}
        return same({"id": "e", "embeddings": rows, "meta": meta})

    def _score(self, asked: dict[str, Any]) -> Answer:
        sides = (asked["queries"], asked["documents"])
        queries, documents = ([s] if isinstance(s, str | dict) else s for s in sides)
        refused = next(filter(None, map(self.refuses, (*queries, *documents))), None)
        if refused:
            return refusal(refused)
        queries = queries * len(documents) if len(queries) == 1 else queries
        pairs = zip(queries, documents, strict=True)
        scores = [self.score(query, document) for query, document in pairs]
        data = [{"index": i, "object": "score", "score": one} for i, one in enumerate(scores)]
        usage = {"prompt_tokens": len(scores), "total_tokens": len(scores)}
        return same({"id": "s", "model": self.model, "usage": usage, "data": data})

    def _size_refused(self, size: int) -> str | None:
        """The words of vllm/pooling_params.py, before and from 0.26.0."""
        new = tuple(map(int, (self.version or "0.32").split(".")[:2])) >= (0, 26)
        listed = isinstance(self.matryoshka, tuple) and size not in self.matryoshka
        if not self.matryoshka and new:
            return (
                f"Model '{self.model}' does not support Matryoshka embeddings; dimensions must be"
                f" unset (received dimensions={size})."
            )
        if not self.matryoshka:
            return (
                f'Model "{self.model}" does not support matryoshka representation, changing output'
                " dimensions will lead to poor results."
            )
        if new and not 1 <= size <= self.width:
            return (
                f"Model '{self.model}' only supports dimensions in range [1, {self.width}],"
                f" got {size}."
            )
        if listed and new:
            sizes = list(self.matryoshka)
            return f"Model '{self.model}' only supports Matryoshka dimensions {sizes}, got {size}."
        if listed:
            return (
                f'Model "{self.model}" only supports {list(self.matryoshka)} matryoshka dimensions,'
                " use other output dimensions will lead to poor results."
            )
        return None if size > 0 else "Dimensions must be greater than 0"

    def _rerank(self, asked: dict[str, Any]) -> Answer:
        refused = next(filter(None, map(self.refuses, asked["documents"])), None)
        if refused:
            return refusal(refused)
        scores = [self.score(asked["query"], document) for document in asked["documents"]]
        order = sorted(range(len(scores)), key=lambda i: -scores[i])[: asked.get("top_n") or None]
        results = [{"index": i, "relevance_score": scores[i]} for i in order]
        usage = {"prompt_tokens": len(scores), "total_tokens": len(scores)}
        return same({"id": "r", "model": self.model, "usage": usage, "results": results})


class SparseVLLM(FakeVLLM):
    """A server for lexical weights: small letters are large ones, a special token at both ends."""

    def _tokenize(self, asked: dict[str, Any]) -> Answer:
        told = super()._tokenize({"prompt": asked["prompt"].lower()})
        tokens = [number % 2**31 for number in json.loads(told.content)["tokens"]]
        return same({"tokens": [0, *tokens, 2], "count": len(tokens) + 2})


def _listed(asked: dict[str, Any]) -> list[Any]:
    """The inputs of a request of /v1/embeddings, one by one."""
    given = asked.get("input") or asked.get("messages") or ""
    if isinstance(given, str) or isinstance(given[0], dict | int):
        return [given]
    return given


Servers = FakeVLLM | Mapping[str, FakeVLLM]


def network_of(servers: Servers) -> dict[str, FakeVLLM]:
    """Servers by their URL; one alone stands at `URL`."""
    return {URL: servers} if isinstance(servers, FakeVLLM) else dict(servers)


def mock_transport(servers: Servers, library: ModuleType = httpx, *, is_async: bool = False) -> Any:
    """httpx's or httpx2's transport that hands requests to `servers`, side by side."""
    network = network_of(servers)

    def base_of(request: Any) -> str:
        return max((one for one in network if str(request.url).startswith(one)), key=len)

    def respond(request: Any) -> Any:
        base = base_of(request)
        is_json = request.headers.get("content-type") == "application/json"
        content = json.loads(request.content) if is_json else request.content or None
        path = str(request.url).removeprefix(base)
        answer = network[base].answer(Sent(request.method, path, dict(request.headers), content))
        if answer.broken:
            raise getattr(library, answer.broken)(f"scripted {answer.broken}")
        if answer.silent:
            return None
        body = {"content": answer.content}
        if answer.cut or answer.endless:
            body = {"stream": _stream(library, answer)}
        return library.Response(answer.status, headers=answer.headers, **body)

    def handler(request: Any) -> Any:
        with network[base_of(request)].busy():
            time.sleep(0)
            return respond(request)

    async def async_handler(request: Any) -> Any:
        with network[base_of(request)].busy():
            await anyio.lowlevel.checkpoint()
            return respond(request) or await anyio.sleep_forever()

    return library.MockTransport(async_handler if is_async else handler)


def _stream(library: ModuleType, answer: Answer) -> Any:
    class Stream(library.SyncByteStream, library.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            while answer.endless:
                answer.endless()
                yield b" "
            yield answer.content[: len(answer.content) // 2]
            raise library.RemoteProtocolError("peer closed connection")

        async def __aiter__(self) -> Any:
            for part in self:
                await anyio.lowlevel.checkpoint()
                yield part

    return Stream()


class Talker:
    """Either client, called in the same way: `Talker("trio", server).embed("a text")`."""

    def __init__(
        self,
        kind: str,
        servers: Servers,
        *,
        library: ModuleType = httpx,
        base_url: Any = None,
        **options: Any,
    ) -> None:
        transport = mock_transport(servers, library, is_async=kind != BLOCKING)
        base_url = base_url or list(network_of(servers))
        self.kind = kind
        if kind == BLOCKING:
            self.client = Client(
                base_url, http_client=library.Client(transport=transport), **options
            )
        else:
            self.client = AsyncClient(
                base_url, http_client=library.AsyncClient(transport=transport), **options
            )

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.client, name)
        if self.kind == BLOCKING:
            return method
        return lambda *args, **kwargs: anyio.run(
            partial(method, *args, **kwargs), backend=self.kind
        )

    def every(self, name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """All that a method yields; an exception is noted as the last."""
        found: list[Any] = []
        method = getattr(self.client, name)

        async def collect() -> None:
            async with aclosing(method(*args, **kwargs)) as results:
                async for result in results:
                    found.append(result)  # noqa: PERF401 - those before an error count

        try:
            if self.kind == BLOCKING:
                found.extend(method(*args, **kwargs))
            else:
                anyio.run(collect, backend=self.kind)
        except Exception as error:
            found.append(error)
        return found

    def with_options(self, **options: Any) -> Talker:
        other = object.__new__(Talker)
        other.kind, other.client = self.kind, self.client.with_options(**options)
        return other


@contextmanager
def instant() -> Iterator[list[float]]:
    """Pauses take no time; they are noted."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await anyio.lowlevel.checkpoint()

    with mock.patch("time.sleep", pauses.append), mock.patch("anyio.sleep", sleep):
        yield pauses


class Play:
    """A fleet under a fake clock, and flows run on it by `step()`: what came of each, and when.

    Attributes:
        now: Seconds.
        requests: What the flows yielded, in order.
        pauses: Seconds slept, in order.
    """

    def __init__(self, servers: Servers, *, base_url: Any = None, **options: Any) -> None:
        self._network = network_of(servers)
        self.now = 0.0
        self.requests: list[Request] = []
        self.pauses: list[float] = []
        self._deadline = options.pop("deadline", None)
        fleet = {name: options.pop(name) for name in ("version", "profiles") if name in options}
        self.fleet = Fleet(
            replicas_of(base_url or list(self._network)), clock=lambda: self.now, **fleet
        )
        self._options = Options(**options)

    def call(self, flow: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What `client.<flow>(...)` would give."""
        ends = None if self._deadline is None else self.now + self._deadline
        return self.run(flow(Context(self.fleet, self._options, ends), *args, **kwargs))

    def run(self, flow: Any) -> Any:
        state = step(flow)
        while not isinstance(state, Done):
            state = step(flow, self._outcome(state))
        return state.value

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def hosts(self) -> list[str]:
        """Who was posted to, in order."""
        return [request.server for request in self.requests if request.method == "POST"]

    def _outcome(self, wanted: Any) -> Any:
        try:
            match wanted:
                case Request():
                    self.requests.append(wanted)
                    return self._exchange(wanted)
                case Sleep(seconds):
                    self.pauses.append(seconds)
                    self.now += seconds
                case Work(call):
                    return call()
                case Alone(flow):
                    return self.run(flow)
                case Together(flows, stop):
                    return list(self._one_by_one(flows, stop))
        except Exception as error:
            return error

    def _one_by_one(self, flows: Iterable[Any], stop: Callable[[Any], bool]) -> Iterator[Any]:
        stopped = None
        for flow in flows:
            try:
                yield stopped or self.run(flow)
            except VLLMModalitiesError as error:
                stopped = error if stop(error) else None
                yield error

    def _exchange(self, request: Request) -> Response:
        answer = self._network[request.server].answer(
            Sent(request.method, request.path, request.headers, request.json)
        )
        if answer.broken:
            raise APIConnectionError(answer.broken, server=request.server)
        if answer.cut or 300 <= answer.status < 400:
            raise ResponseError("cut or moved", server=request.server, cut=answer.cut)
        if answer.status < 300:
            if request.hear:
                request.hear(answer.content)
            return Response(answer.status, answer.headers, answer.content, request.server)
        after = answer.headers.get("Retry-After")
        raise status_class(answer.status)(
            answer.status,
            said(answer.content),
            server=request.server,
            body=answer.content,
            retry_after=float(after) if after else None,
        )
