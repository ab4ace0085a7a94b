"""Speech to text in the language spoken: `POST /v1/audio/transcriptions`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .._context import Context
from .._flow import Flow
from .._many import OnError
from .._progress import Progress
from ..audio.languages import code_of
from ._recording import Asked, Chunking, OnSegment, Timestamps, written
from ._speech import SpeechRequest

if TYPE_CHECKING:
    from .._inputs import AudioURL
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
    audio: AudioSource | AudioURL,
    *,
    model: str | None = None,
    language: str | None = None,
    prompt: str | None = None,
    hotwords: str | Sequence[str] | None = None,
    temperature: float | None = None,
    timestamps: Timestamps = None,
    diarize: bool = False,
    chunking: Chunking = "client",
    journal: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    on_segment: OnSegment | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Transcript]:
    """Write down what is said in a recording of any length, in the language it is said in.

    It is cut where nobody speaks, into pieces as long as the model hears at once; they go out side
    by side, over all servers that have the model, while the rest is still being read. Silence is
    not sent. What a piece comes back as is checked, and asked for again where it is doubtful.

    Args:
        audio: A path (a `str` or `Path` is one), the bytes of a file, a file object, an
            `AudioURL`, or (samples, rate): samples of shape (n,) or (n, channels), floats in -1..1
            or integers, rate in Hz. WAV, FLAC, OGG, Opus, MP3 and AIFF are read; M4A, MP4, WebM and
            MKV with the extra `media`. What is sent is 16 kHz mono FLAC.
        model: The served model's name; None is the one that is served.
        language: Code as in ISO 639-1, such as `"en"`, or English name, such as `"German"`. None
            has the server find out, of a recording of several pieces once for all of them, where
            the model can tell.
        prompt: Words that come before, or names that are hard to spell; models differ in whether
            they read it. Of one that is too long for the model the end is kept; one that would
            replace the model's own instruction is refused. It goes with every piece.
        hotwords: Words to listen for; Fun-ASR reads them, others say in `.warnings` that they do
            not.
        temperature: 0 (the default) is the most likely text; higher is more random. If it is
            given, doubtful pieces are not asked for at others.
        timestamps: `"segment"` asks the model for timed segments; None makes one segment a piece.
        diarize: Tell speakers apart, in `.segments`: `.speaker` is the model's label, which is
            one of its piece's own. MOSS-Transcribe-Diarize does.
        chunking: `"vad"` cuts where Silero's voice detector (the extra `vad`) hears nobody, not
            where it is quiet; `"server"` sends the recording whole, as long as the server takes it.
        journal: A file for finished pieces: the same call after a kill sends none of them again.
        progress: True draws a bar; a function is called with the whole seconds of sound that are
            done, and how many there are, or None where the file does not tell.
        on_segment: Called with each `Segment`, in order, as soon as it is sure.
        on_error: What a piece that fails makes of the rest: `"collect"` hears it and raises
            PartialFailureError at the end, with the transcript as `.results`; `"raise"` stops;
            `"return"` gives the transcript, with `.failures`.
        extra_body: Further fields of the request.

    Returns:
        The transcript. `.duration` is the recording's, in seconds. What was left out, repaired,
        guessed or is doubtful is on `.warnings`, with its times.

    Raises:
        MediaError: There is no such file, or it holds no sound that can be read. Nothing is sent,
            unless the fault is behind the first minutes.
        ImportError: Reading the file takes the extra `media`, or cutting it the extra `vad`.
        InvalidRequestError: `language` is none; `journal` is in use or is another file; the model
            is known to tell no speakers apart; or the recording is to go out whole, and is longer
            than the server takes at once.
        PartialFailureError: Some pieces failed.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/transcription/protocol.py.
    """
    fields = {
        "language": code_of("language", language),
        "prompt": prompt,
        "hotwords": hotwords_of(hotwords),
        "temperature": temperature,
        "extra_body": extra_body,
    }
    asked = Asked(
        model=model,
        timestamps=timestamps,
        diarize=diarize,
        chunking=chunking,
        journal=journal,
        progress=progress,
        on_segment=on_segment,
        on_error=on_error,
    )
    return (
        yield from written(
            context, TranscriptionRequest, TranscriptionRequest, audio, fields, asked
        )
    )
