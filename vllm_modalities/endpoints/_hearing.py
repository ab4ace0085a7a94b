"""The request that has sound written down, by a route or in a chat, and what its answer says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import FiniteFloat

from .._context import Target
from .._flow import Response
from .._results import AnswerModel
from .._wire import RequestModel
from ._chat_speech import chat_of, chats
from ._completions import completed

if TYPE_CHECKING:
    from ..audio.spoken import Grammar, Spoken

CUT = "the text is cut"


class _Segment(AnswerModel):
    start: FiniteFloat
    end: FiniteFloat
    text: str
    speaker: str | None = None
    avg_logprob: float | None = None
    compression_ratio: float | None = None
    no_speech_prob: float | None = None


class SpeechBody(AnswerModel):
    """The `json` and `verbose_json` answers of both routes, and the `diarized_json` of one."""

    text: str
    language: str | None = None
    segments: list[_Segment] | None = None

    def heard(self) -> Spoken:
        """The words, and who says them when."""
        from ..audio.spoken import Spoken
        from ..audio.transcript import Segment

        segments = (
            Segment(
                one.start,
                one.end,
                one.text.strip(),
                one.speaker,
                one.avg_logprob,
                one.compression_ratio,
                one.no_speech_prob,
            )
            for one in self.segments or ()
        )
        return Spoken(self.text.strip(), tuple(segments))


def request_of(
    target: Target,
    kind: type[RequestModel],
    content: bytes,
    duration: float,
    fields: Mapping[str, Any],
) -> RequestModel:
    """The request that has a FLAC file written down: of this kind, or in a chat."""
    if chats(target):
        return chat_of(target, kind.TASK, content, duration, fields)
    request: Any = kind  # which has a file and its duration, as all requests for speech have
    made: RequestModel = request(model=target.model, file=content, duration=duration, **fields)
    return made


def grammar_of(target: Target) -> Grammar:
    """How the model's text reads."""
    speech = target.profile.speech
    return speech.grammar if speech else None


def heard_in(target: Target, response: Response, duration: float) -> tuple[Spoken, str | None]:
    """What an answer says of `duration` seconds of sound, and its language if it tells."""
    from ..audio.spoken import spoken

    grammar = grammar_of(target)
    if chats(target):
        text, reason = completed(response)
        heard = spoken(text, grammar, duration=duration)
        cut = (f"{CUT}: the model did not end it by itself ({reason!r})",)
        return (heard if reason == "stop" else replace(heard, doubts=heard.doubts + cut)), None
    body = response.parse(SpeechBody)
    if body.segments is not None:
        return body.heard(), body.language
    return spoken(body.text, grammar, duration=duration), body.language


def cut_in(warnings: Iterable[str]) -> list[str]:
    """Those of a transcript's warnings that say that a model did not write all it heard."""
    return [one for one in warnings if CUT in one]
