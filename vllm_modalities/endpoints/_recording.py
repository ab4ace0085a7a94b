"""A recording of any length: cut into pieces, heard side by side, and joined in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Literal, get_args

from .._context import Context, Target
from .._flow import Flow, Together, Work
from .._inputs import AudioURL, one_of
from .._journal import Journal
from .._many import Failure, OnError, Streak, is_shared, settle
from .._progress import Progress, told
from .._results import words
from ..audio.reading import AudioSource
from ..audio.sending import Piece, Pieces
from ..audio.transcript import Segment, Transcript
from ..audio.voice import Silero
from ..errors import BadRequestError, InvalidRequestError, VLLMModalitiesError
from ._asking import fitted, format_of
from ._chat_speech import chats, hearing
from ._fetching import fetched
from ._joins import Joins, span
from ._pieces import UNTIMED, Ear
from ._speech import SpeechRequest

AHEAD = 4  # pieces among which the one is chosen that tells the language
CLIP = 30.0  # s; what a model that nothing is known of hears at once
SERVED = 600.0  # s; VLLM_MAX_AUDIO_DECODE_DURATION_S in vllm/envs.py, from 0.24.0

Timestamps = Literal["segment"] | None
Chunking = Literal["client", "vad", "server"]
OnSegment = Callable[[Segment], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arguments that are no field of the request."""

    model: str | None
    timestamps: Timestamps
    diarize: bool
    chunking: Chunking
    journal: str | os.PathLike[str] | None
    progress: Progress
    on_segment: OnSegment | None
    on_error: OnError

    def __post_init__(self) -> None:
        one_of("chunking", self.chunking, get_args(Chunking))
        one_of("on_error", self.on_error, get_args(OnError))
        if self.timestamps is not None:
            one_of("timestamps", self.timestamps, ("segment",))


def written(
    context: Context,
    kind: type[SpeechRequest],
    detects: type[SpeechRequest],
    audio: AudioSource | AudioURL,
    fields: Mapping[str, Any],
    asked: Asked,
) -> Flow[Transcript]:
    """Hear a whole recording.

    It is sent as 16 kHz mono FLAC, the one form that every release decodes: 0.16 reads no MP4,
    0.28 counts the decoded bytes at the file's own rate and channels.

    Args:
        kind: The request that is sent with each piece.
        detects: The one that finds out which language is spoken.
        fields: Of the request.
    """
    if isinstance(audio, AudioURL):
        audio = yield from fetched(context, audio)
    pieces, journal = Pieces(audio), None
    try:
        yield from Work(pieces.open)
        target = yield from hearing(context, kind, asked.model)
        if (path := asked.journal) is not None:
            journal = yield from Work(lambda: Journal(path))
        prompt, notes = yield from fitted(target, fields.get("prompt"))
        fields = {**fields, "prompt": prompt}
        form = format_of(target, asked.diarize)
        yield from Work(lambda: cut(pieces, target, asked.chunking))
        ahead = yield from Work(lambda: _ahead(pieces))
        joins = Joins(asked.on_segment, words(notes))
        tells = _tells(target)
        if tells and len(ahead) > 1 and not _given(fields, "language"):
            detector = Ear(target, detects, {}, timed=True, journal=journal)
            fields["language"] = yield from _language(detector, ahead, joins)
        timed = asked.timestamps is not None and tells is not False and not asked.diarize
        if asked.timestamps is not None and tells is False:
            joins.doubts.append(UNTIMED)
        ear = Ear(target, kind, fields, form=form, timed=timed, journal=journal)
        listening = _Listening(pieces, ear, joins, asked.on_error)
        length = pieces.sound.length
        total = None if length is None else int(length)
        with told(asked.progress, total, of="seconds of sound") as done:
            failures = yield from listening.run(ahead, done)
    finally:
        pieces.close()
        if journal is not None:
            journal.close()
    transcript = replace(joins.transcript(pieces, context.options.keep_raw), model=target.model)
    if fields.get("language") is not None:
        transcript = replace(transcript, language=fields["language"])
    count = pieces.count + (pieces.fault is not None)
    settled = settle(transcript, failures, on_error=asked.on_error, count=count)
    return replace(settled, failures=tuple(failures))


def cut(pieces: Pieces, target: Target, chunking: Chunking, *, overlap: bool = True) -> None:
    """Begin to cut as is asked; ImportError where that takes an extra."""
    voice = Silero() if chunking == "vad" else None
    most = None if chunking == "server" else longest(target)
    pieces.cut(most, overlap=overlap, voice=voice)


def longest(target: Target) -> float:
    """Seconds of a piece: a little less than the model and the server take at once."""
    speech = target.profile.speech
    clip = speech.clip if speech and speech.clip else CLIP
    return min(clip, SERVED) - 1


def _tells(target: Target) -> bool | None:
    """Whether the model times segments and tells the language; None if that is not known."""
    speech = target.profile.speech
    return False if chats(target) else speech.timestamps if speech else None


def _ahead(pieces: Pieces) -> list[Piece]:
    """The first few pieces, or all that there are."""
    return list(islice(iter(pieces.take, None), AHEAD))


def _given(fields: Mapping[str, Any], name: str) -> bool:
    return (fields.get(name) or (fields.get("extra_body") or {}).get(name)) is not None


def _language(detector: Ear, ahead: Sequence[Piece], joins: Joins) -> Flow[str | None]:
    """The language of that one of the first pieces which sounds most like speech."""
    piece = max(ahead, key=lambda one: one.lively)
    (language,) = yield from Together([detector.language(piece)])
    if isinstance(language, BadRequestError | InvalidRequestError):
        return None  # this model or release tells none
    if isinstance(language, VLLMModalitiesError):
        joins.doubts.append(f"no language was heard in {span(piece)}, and none sent: {language}")
        return None
    if language is not None:
        joins.doubts.append(
            f"language={language!r} was heard in {span(piece)} and sent with every piece"
        )
    return language


class _Listening:
    """Hears pieces side by side, as many as there are."""

    def __init__(self, pieces: Pieces, ear: Ear, joins: Joins, on_error: OnError) -> None:
        self._pieces, self._ear, self._joins = pieces, ear, joins
        self._on_error: OnError = on_error
        self._streak = Streak()
        self._failures: list[Failure] = []
        self._stopped: VLLMModalitiesError | None = None

    def run(self, ahead: Sequence[Piece], done: Callable[[int], None]) -> Flow[list[Failure]]:
        """Hear the pieces `ahead` and those after them; (number, error) of those that failed."""
        first = [self._one(piece, done) for piece in ahead]
        # A list tells how few flows there are; there is a thread for each of many.
        flows = first if self._pieces.ended else chain(first, self._others(done))
        yield from Together(flows, self._stops)
        if (fault := self._pieces.fault) is not None:
            self._failures.append((self._pieces.count, fault))
            after = f"what comes after {self._pieces.until} s was not heard"
            self._joins.doubts.append(f"{after}: {fault}")
        failures = sorted(self._failures, key=lambda failure: failure[0])
        if failures and self._on_error == "raise":
            raise failures[0][1]
        if self._stopped is not None:
            self._joins.doubts.append(f"nothing was sent after that: {self._stopped}")
        self._joins.finish()
        return failures

    def _others(self, done: Callable[[int], None]) -> Iterator[Flow[None]]:
        while not self._pieces.ended:
            yield self._next(done)

    def _next(self, done: Callable[[int], None]) -> Flow[None]:
        piece = yield from Work(self._pieces.take)
        if piece is not None:
            yield from self._one(piece, done)

    def _one(self, piece: Piece, done: Callable[[int], None]) -> Flow[None]:
        (outcome,) = yield from Together([self._ear.hear(piece)])
        self._joins.add(piece, outcome)
        done(piece.more)
        if isinstance(outcome, VLLMModalitiesError):
            self._failures.append((piece.number, outcome))
            raise outcome
        self._streak.ends()

    def _stops(self, error: VLLMModalitiesError) -> bool:
        stops = self._on_error == "raise" or is_shared(error) or self._streak.is_too_long(error)
        if stops:
            self._stopped = error
            self._pieces.end()
        return stops
