"""Dense embeddings: `POST /v1/embeddings`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._context import Context, Target
from .._flow import Flow, Response, Work
from .._many import Failure, OnError, batches, each, settle
from .._results import AnswerModel, Usage, UsageBody, raw, words
from .._sizes import ask_sizes, size_findings
from ..errors import Finding, InvalidRequestError
from ..server import ServerInfo
from ..vectors import decode
from ..vectors.embeddings import Embeddings
from ._pooling import ChatFields

BATCH_COUNT, BATCH_CHARACTERS = 128, 262_144  # texts, and characters, of one request at most
THREAD_FROM = 100_000  # bytes of an answer from which reading it would hold up an event loop


class EmbeddingRequest(ChatFields):
    """Body of `POST /v1/embeddings`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/embed/protocol.py, `EmbeddingCompletionRequest`.
    """

    TASK: ClassVar[str] = "embed"
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/embeddings",)

    encoding_format: Literal["float", "base64", "bytes", "bytes_only"] | None = None
    embed_dtype: Literal["float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"] | None = None
    endianness: Literal["native", "big", "little"] | None = None
    dimensions: int | None = None
    media_io_kwargs: Mapping[str, Any] | None = None

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """`dimensions` against the model's width and the sizes it takes."""
        if self.dimensions is None:
            return ()
        return size_findings(self.dimensions, server.model(self.model), server.version)


class _Row(AnswerModel):
    index: int
    embedding: str | list[float | None]


class _EmbeddingList(AnswerModel):
    data: list[_Row]
    model: str | None = None
    usage: UsageBody = UsageBody()


def embed(
    context: Context,
    /,
    inputs: str | Iterable[str],
    *,
    model: str | None = None,
    dimensions: int | None = None,
    normalize: bool | None = None,
    truncate: Literal["error", "end", "start"] = "error",
    batch_size: int | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Embeddings]:
    """Embed texts as dense vectors, any number of them.

    Texts go out in batches, side by side, over all servers that have the model.

    Args:
        inputs: One text, or n of them. `""` is a text; no text at all makes no request.
        model: The served model's name; None is the one that is served.
        dimensions: Width of the vectors, for models that can shorten them (Matryoshka); None is
            the model's own.
        normalize: Whether vectors have unit length; None is what the model is configured for.
        truncate: What happens to a text longer than the model's context: `"error"` fails it,
            `"end"` drops its end, `"start"` its start.
        batch_size: Texts in one request at most; default 128, fewer where they are long.
        on_error: `"collect"` finishes the rest, then raises PartialFailureError; `"raise"` stops
            at the first failure; `"return"` gives NaN rows and `.failures`.
        extra_body: Further fields of the request.

    Returns:
        n vectors, float32, in the order of the texts. One text gives shape (1, dimensions).

    Raises:
        InvalidRequestError: `dimensions` is more than the model's width, below 1, not in its
            list, or the model cannot shorten. Nothing is sent.
        PartialFailureError: Some texts failed; `.results` has the others.
        ResponseError: The server's vectors are miscounted, unequal in width or not finite.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/embed/protocol.py.
    """
    texts = _texts(inputs)
    if not texts:
        return Embeddings(np.empty((0, dimensions or 0), np.float32))
    if batch_size is not None and batch_size < 1:
        raise _invalid("batch_size", f"batch_size must be at least 1, got {batch_size}")
    target = yield from context.find(EmbeddingRequest, model)
    template = EmbeddingRequest(
        model=target.model,
        input=(),
        dimensions=dimensions,
        use_activation=normalize,
        truncate_prompt_tokens=None if truncate == "error" else -1,
        truncation_side={"error": None, "end": "right", "start": "left"}[truncate],
        extra_body=extra_body,
    )
    if dimensions is not None and context.options.validation != "off":
        yield from ask_sizes(target, dimensions)
    sizes = [len(text) for text in texts]
    work = list(batches(sizes, count=batch_size or BATCH_COUNT, size=BATCH_CHARACTERS))
    rows = _Rows(texts, template, target, many=len(work) > 1)
    failures = yield from each(work, rows.run, on_error=on_error)
    return settle(rows.result(failures), failures, on_error=on_error)


class _Rows:
    """The vectors of one call: one array, which the batches fill side by side."""

    def __init__(
        self, texts: Sequence[str], template: EmbeddingRequest, target: Target, *, many: bool
    ) -> None:
        self._texts, self._template, self._target = texts, template, target
        wanted = target.context.options.transport
        self._raw_bytes = wanted == "bytes" or (wanted == "auto" and many)
        self._float = wanted == "float"
        self._vectors: NDArray[np.float32] | None = None
        self._lock = threading.Lock()
        self._responses: list[Response] = []
        self._usages: list[Usage | None] = []

    def run(self, batch: Sequence[int]) -> Flow[list[Failure]]:
        """Embed the texts at these positions; a vector that is not finite fails its text."""
        width = self._width()
        body = self._template.model_copy(
            update={"input": tuple(self._texts[place] for place in batch), **self._format(width)}
        )
        response = yield from self._target.post(body)
        if len(response.content) > THREAD_FROM:
            vectors, usage = yield from Work(lambda: read_vectors(response, len(batch), width))
        else:
            vectors, usage = read_vectors(response, len(batch), width)
        self._put(batch, vectors, usage, response)
        finite = np.isfinite(vectors).all(axis=1)
        return [
            (batch[row], response.fault(f"the vector of item {batch[row]} is not finite"))
            for row in np.flatnonzero(~finite).tolist()
        ]

    def _width(self) -> int | None:
        """The vectors' width, as far as it is sure."""
        if self._vectors is not None:
            return int(self._vectors.shape[1])
        return self._template.dimensions or self._target.facts.embedding_size

    def _format(self, width: int | None) -> dict[str, str]:
        if self._float:
            return {"encoding_format": "float"}
        # A raw body says neither count nor width, so a missing row would show in nothing else.
        raw_bytes = self._raw_bytes and width is not None
        return {
            "encoding_format": "bytes_only" if raw_bytes else "base64",
            "endianness": "little",
        }

    def _put(
        self,
        batch: Sequence[int],
        vectors: NDArray[np.float32],
        usage: Usage | None,
        response: Response,
    ) -> None:
        asked = self._template.dimensions
        with self._lock:
            if self._vectors is None:
                self._vectors = np.full((len(self._texts), vectors.shape[1]), np.nan, np.float32)
                if asked is None:
                    self._target.learned(embedding_size=vectors.shape[1])
            self._responses.append(response)
            self._usages.append(usage)
        expected = asked or self._vectors.shape[1]
        if vectors.shape[1] != expected:
            raise response.fault(f"vectors are {vectors.shape[1]} numbers wide, not {expected}")
        self._vectors[batch[0] : batch[-1] + 1] = vectors

    def result(self, failures: Sequence[Failure]) -> Embeddings:
        vectors = self._vectors
        if vectors is None:  # every text failed
            vectors = np.full((len(self._texts), self._width() or 0), np.nan, np.float32)
        for place, _ in failures:
            vectors[place] = np.nan
        usages = [usage for usage in self._usages if usage is not None]
        findings = [finding for response in self._responses for finding in response.findings]
        return Embeddings(
            vectors=vectors,
            model=self._target.model,
            usage=sum(usages, Usage()) if len(usages) == len(self._usages) else None,
            warnings=words(findings),
            failures=tuple(failures),
            raw=raw(self._responses, self._target.context.options.keep_raw),
        )


def read_vectors(
    response: Response, count: int, width: int | None
) -> tuple[NDArray[np.float32], Usage | None]:
    """The vectors of an answer, in whichever format it came, in order."""
    try:
        if response.headers.get("content-type", "").startswith("application/octet-stream"):
            return decode.from_body(response.content, count, width or 0), None
        body = response.parse(_EmbeddingList)
        rows = sorted(body.data, key=lambda row: row.index)
        if [row.index for row in rows] != list(range(count)):
            raise ValueError(f"expected vectors 0 to {count - 1}, got {_brief(rows)}")
        texts = [row.embedding for row in rows if isinstance(row.embedding, str)]
        lists = [row.embedding for row in rows if not isinstance(row.embedding, str)]
        if texts and lists:
            raise ValueError("some vectors are base64 and some are numbers")
        vectors = decode.from_base64(texts) if texts else decode.from_numbers(lists)
        if vectors.shape[1] == 0:
            raise ValueError("the vectors are empty")
    except ValueError as error:
        raise response.fault(str(error)) from None
    return vectors, body.usage.result()


def _brief(rows: Sequence[_Row]) -> str:
    shown = ", ".join(str(row.index) for row in rows[:8])
    return f"{len(rows)} of them: {shown}{', …' if len(rows) > 8 else ''}"


def _texts(inputs: object) -> tuple[str, ...]:
    if isinstance(inputs, str):
        return (inputs,)
    if not isinstance(inputs, Iterable) or isinstance(inputs, bytes | Mapping):
        raise _invalid("inputs", f"inputs must be one text or many, got {type(inputs).__name__}")
    texts = tuple(inputs)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise _invalid("inputs", f"item {place} of inputs must be a text, got {kind}")
    return texts


def _invalid(field: str, message: str) -> InvalidRequestError:
    return InvalidRequestError(
        [Finding(code=f"invalid-{field}", severity="error", field=field, message=message)]
    )
