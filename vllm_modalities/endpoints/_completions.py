"""What is sent to `POST /v1/chat/completions`, whole or as a stream, and what comes back.

Source: vLLM 0.32.0 vllm/entrypoints/openai/chat_completion/protocol.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from .._flow import Response
from .._results import AnswerModel
from .._wire import RequestModel
from .._xargs import XArgs


class CompletionRequest(RequestModel):
    """The fields that every task asks a chat model with."""

    PATHS: ClassVar[tuple[str, ...]] = ("/v1/chat/completions",)

    messages: tuple[Mapping[str, Any], ...] = Field(min_length=1, repr=False)
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    stream: bool | None = None
    max_completion_tokens: int | None = Field(default=None, ge=1)
    vllm_xargs: XArgs | None = None


class _Message(AnswerModel):
    content: str | None = None


class _Choice(AnswerModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(AnswerModel):
    choices: list[_Choice] = Field(min_length=1)


class _Delta(AnswerModel):
    content: str | None = None


class _Part(AnswerModel):
    delta: _Delta = _Delta()
    finish_reason: str | None = None


class Chunk(AnswerModel):
    """One event of a stream, which the speech routes write alike."""

    choices: list[_Part] = Field(default_factory=list)
    error: Any = None


def completed(response: Response) -> tuple[str, str | None]:
    """What the model wrote, and why it ended."""
    choice = response.parse(_Completion).choices[0]
    return choice.message.content or "", choice.finish_reason
