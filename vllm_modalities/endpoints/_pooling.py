"""The fields that every pooling route takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from pydantic import Field

from .._wire import RequestModel
from ..errors import Finding
from ..server import ServerInfo

Message: TypeAlias = Mapping[str, Any]


class PoolingFields(RequestModel):
    """What embeddings, rerank, score, classify and pooling have in common.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/base/protocol.py, `PoolingBasicRequestMixin`.
    """

    user: str | None = None
    request_id: str | None = None
    priority: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    cache_salt: str | None = None
    use_activation: bool | None = None
    truncate_prompt_tokens: int | None = Field(default=None, ge=-1)
    truncation_side: Literal["left", "right"] | None = None
    padding: Literal["max_length", "do_not_pad"] | None = None
    mm_processor_kwargs: Mapping[str, Any] | None = None

    def texts(self) -> Iterable[str]:
        """The plain texts among the inputs."""
        return ()

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """The cut against the model's context length."""
        model, tokens = server.model(self.model), self.truncate_prompt_tokens
        context = model.max_model_len if model else None
        if context is not None and tokens is not None and tokens > context:
            yield Finding(
                code="truncate-prompt-tokens-context",
                severity="error",
                field="truncate_prompt_tokens",
                message=f"truncate_prompt_tokens={tokens} is more than the {context} tokens that"
                f" {self.model!r} reads; pass -1 for all of them",
                source="vLLM 0.16.0 vllm/renderers/params.py; seen on 0.32.0",
            )

    @property
    def longest(self) -> int:
        """Characters of the longest text."""
        return max(map(len, self.texts()), default=0)


class ChatFields(PoolingFields):
    """What the routes that take plain text, token ids or chat messages have in common.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/base/protocol.py, `CompletionRequestMixin` and
    `ChatRequestMixin`.
    """

    input: (
        str
        | tuple[str, ...]
        | tuple[int, ...]
        | tuple[tuple[int, ...], ...]
        | tuple[Message, ...]
        | tuple[tuple[Message, ...], ...]
        | None
    ) = None
    messages: tuple[Message, ...] | tuple[tuple[Message, ...], ...] | None = None
    add_special_tokens: bool | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    chat_template: str | None = None
    chat_template_kwargs: Mapping[str, Any] | None = None

    def texts(self) -> Iterable[str]:
        if isinstance(self.input, str):
            return (self.input,)
        return (item for item in self.input or () if isinstance(item, str))

    @property
    def lowest_id(self) -> int | None:
        """The lowest of the token ids in `input`; None if there are none."""
        items = self.input if isinstance(self.input, tuple) else ()
        if items and isinstance(items[0], str):  # they are of one kind
            return None
        ids = [each for item in items for each in (item if isinstance(item, tuple) else (item,))]
        return min((each for each in ids if isinstance(each, int)), default=None)

    @property
    def has_message_input(self) -> bool:
        """Whether chat messages stand in `input`."""
        return isinstance(self.input, tuple) and _are_messages(self.input)

    @property
    def has_message_batch(self) -> bool:
        """Whether `messages` holds several conversations."""
        return any(isinstance(message, tuple) for message in self.messages or ())

    @property
    def has_both_endings(self) -> bool:
        """Whether the prompt is both to be continued and to be answered."""
        return bool(self.add_generation_prompt and self.continue_final_message)

    @property
    def has_both_shapes(self) -> bool:
        """Whether both `input` and `messages` are given."""
        return self.input is not None and self.messages is not None

    @property
    def text_with_chat_options(self) -> str | None:
        """A chat option that is given with plain text."""
        if self.messages is not None or self.has_message_input:
            return None
        options = (
            *("add_generation_prompt", "continue_final_message"),
            *("chat_template", "chat_template_kwargs"),
        )
        return next((name for name in options if getattr(self, name) is not None), None)


def _are_messages(items: tuple[Any, ...]) -> bool:
    first = items[0] if items else None
    if isinstance(first, tuple):
        first = first[0] if first else None
    return isinstance(first, Mapping)
