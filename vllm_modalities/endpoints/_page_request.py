"""What is sent for a page, and what comes back: `POST /v1/chat/completions`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import Field

from .._results import AnswerModel
from .._wire import RequestModel
from .._xargs import XArgs, ngram_findings
from ..errors import Finding
from ..server import ServerInfo


class OCRRequest(RequestModel):
    """Body of `POST /v1/chat/completions`, as far as reading pages needs it.

    Source: vLLM 0.32.0 vllm/entrypoints/openai/chat_completion/protocol.py,
    `ChatCompletionRequest`.
    """

    TASK: ClassVar[str] = "ocr"
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/chat/completions",)

    messages: tuple[Mapping[str, Any], ...] = Field(min_length=1, repr=False)
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    max_completion_tokens: int | None = Field(default=None, ge=1)
    skip_special_tokens: bool | None = None
    vllm_xargs: XArgs | None = None
    seed: int | None = None
    repetition_detection: Mapping[str, int] | None = None
    mm_processor_kwargs: Mapping[str, Any] | None = None
    media_io_kwargs: Mapping[str, Any] | None = None
    stream: bool | None = None
    pixels: int | None = Field(default=None, exclude=True)
    """Pixels of all images together, if known; not sent, but held against the server's limit."""

    @classmethod
    def suits(cls, server: ServerInfo) -> bool:
        """A chat route does not mean OCR: the model's profile must say so."""
        reads = any(model.profile.ocr for model in server.models if model.parent is None)
        return reads and super().suits(server)

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """The arguments of the n-gram processor, which a server takes wrong without a word."""
        return ngram_findings(self.vllm_xargs)


class Message(AnswerModel):
    content: str | None = None


class Choice(AnswerModel):
    message: Message
    finish_reason: str | None = None


class Completion(AnswerModel):
    choices: list[Choice] = Field(min_length=1)
