"""What is sent for a page: `POST /v1/chat/completions`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import Field

from .._xargs import ngram_findings
from ..errors import Finding
from ..server import ServerInfo
from ._completions import CompletionRequest


class OCRRequest(CompletionRequest):
    """Body of `POST /v1/chat/completions`, as far as reading pages needs it.

    Source: vLLM 0.32.0 vllm/entrypoints/openai/chat_completion/protocol.py,
    `ChatCompletionRequest`.
    """

    TASK: ClassVar[str] = "ocr"

    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    skip_special_tokens: bool | None = None
    repetition_detection: Mapping[str, int] | None = None
    mm_processor_kwargs: Mapping[str, Any] | None = None
    media_io_kwargs: Mapping[str, Any] | None = None
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
