"""Speech to text in another language: `POST /v1/audio/translations`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from .._context import Context
from .._flow import Flow
from .._many import OnError
from .._progress import Progress
from ..audio.languages import code_of
from ..errors import Finding, ModelUsageWarning
from ..server import ServerInfo
from ._recording import Asked, Chunking, OnSegment, Timestamps, written
from ._speech import SpeechRequest
from .transcribe import TranscriptionRequest, hotwords_of

if TYPE_CHECKING:
    from .._inputs import AudioURL
    from ..audio.reading import AudioSource
    from ..audio.transcript import Transcript


class TranslationRequest(SpeechRequest):
    """Body of `POST /v1/audio/translations`, a multipart form.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/translation/protocol.py,
    `TranslationRequest`.
    """

    TASK: ClassVar[str] = "translate"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("transcribe",)
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/audio/translations",)

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """The languages that the model writes, where its profile says so."""
        yield from super().limits(server)
        profile = server.profile(self.model)
        speech, wanted = profile.speech, self.to_language or "en"
        if speech and speech.translates_into == ():
            yield Finding(
                code="translate-untrained",
                severity="warning",
                field="model",
                message=f"{profile.name} does not translate: what comes back is probably in the"
                " language that is spoken. openai/whisper-large-v3 translates",
                source=speech.sources["translates_into"],
                warns=ModelUsageWarning,
            )
        elif speech and speech.translates_into and wanted not in speech.translates_into:
            yield Finding(
                code="translate-to-language",
                severity="error",
                field="to_language",
                message=f"to_language={wanted!r}: {self.model!r} is a {profile.name}, which"
                f" writes only {', '.join(speech.translates_into)}, whatever it is asked for",
                source=speech.sources.get("translates_into", ""),
            )


def translate(
    context: Context,
    /,
    audio: AudioSource | AudioURL,
    *,
    to_language: str = "en",
    model: str | None = None,
    language: str | None = None,
    prompt: str | None = None,
    hotwords: str | Sequence[str] | None = None,
    temperature: float | None = None,
    timestamps: Timestamps = None,
    chunking: Chunking = "client",
    journal: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    on_segment: OnSegment | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Transcript]:
    """Write down what is said in a recording of any length, in another language.

    Args:
        audio: As for `transcribe`.
        to_language: Code, or English name, of the language to write. Whisper writes English alone;
            Granite Speech, GLM-ASR, Gemma 3n and Qwen3-ASR write others too.
        model: The served model's name; None is the one that is served.
        language: Code, or English name, of the language that is spoken; None lets the model find
            out.
        prompt, hotwords, temperature, timestamps, chunking: As for `transcribe`.
        journal, progress, on_segment, on_error: As for `transcribe`.
        extra_body: Further fields of the request.

    Returns:
        The translation; `.language` is the code of `to_language`.

    Raises:
        InvalidRequestError: The model cannot write that language; or as for `transcribe`, as
            is what else is raised.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/translation/protocol.py.
    """
    target = code_of("to_language", to_language)
    fields = {
        "language": code_of("language", language),
        # "en" is every model's own default, and Whisper knows no other.
        "to_language": None if target == "en" else target,
        "prompt": prompt,
        "hotwords": hotwords_of(hotwords),
        "temperature": temperature,
        "extra_body": extra_body,
    }
    asked = Asked(
        model=model,
        timestamps=timestamps,
        diarize=False,
        chunking=chunking,
        journal=journal,
        progress=progress,
        on_segment=on_segment,
        on_error=on_error,
    )
    heard = yield from written(
        context, TranslationRequest, TranscriptionRequest, audio, fields, asked
    )
    return replace(heard, language=target)
