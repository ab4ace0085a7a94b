"""Speech to text in the language spoken: `POST /v1/audio/transcriptions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .._context import Context
from .._flow import Flow
from ._speech import SpeechRequest, written

if TYPE_CHECKING:
    from ..audio.reading import AudioSource
    from ..audio.transcript import Transcript


class TranscriptionRequest(SpeechRequest):
    """Body of `POST /v1/audio/transcriptions`, a multipart form.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/transcription/protocol.py,
    `TranscriptionRequest`.
    """

    TASK: ClassVar[str] = "transcribe"
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/audio/transcriptions",)

    response_format: Literal["json", "text", "verbose_json", "diarized_json"] | None = None  # type: ignore[assignment]


def hotwords_of(given: str | Sequence[str] | None) -> str | None:
    """Words to listen for, as the field has them."""
    return given if given is None or isinstance(given, str) else ",".join(given)


def transcribe(
    context: Context,
    /,
    audio: AudioSource,
    *,
    model: str | None = None,
    language: str | None = None,
    prompt: str | None = None,
    diarize: bool = False,
    hotwords: str | Sequence[str] | None = None,
    temperature: float | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Transcript]:
    """Write down what is said in a recording, in the language it is said in.

    Args:
        audio: A path (a `str` or `Path` is one), the bytes of a file, a file object, or
            (samples, rate): samples of shape (n,) or (n, channels), floats in -1..1 or integers,
            rate in Hz. WAV, FLAC, OGG, Opus, MP3 and AIFF are read; what is sent is 16 kHz mono
            FLAC.
        model: The served model's name; None is the one that is served.
        language: Code as in ISO 639-1, such as `"en"`; None lets the model find out, which costs
            time and can fail.
        prompt: Words that come before, or names that are hard to spell; models differ in whether
            they read it. Of one that is too long for the model the end is kept; one that would
            replace the model's own instruction is refused.
        diarize: Tell speakers apart, in `.segments`: `.speaker` is the model's label.
            MOSS-Transcribe-Diarize does.
        hotwords: Words to listen for; Fun-ASR reads them, others say in `.warnings` that they do
            not.
        temperature: 0 (the default) is the most likely text; higher is more random.
        extra_body: Further fields of the request.

    Returns:
        The transcript. `.duration` is the recording's, in seconds; `.segments` is the whole as
        one.

    Raises:
        MediaError: There is no such file, or it holds no sound that can be read. Nothing is sent.
        InvalidRequestError: Longer than the server takes at once, or the model is known to tell
            no speakers apart. Nothing is sent.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/transcription/protocol.py.
    """
    fields = {
        "language": language,
        "prompt": prompt,
        "hotwords": hotwords_of(hotwords),
        "temperature": temperature,
        "extra_body": extra_body,
    }
    heard = yield from written(context, TranscriptionRequest, audio, model, fields, diarize=diarize)
    return replace(heard, language=heard.language or language)
