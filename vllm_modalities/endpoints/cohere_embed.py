"""Cohere's shape of embeddings: `POST /v2/embed`."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from .._context import Target
from .._flow import Alone, Flow, Response
from .._results import AnswerModel, Usage, words
from .._sizes import size_findings
from .._wire import RequestModel
from ..errors import BadRequestError, Finding
from ..server import ServerInfo
from ..vectors import decode
from ..vectors.embeddings import Embeddings
from ..vectors.precision import FLOAT32
from ..vectors.quantized import QuantizedEmbeddings
from ._content import Chat, Item, parts_of
from ._prompts import same_name
from ._ranking import can_score
from ._rows import Read

EmbeddingType: TypeAlias = Literal["float", "binary", "ubinary", "base64"]

_SUPPORTED = re.compile(r"Supported values: (.+?)\s*$")


class CohereEmbedRequest(RequestModel):
    """Body of `POST /v2/embed`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/embed/protocol.py, `CohereEmbedRequest`.
    """

    TASK: ClassVar[str] = "embed"
    PATHS: ClassVar[tuple[str, ...]] = ("/v2/embed",)

    input_type: str | None = None
    texts: tuple[str, ...] | None = None
    images: tuple[str, ...] | None = None
    inputs: tuple[Mapping[str, Any], ...] | None = None
    output_dimension: int | None = None
    embedding_types: tuple[EmbeddingType, ...] | None = None
    truncate: Literal["END", "START", "NONE"] | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    priority: int | None = None

    @classmethod
    def suits(cls, server: ServerInfo) -> bool:
        """As for `EmbeddingRequest`: the route alone says little."""
        return can_score(server) and super().suits(server)

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """Exactly one kind of input, whole, and the width against the model's."""
        given = [name for name in ("texts", "images", "inputs") if getattr(self, name)]
        if len(given) != 1:
            yield _error(
                "one-input",
                "texts",
                f"exactly one of texts, images and inputs must be given, got"
                f" {' and '.join(given) or 'none'}; before 0.24.0 all but one are dropped without"
                " a word, from then on it is a 400",
            )
        for place, image in enumerate(self.images or ()):
            if not image.startswith(("http:", "https:", "data:", "file:")):
                yield _error("image-url", "images", f"image {place} is no URL: {image[:40]!r}")
        for place, one in enumerate(self.inputs or ()):
            if not _is_whole(one):
                yield _error(
                    "content",
                    "inputs",
                    f'input {place} must be {{"content": [parts]}}, each part {{"type": "text",'
                    ' "text": ...} or {"type": "image_url", "image_url": {"url": ...}}; others are'
                    " dropped without a word before 0.24.0, and a 400 from then on",
                )
        model = server.model(self.model)
        if self.output_dimension is not None:
            yield from size_findings(self.output_dimension, model, server.version)
        width = self.output_dimension or (model.embedding_size if model else None) or 8
        if width % 8 and not {"binary", "ubinary"}.isdisjoint(self.embedding_types or ()):
            yield _error(
                "packed-width",
                "embedding_types",
                f"binary and ubinary hold eight numbers a byte, and {width} is no multiple of 8;"
                " ask for floats and quantize() them",
            )

    def read(self, response: Response) -> CohereEmbeddings:
        """The vectors of the answer to this request.

        Raises:
            ResponseError: They are miscounted, unequal in width or not finite.
        """
        return CohereEmbeddings.from_http(
            response,
            count=len(self.texts or self.images or self.inputs or ()),
            types=self.embedding_types or ("float",),
            model=self.model,
        )


def _is_whole(one: Mapping[str, Any]) -> bool:
    """Whether each part of an input carries what its type says."""
    parts = one.get("content")
    return isinstance(parts, list | tuple) and all(
        isinstance(part, Mapping)
        and (
            (part.get("type") == "text" and isinstance(part.get("text"), str))
            or (part.get("type") == "image_url" and bool((part.get("image_url") or {}).get("url")))
        )
        for part in parts
    )


def _error(code: str, field: str, message: str) -> Finding:
    return Finding(
        code=f"cohere-{code}",
        severity="error",
        field=field,
        message=message,
        source="vLLM 0.24.0 vllm/entrypoints/pooling/embed/protocol.py",
    )


class _Embeddings(AnswerModel):
    float: list[list[builtins.float | None]] | None = None
    base64: list[str] | None = None
    binary: list[list[Annotated[int, Field(ge=-128, le=127)]]] | None = None
    ubinary: list[list[Annotated[int, Field(ge=0, le=255)]]] | None = None


class _Units(AnswerModel):
    input_tokens: int = 0
    image_tokens: int = 0


class _Meta(AnswerModel):
    billed_units: _Units = Field(default_factory=_Units)

    @property
    def usage(self) -> Usage:
        """All tokens: those of inputs with an image are counted apart."""
        tokens = self.billed_units.input_tokens + self.billed_units.image_tokens
        return Usage(prompt_tokens=tokens, total_tokens=tokens)


class _Answer(AnswerModel):
    embeddings: _Embeddings
    meta: _Meta = Field(default_factory=_Meta)


@dataclass(frozen=True, slots=True)
class CohereEmbeddings:
    """One answer of `/v2/embed`: the same vectors in each of the types that were asked for.

    Attributes:
        float, base64: Every number, float32; None if not asked for.
        binary, ubinary: A bit a number, packed; None if not asked for.
    """

    float: Embeddings | None = None
    base64: Embeddings | None = None
    binary: QuantizedEmbeddings | None = None
    ubinary: QuantizedEmbeddings | None = None

    @classmethod
    def from_http(
        cls,
        response: Response,
        *,
        count: int,
        types: Iterable[EmbeddingType],
        model: str | None = None,
    ) -> CohereEmbeddings:
        body = response.parse(_Answer)
        told: dict[str, Any] = {
            "model": model,
            "usage": body.meta.usage,
            "warnings": words(response.findings),
        }
        found: dict[str, Any] = {}
        for kind in types:
            rows = _matrix(response, body.embeddings, kind, count)
            match kind:
                case "binary" | "ubinary":
                    found[kind] = QuantizedEmbeddings(rows, kind, 8 * rows.shape[1], **told)
                case _ if failing := decode.not_finite(rows):
                    raise response.fault(f"vector {failing[0]} is not finite")
                case _:
                    found[kind] = Embeddings(rows, **told)
        return cls(**found)


def _matrix(response: Response, answer: _Embeddings, kind: str, count: int) -> NDArray[Any]:
    """The vectors of one type, shape (count, width)."""
    rows = getattr(answer, kind)
    try:
        if rows is None or len(rows) != count:
            raise ValueError(f"expected {count} {kind} vectors, got {len(rows or ())}")
        if kind == "base64":
            vectors: NDArray[Any] = decode.from_base64(rows)
        else:
            dtype = {"binary": np.int8, "ubinary": np.uint8}.get(kind, np.float32)
            vectors = decode.from_numbers(rows, dtype)
    except ValueError as error:
        raise response.fault(str(error)) from None
    return vectors


class CohereRoute:
    """`/v2/embed`, which puts the model's own prompt before each text and each image."""

    precision = FLOAT32

    def __init__(self, template: CohereEmbedRequest) -> None:
        self._template = template

    def body(self, items: Sequence[Item], width: int | None) -> CohereEmbedRequest:
        if isinstance(items[0], str):
            return self._template.model_copy(update={"texts": tuple(items)})
        inputs = [{"content": parts_of(item)} for item in items if isinstance(item, Chat)]
        return self._template.model_copy(update={"inputs": tuple(inputs)})

    def read(self, response: Response, count: int, width: int | None) -> Read:
        body = response.parse(_Answer)
        vectors = _matrix(response, body.embeddings, "base64", count)
        return Read(vectors, body.meta.usage, "base64")


def server_name(target: Target, template: CohereEmbedRequest) -> Flow[str]:
    """The server's own name for `input_type`, asked once with one short text.

    A name that the server does not know is a 400 that lists those it knows.
    """
    key = f"input_type {template.input_type} of {target.model}"
    if key not in target.replicas[0].remembered:
        yield from Alone(_ask_name(target, template, key), target.context.ends)
    return target.replicas[0].remembered[key]


def _ask_name(target: Target, template: CohereEmbedRequest, key: str) -> Flow[None]:
    if key in target.replicas[0].remembered:  # another call has asked meanwhile
        return
    name = template.input_type or ""
    try:
        yield from target.post(template.model_copy(update={"texts": ("a",)}))
    except BadRequestError as error:
        listed = _SUPPORTED.search(error.message)
        other = same_name(name, listed[1].split(", ")) if listed else None
        if other is None:
            raise
        name = other
    for replica in target.replicas:
        replica.remembered[key] = name
