"""What transcription and translation share: the multipart body, and sending one recording."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, FiniteFloat

from .._context import Context, Target
from .._flow import Flow, Form, Response, Work
from .._results import AnswerModel, words
from .._wire import RequestModel
from .._xargs import XArgs
from ..errors import Finding
from ..server import ServerInfo
from ._asking import fitted, format_of, unread
from ._chat_speech import chat_of, chats, hearing, said_in_chat

if TYPE_CHECKING:
    from ..audio.reading import AudioSource, Waveform
    from ..audio.spoken import Spoken
    from ..audio.transcript import Transcript


class SpeechRequest(RequestModel):
    """The fields that both speech routes take; `file` is a part of its own.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/transcription/protocol.py.
    """

    file: bytes = Field(exclude=True, repr=False, min_length=1)
    duration: float | None = Field(default=None, exclude=True)
    """Seconds of audio in `file`, if known; not sent, but held against the server's limit."""

    language: str | None = None
    prompt: str | None = None
    hotwords: str | None = None
    response_format: Literal["json", "text", "verbose_json"] | None = None
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    use_beam_search: bool | None = None
    n: int | None = Field(default=None, ge=1)
    stream: bool | None = None
    length_penalty: float | None = None
    seed: int | None = None
    to_language: str | None = None
    max_completion_tokens: int | None = Field(default=None, ge=1)
    vllm_xargs: XArgs | None = None

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """The language's code, and what the model is known not to hear or read."""
        code, profile = self.language, server.profile(self.model)
        yield from unread(profile, self.prompt, self.hotwords)
        if code is None:
            return
        if not re.fullmatch("[a-z]{2,3}", code):
            yield _language("error", f"language={code!r} is no ISO 639-1 code, such as 'en'")
        elif profile.speech and profile.speech.languages and code not in profile.speech.languages:
            yield _language("warning", f"{profile.name} is not known to hear language={code!r}")

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self.file)

    @property
    def has_listed_xargs(self) -> bool:
        """Whether a list stands among the arguments for a logits processor."""
        return any(isinstance(value, list) for value in (self.vllm_xargs or {}).values())

    @property
    def n_without_beams(self) -> int | None:
        """The number of beams, if there is no beam search."""
        return None if self.use_beam_search else self.n

    @property
    def is_streamed_beams(self) -> bool:
        """Whether a stream is asked for that is searched by beams."""
        return bool(self.stream and self.use_beam_search)

    @property
    def is_streamed_segments(self) -> bool:
        """Whether a stream of segments is asked for."""
        return bool(self.stream) and str(self.response_format).endswith("_json")

    @property
    def is_long(self) -> bool:
        """Whether the server cuts it into chunks, as far as is known: Whisper hears 30 s."""
        return self.duration is not None and self.duration > 30

    @property
    def is_verbose(self) -> bool:
        """Whether timed segments are asked for."""
        return self.response_format == "verbose_json"

    @property
    def is_long_verbose(self) -> bool:
        """Whether timed segments of several chunks are asked for."""
        return self.is_long and self.is_verbose

    @property
    def is_verbose_without_language(self) -> bool:
        """Whether timed segments are asked for in a language that is to be found out."""
        return self.is_verbose and self.language is None

    def as_form(self, fields: Mapping[str, Any]) -> Form:
        """The multipart body, without empty parts and `false`, which some fields refuse."""
        sent = {name: v for name, v in fields.items() if v is not False and v not in ("", [])}
        plain = {name: _part(value) for name, value in sent.items()}
        name, kind = ("audio.flac", "audio/flac") if self.file[:4] == b"fLaC" else ("audio", "")
        kind = kind or "application/octet-stream"
        return Form(fields=plain, files={"file": (name, self.file, kind)})


def _language(severity: Literal["error", "warning"], message: str) -> Finding:
    source = "vLLM 0.32.0 vllm/model_executor/models/interfaces.py, `validate_language`"
    return Finding(
        code="language", severity=severity, field="language", message=message, source=source
    )


def _part(value: Any) -> str | list[str]:
    if isinstance(value, bool):
        return "true"
    if isinstance(value, Mapping):
        return json.dumps(value)  # decoded by the server from 0.20.0 on
    return [str(item) for item in value] if isinstance(value, list) else str(value)


class _Segment(AnswerModel):
    start: FiniteFloat
    end: FiniteFloat
    text: str
    speaker: str | None = None


class SpeechBody(AnswerModel):
    """The `json` answer of both routes, and the `diarized_json` of one."""

    text: str
    language: str | None = None
    segments: list[_Segment] | None = None

    def heard(self) -> Spoken:
        """The words, and who says them when."""
        from ..audio.spoken import Spoken
        from ..audio.transcript import Segment

        given = self.segments or ()
        return Spoken(
            self.text.strip(),
            tuple(Segment(s.start, s.end, s.text.strip(), speaker=s.speaker) for s in given),
        )


def written(
    context: Context,
    kind: type[SpeechRequest],
    audio: AudioSource,
    model: str | None,
    fields: Mapping[str, Any],
    *,
    diarize: bool = False,
) -> Flow[Transcript]:
    """Send a whole recording as a `kind` of request with these fields, and read the answer.

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
    response = yield from target.post(request)
    return _transcript(target, response, waveform, doubts)


def request_of(
    target: Target,
    kind: type[SpeechRequest],
    content: bytes,
    duration: float,
    fields: Mapping[str, Any],
) -> RequestModel:
    """The request that has a recording written down: of this kind, or in a chat."""
    if chats(target):
        return chat_of(target, kind.TASK, content, duration, fields)
    return kind(model=target.model, file=content, duration=duration, **fields)


def heard_in(target: Target, response: Response, duration: float) -> tuple[Spoken, str | None]:
    """What an answer says of `duration` seconds of sound, and its language if it tells."""
    from ..audio.spoken import spoken

    speech = target.profile.speech
    grammar = speech.grammar if speech else None
    if chats(target):
        text, reason = said_in_chat(response)
        heard = spoken(text, grammar, duration=duration)
        cut = (f"the text is cut: the model did not end it by itself ({reason!r})",)
        return (heard if reason == "stop" else replace(heard, doubts=heard.doubts + cut)), None
    body = response.parse(SpeechBody)
    if body.segments is not None:
        return body.heard(), body.language
    return spoken(body.text, grammar, duration=duration), body.language


def _transcript(
    target: Target, response: Response, waveform: Waveform, doubts: tuple[Finding, ...]
) -> Transcript:
    """The result, from the answer to one recording sent whole; whoever asked knows its language."""
    from ..audio.transcript import Segment, Transcript

    heard, language = heard_in(target, response, waveform.duration)
    text = heard.text
    clipped = waveform.clipped
    warnings = (*waveform.warnings, *words([*doubts, *response.findings]), *heard.doubts)
    if clipped:
        warnings += (f"{clipped} samples were louder than full scale and are clipped",)
    whole = Segment(start=0.0, end=waveform.duration, text=text)
    return Transcript(
        text=text,
        segments=heard.segments or ((whole,) if text else ()),
        language=language,
        duration=waveform.duration,
        model=target.model,
        warnings=warnings,
        raw=(response.content,) if target.context.options.keep_raw else None,
    )
