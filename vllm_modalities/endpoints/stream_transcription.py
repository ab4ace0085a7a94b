"""Speech to text while it is written: `POST /v1/audio/transcriptions` as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from .._context import Context
from .._flow import Flow, Live, Response, Work
from .._inputs import AudioURL, one_of, without
from .._results import words
from ..audio.doubts import doubt
from ..audio.languages import code_of
from ..audio.sending import Piece, Pieces
from ..audio.spoken import spoken
from ..audio.transcript import Segment, Transcript
from ._asking import fitted
from ._chat_speech import hearing
from ._fetching import fetched
from ._hearing import CUT, grammar_of, request_of
from ._joins import Joins
from ._listening import Listener, Telling
from ._pieces import Heard
from ._recording import Chunking, cut
from .transcribe import TranscriptionRequest, hotwords_of

if TYPE_CHECKING:
    from ..audio.reading import AudioSource
    from ..audio.spoken import Grammar


def stream_transcription(
    context: Context,
    /,
    audio: AudioSource | AudioURL | Iterable[bytes] | AsyncIterable[bytes],
    *,
    model: str | None = None,
    language: str | None = None,
    prompt: str | None = None,
    hotwords: str | Sequence[str] | None = None,
    temperature: float | None = None,
    chunking: Chunking = "client",
    extra_body: Mapping[str, Any] | None = None,
) -> Live[Transcript]:
    """Write down what is said in a recording, and tell the words as the model writes them.

    It is cut as for `transcribe`, of any length, and its pieces are sent one after another. Words
    are told at once, so none are asked for again: what is doubtful is on `.warnings`. Leaving the
    loop, or closing the iterator, closes the connection, and the server stops.

    Args:
        audio: As for `transcribe`, or an iterator of the bytes of a file, part by part;
            `AsyncClient` takes an async iterable of them too. These are gathered first.
        model, language, prompt, hotwords, temperature, chunking, extra_body: As for `transcribe`.

    Returns:
        An iterator of text, an async iterator from `AsyncClient`: joined, it is the whole text.
        `.result` is the Transcript then; its `.warnings` say where the model came to its limit, and
        where it wrote nothing, too much or the same again and again.

    Raises:
        MediaError, InvalidRequestError: As for `transcribe`; both when the first text is asked for.
        ResponseError: The stream told of an error, stopped half-way, or is none. A try that is cut
            is made again; the words that were told stay, so if it says others, that is an error.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/base/serving.py,
    `_speech_to_text_stream_generator`.
    """
    without(extra_body, ("stream", "response_format"))
    one_of("chunking", chunking, get_args(Chunking))
    fields = {
        "language": code_of("language", language),
        "prompt": prompt,
        "hotwords": hotwords_of(hotwords),
        "temperature": temperature,
        "stream": True,
        "extra_body": extra_body,
    }

    def begin(source: Any, tell: Callable[[str], bool]) -> Flow[Transcript]:
        return _streamed(context, source, tell, model, fields, chunking)

    return Live(audio, begin)


def _streamed(
    context: Context,
    audio: AudioSource | AudioURL,
    tell: Callable[[str], bool],
    model: str | None,
    fields: Mapping[str, Any],
    chunking: Chunking,
) -> Flow[Transcript]:
    if isinstance(audio, AudioURL):
        audio = yield from fetched(context, audio)
    pieces = Pieces(audio)
    try:
        yield from Work(pieces.open)
        target = yield from hearing(context, TranscriptionRequest, model)
        prompt, notes = yield from fitted(target, fields["prompt"])
        # No word may be told twice, so pieces do not overlap.
        yield from Work(lambda: cut(pieces, target, chunking, overlap=False))
        joins = Joins(None, words(notes))
        telling = Telling(tell, grammar_of(target))
        while (piece := (yield from Work(pieces.take))) is not None:
            sent = {**fields, "prompt": prompt, "response_format": "json"}
            request = request_of(target, TranscriptionRequest, piece.content, piece.seconds, sent)
            response = yield from target.post(request, listen=telling.begin)
            joins.add(piece, _heard(telling.heard(response), response, piece, telling.grammar))
        if pieces.fault is not None:
            raise pieces.fault
    finally:
        pieces.close()
    transcript = joins.transcript(pieces, context.options.keep_raw)
    return replace(transcript, model=target.model, language=fields["language"])


def _heard(last: Listener, response: Response, piece: Piece, grammar: Grammar) -> Heard:
    """What was heard of a piece, and where the model did not end by itself."""
    found = spoken(last.said, grammar, duration=piece.seconds)
    count = len(last.reasons)
    cut = tuple(
        f"{CUT}: the model did not end chunk {place} of {count} by itself ({reason!r})"
        for place, reason in enumerate(last.reasons, 1)
        if reason != "stop"
    )
    wrong = doubt(found.text, seconds=piece.seconds, voiced=piece.voiced)
    doubts = found.doubts + cut + (() if wrong is None else (wrong,))
    one = (Segment(0.0, piece.seconds, found.text),) if found.text else ()
    notes, content = words(response.findings), (response.content,)
    return Heard(found.segments or one, None, doubts, notes, content)
