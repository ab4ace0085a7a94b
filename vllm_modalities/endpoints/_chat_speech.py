"""Speech to text by a model without a route for it: `POST /v1/chat/completions` with its sound."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from .._context import Context, Target
from .._flow import Flow, Together
from .._wire import RequestModel
from ..errors import VLLMModalitiesError
from ..server import ServerInfo
from ._completions import CompletionRequest

# The words that vLLM itself puts to Gemma 3n and Qwen3-Omni, which have a route.
ASKED = {"transcribe": "Transcribe this audio", "translate": "Translate this audio"}
ONLY = "Write the words alone."


class SpeechChatRequest(CompletionRequest):
    """Body of `POST /v1/chat/completions` with one recording, for models that hear only in chats.

    Source: vLLM 0.32.0 vllm/entrypoints/openai/chat_completion/protocol.py,
    `ChatCompletionRequest`; vllm/entrypoints/chat_utils.py, `input_audio`.
    """

    TASK: ClassVar[str] = "transcribe"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("translate",)

    duration: float | None = Field(default=None, exclude=True)
    """Seconds of audio, if known; not sent, but held against the server's limit."""

    min_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None

    @classmethod
    def suits(cls, server: ServerInfo) -> bool:
        """A chat route does not mean hearing: the model's profile must say so."""
        hears = any(_chats(server, model.id) for model in server.models if model.parent is None)
        return hears and super().suits(server)


def _chats(server: ServerInfo, model: str | None) -> bool:
    speech = server.profile(model).speech
    return speech is not None and speech.chat is True


def hearing(context: Context, kind: type[RequestModel], model: str | None) -> Flow[Target]:
    """The servers that take a `kind` of request; or, where there are none, hear in chats.

    Raises:
        UnsupportedTaskError, UnknownModelError, InvalidRequestError: As for `Context.find`.
    """
    # An error is an answer here, and Together hands errors over as outcomes.
    (found,) = yield from Together([context.find(kind, model)])
    if isinstance(found, VLLMModalitiesError):
        (chatting,) = yield from Together([context.find(SpeechChatRequest, model)])
        if isinstance(chatting, VLLMModalitiesError):
            raise found
        found = chatting
    return found


def chats(target: Target) -> bool:
    """Whether the model is asked in a chat."""
    return _chats(target.info, target.model)


def chat_of(
    target: Target, task: str, content: bytes, duration: float, fields: Mapping[str, Any]
) -> SpeechChatRequest:
    """The request that has a recording written down.

    Args:
        task: `"transcribe"` or `"translate"`.
        content: The recording, as a FLAC file.
        fields: Of the request to a speech route; what a chat has no field for is said in words.
    """
    given: dict[str, Any] = {"temperature": 0.0}
    given |= {name: value for name, value in fields.items() if value is not None}
    given.pop("response_format")
    words = _instruction(task, given.pop("language", None), given.pop("to_language", None))
    beside = (given.pop("prompt", None), given.pop("hotwords", None))
    sound = {"data": base64.b64encode(content).decode(), "format": "flac"}
    parts = (
        {"type": "input_audio", "input_audio": sound},
        {"type": "text", "text": " ".join([words, *filter(None, beside)])},
    )
    return SpeechChatRequest(
        model=target.model,
        messages=({"role": "user", "content": parts},),
        duration=duration,
        **given,
    )


def _instruction(task: str, language: str | None, to_language: str | None) -> str:
    spoken = f", which is in the language {language!r}" if language else ""
    into = f" into the language {to_language or 'en'!r}" if task == "translate" else ""
    return f"{ASKED[task]}{into}{spoken}. {ONLY}"
