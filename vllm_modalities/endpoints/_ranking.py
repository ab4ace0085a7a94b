"""The fields that rerank and score share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ..errors import Finding
from ..server import ServerInfo
from ._pooling import PoolingFields

Item: TypeAlias = str | Mapping[str, Any]
"""A text, or `{"content": [parts]}` for models that see images."""


class RankingFields(PoolingFields):
    """What rerank and score have in common.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/scoring/protocol.py, `ScoringRequestMixin`.
    """

    max_tokens_per_query: int | None = None
    max_tokens_per_doc: int | None = None
    instruction: str | None = None
    chat_template_kwargs: Mapping[str, Any] | None = None

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """The token counts against the model's context length."""
        yield from super().limits(server)
        model = server.model(self.model)
        context = model.max_model_len if model else None
        for name in ("max_tokens_per_query", "max_tokens_per_doc"):
            tokens = getattr(self, name)
            if context is not None and tokens is not None and tokens >= context:
                yield Finding(
                    code=f"{name.replace('_', '-')}-context",
                    severity="error",
                    field=name,
                    message=f"{name}={tokens} must be less than the {context} tokens that"
                    f" {self.model!r} reads at most",
                    source="vLLM 0.20.0 vllm/entrypoints/pooling/scoring/io_processor.py;"
                    " seen on 0.32.0",
                )
