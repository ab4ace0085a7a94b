"""Speech to text while it is written: `POST /v1/audio/transcriptions` as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._context import Context
from .._flow import Flow, Live
from .._inputs import without
from ._hearing import asked, grammar_of, whole
from ._listening import Listener, Telling
from .transcribe import TranscriptionRequest, hotwords_of

if TYPE_CHECKING:
    from ..audio.reading import AudioSource
    from ..audio.transcript import Transcript


def stream_transcription(
    context: Context,
    /,
    audio: AudioSource | Iterable[bytes] | AsyncIterable[bytes],
    *,
    model: str | None = None,
    language: str | None = None,
    prompt: str | None = None,
    hotwords: str | Sequence[str] | None = None,
    temperature: float | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Live[Transcript]:
    """Write down what is said in a recording, and tell the words as the model writes them.

    Leaving the loop, or closing the iterator, closes the connection, and the server stops.

    Args:
        audio: As for `transcribe`, or an iterator of the bytes of a file, part by part;
            `AsyncClient` takes an async iterable of them too. The whole is read first.
        model, language, prompt, hotwords, temperature, extra_body: As for `transcribe`.

    Returns:
        An iterator of text, an async iterator from `AsyncClient`: joined, it is the whole text.
        `.result` is the Transcript then; its `.warnings` say where the model came to its limit.

    Raises:
        MediaError, InvalidRequestError: As for `transcribe`; both when the first text is asked for.
        ResponseError: The stream told of an error, stopped half-way, or is none. A try that is cut
            is made again; the words that were told stay, so if it says others, that is an error.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/base/serving.py,
    `_speech_to_text_stream_generator`.
    """
    without(extra_body, ("stream", "response_format"))
    fields = {
        "language": language,
        "prompt": prompt,
        "hotwords": hotwords_of(hotwords),
        "temperature": temperature,
        "stream": True,
        "extra_body": extra_body,
    }

    def begin(source: Any, tell: Callable[[str], bool]) -> Flow[Transcript]:
        return _streamed(context, source, tell, model, fields)

    return Live(audio, begin)


def _streamed(
    context: Context,
    audio: AudioSource,
    tell: Callable[[str], bool],
    model: str | None,
    fields: Mapping[str, Any],
) -> Flow[Transcript]:
    from ..audio.spoken import spoken

    sent = yield from asked(context, TranscriptionRequest, audio, model, fields)
    grammar = grammar_of(sent.target)
    telling = Telling(tell, grammar)
    response = yield from sent.target.post(sent.request, listen=telling.begin)
    last = telling.heard(response)
    heard = spoken(last.said, grammar, duration=sent.waveform.duration)
    return whole(sent, response, heard, language=fields["language"], doubts=_cut(last))


def _cut(heard: Listener) -> list[str]:
    """Where the model did not end by itself."""
    count = len(heard.reasons)
    return [
        f"the text is cut: the model did not end chunk {place} of {count} by itself ({reason!r})"
        for place, reason in enumerate(heard.reasons, 1)
        if reason != "stop"
    ]
