"""Cohere's shape of embeddings: `POST /v2/embed`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from .._sizes import size_findings
from .._wire import RequestModel
from ..errors import Finding
from ..server import ServerInfo


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
