"""Cohere's shape of embeddings: `POST /v2/embed`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from .._context import Target
from .._flow import Alone, Flow, Response
from .._results import AnswerModel, Usage
from .._sizes import size_findings
from .._wire import RequestModel
from ..errors import BadRequestError, Finding
from ..server import ServerInfo
from ..vectors import decode
from ._prompts import same_name
from ._rows import Matrix

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
    embedding_types: tuple[Literal["float", "binary", "ubinary", "base64"], ...] | None = None
    truncate: Literal["END", "START", "NONE"] | None = None
    max_tokens: int | None = None
    priority: int | None = None

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """Exactly one kind of input, and the width against the model's."""
        given = [name for name in ("texts", "images", "inputs") if getattr(self, name)]
        if len(given) != 1:
            yield Finding(
                code="cohere-one-input",
                severity="error",
                field="texts",
                message=f"exactly one of texts, images and inputs must be given, got"
                f" {' and '.join(given) or 'none'}; before 0.24.0 all but one are dropped without"
                " a word, from then on it is a 400",
                source="vLLM 0.24.0 vllm/entrypoints/pooling/embed/protocol.py",
            )
        if self.output_dimension is not None:
            model = server.model(self.model)
            yield from size_findings(self.output_dimension, model, server.version)


class _Embeddings(AnswerModel):
    base64: list[str]


class _Units(AnswerModel):
    input_tokens: int = 0


class _Meta(AnswerModel):
    billed_units: _Units = Field(default_factory=_Units)


class _Answer(AnswerModel):
    embeddings: _Embeddings
    meta: _Meta = Field(default_factory=_Meta)


class CohereRoute:
    """`/v2/embed`, which puts the model's own prompt before each text."""

    def __init__(self, template: CohereEmbedRequest) -> None:
        self._template = template

    def body(self, texts: tuple[str, ...], width: int | None) -> CohereEmbedRequest:
        return self._template.model_copy(update={"texts": texts})

    def read(
        self,
        response: Response,
        count: int,
        width: int | None,
    ) -> tuple[Matrix, Usage]:
        body = response.parse(_Answer)
        try:
            if len(body.embeddings.base64) != count:
                raise ValueError(f"expected {count} vectors, got {len(body.embeddings.base64)}")
            vectors = decode.from_base64(body.embeddings.base64)
        except ValueError as error:
            raise response.fault(str(error)) from None
        tokens = body.meta.billed_units.input_tokens
        return vectors, Usage(prompt_tokens=tokens, total_tokens=tokens)


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
