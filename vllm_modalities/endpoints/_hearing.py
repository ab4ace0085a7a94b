"""A recording sent to be written down, by a route or in a chat, and what its answer says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import FiniteFloat

from .._context import Context, Target
from .._flow import Flow, Response, Work
from .._results import AnswerModel, raw, words
from .._wire import RequestModel
from ..errors import Finding
from ._asking import fitted, format_of
from ._chat_speech import chat_of, chats, hearing, said_in_chat

if TYPE_CHECKING:
    from ..audio.reading import AudioSource, Waveform
    from ..audio.spoken import Grammar, Spoken
    from ..audio.transcript import Transcript


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


@dataclass(frozen=True, slots=True)
class Sent:
    """A recording and the request that has it written down.

    Attributes:
        target: The servers.
        request: To one of the speech routes, or a chat.
        waveform: The sound.
        doubts: What was changed about the request.
    """

    target: Target
    request: RequestModel
    waveform: Waveform
    doubts: tuple[Finding, ...]


def asked(
    context: Context,
    kind: type[RequestModel],
    audio: AudioSource,
    model: str | None,
    fields: Mapping[str, Any],
    *,
    diarize: bool = False,
) -> Flow[Sent]:
    """Read a recording, and make the request to have the whole written down.

    It is sent as 16 kHz mono FLAC, the one form that every release decodes: 0.16 reads no MP4,
    0.28 counts the decoded bytes at the file's own rate and channels.
    """
    from ..audio.reading import encode, read_audio

    def read() -> tuple[Waveform, bytes]:
        waveform = read_audio(audio)
        return waveform, encode(waveform)

    waveform, content = yield from Work(read)
    target = yield from hearing(context, kind, model)
    prompt, doubts = yield from fitted(target, fields.get("prompt"))
    given = {**fields, "prompt": prompt, "response_format": format_of(target, diarize)}
    request = request_of(target, kind, content, waveform.duration, given)
    return Sent(target, request, waveform, doubts)


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
        text, reason = said_in_chat(response)
        heard = spoken(text, grammar, duration=duration)
        cut = (f"the text is cut: the model did not end it by itself ({reason!r})",)
        return (heard if reason == "stop" else replace(heard, doubts=heard.doubts + cut)), None
    body = response.parse(SpeechBody)
    if body.segments is not None:
        return body.heard(), body.language
    return spoken(body.text, grammar, duration=duration), body.language


def whole(
    sent: Sent,
    response: Response,
    heard: Spoken,
    *,
    language: str | None,
    doubts: Iterable[str] = (),
) -> Transcript:
    """The result of one recording that was sent whole."""
    from ..audio.transcript import Segment, Transcript

    waveform, clipped = sent.waveform, sent.waveform.clipped
    warnings = (*waveform.warnings, *words([*sent.doubts, *response.findings]))
    warnings += (*heard.doubts, *doubts)
    if clipped:
        warnings += (f"{clipped} samples were louder than full scale and are clipped",)
    one = Segment(start=0.0, end=waveform.duration, text=heard.text)
    return Transcript(
        text=heard.text,
        segments=heard.segments or ((one,) if heard.text else ()),
        language=language,
        duration=waveform.duration,
        model=sent.target.model,
        warnings=warnings,
        raw=raw([response], sent.target.context.options.keep_raw),
    )
