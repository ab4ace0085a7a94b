"""What transcription and translation share: the multipart body."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import Field

from .._flow import Form
from .._wire import RequestModel
from .._xargs import XArgs
from ..errors import Finding
from ..server import ServerInfo
from ._asking import unread


class SpeechRequest(RequestModel):
    """The fields that both speech routes take; `file` is a part of its own.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/transcription/protocol.py.
    """

    file: bytes = Field(exclude=True, repr=False, min_length=1)
    duration: float | None = Field(default=None, exclude=True)
    """Seconds of audio in `file`, if known; not sent, but held against the server's limit."""
    compared: bool = Field(default=False, exclude=True)
    """Whether whoever asks finds and repairs what `verbose_json` loses; not sent."""

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
    def is_verbose_alone(self) -> bool:
        """Whether timed segments are asked for, and nobody sees what they lack."""
        return self.is_verbose and (self.is_long or not self.compared)

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
