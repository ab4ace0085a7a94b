"""The fields that rerank and score share, and which kind of score a server gives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from ..errors import Finding
from ..server import ServerInfo
from ._pooling import PoolingFields

Item: TypeAlias = str | Mapping[str, Any]
"""A text, or `{"content": [parts]}` for models that see images."""
ABOVE_COSINE = 1.01  # half precision may bring a cosine a little above 1
SCORING = ("/score", "/v1/score")
ScoreType = Literal["cross-encoder", "bi-encoder", "late-interaction"]


class RankingFields(PoolingFields):
    """What rerank and score have in common.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/scoring/protocol.py, `ScoringRequestMixin`.
    """

    max_tokens_per_query: int | None = None
    max_tokens_per_doc: int | None = None
    instruction: str | None = None
    chat_template_kwargs: Mapping[str, Any] | None = None

    @abstractmethod
    def items(self) -> Iterable[Item]:
        """What is compared with what."""

    def texts(self) -> Iterable[str]:
        return (item for item in self.items() if isinstance(item, str))

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """What the model cannot read: images, dicts without content, too many tokens."""
        yield from super().limits(server)
        yield from self._unreadable(server)
        reserved = sorted(
            {"chat_template", "tools", "tokenize"} & {*(self.chat_template_kwargs or ())}
        )
        if reserved:
            yield Finding(
                code="ranking-template-kwargs",
                severity="error",
                field="chat_template_kwargs",
                message=f"chat_template_kwargs may not hold {', '.join(reserved)}, which the server"
                " sets itself; serve with --chat-template for another template",
                source="vLLM 0.32.0 vllm/entrypoints/pooling/scoring/io_processor.py",
            )
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

    def _unreadable(self, server: ServerInfo) -> Iterable[Finding]:
        contents = [item for item in self.items() if not isinstance(item, str)]
        profile = server.profile(self.model)
        if any("content" not in item for item in contents):
            yield Finding(
                code="ranking-no-content",
                severity="error",
                field="documents",
                message='a dict must be {"content": [parts]}: vLLM does not know Cohere\'s'
                ' {"text": "…"}. Send the text itself, or use client.rerank(), which does',
                source="vLLM 0.32.0 vllm/entrypoints/pooling/scoring/typing.py; seen on 0.32.0",
            )
        elif contents and profile.rerank and profile.rerank.images is False:
            yield Finding(
                code="ranking-text-only",
                severity="error",
                field="documents",
                message=f"{profile.name} reads texts alone, no images and no content parts; send"
                " texts, or serve a model that sees",
                source="vLLM 0.32.0 vllm/entrypoints/pooling/scoring/utils.py; seen on 0.32.0",
            )


def can_score(server: ServerInfo) -> bool:
    """Whether a server may score, as far as its routes tell: then it gives vectors or one label.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/utils.py, `enable_scoring_api`: by the one task
    that a server was started for, where other routes go by all that its model could do.
    """
    return "/pooling" not in server.routes or not server.routes.isdisjoint(SCORING)


def score_type(server: ServerInfo, scores: Iterable[float] = ()) -> ScoreType | None:
    """What a server's scores are, by its routes and by what it has given; None where it tells none.

    Source: vLLM 0.32.0: a one-label classifier registers /classify, an embedder /v1/embeddings,
    a late-interaction model neither (vllm/entrypoints/pooling/factories.py); but an embedder that
    is served with `--pooler-config.task token_embed` does too, and only its scores show that they
    are no cosines. From 0.33.0 on /v1/embeddings may give a vector a token, and only /v2/embed one
    a text (pooling/token_embed/api_router.py).
    """
    if not server.routes or not can_score(server):
        return None
    if "/classify" in server.routes:
        return "cross-encoder"
    embeds = "/v1/embeddings" in server.routes
    if embeds and server.version is not None and server.version >= "0.33.0":
        embeds = "/v2/embed" in server.routes
    is_cosine = all(abs(score) < ABOVE_COSINE for score in scores)
    return "bi-encoder" if embeds and is_cosine else "late-interaction"
