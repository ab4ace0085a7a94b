"""Speech to text while it is spoken: a session on `/v1/realtime`, a websocket."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from .._context import Context
from .._flow import Flow, Live, Response, Talk, Work, said
from .._inputs import invalid
from .._results import AnswerModel, words
from .._wire import RequestModel
from ..audio.pieces import RATE
from ..audio.transcript import Segment, Transcript
from ..server import ServerInfo
from ._hearing import grammar_of
from ._listening import Telling

if TYPE_CHECKING:
    from ..audio.pcm import PCM, SoundBlock

PART = 32_000  # bytes of a message, a second; uvicorn takes no message above 16 MiB


class RealtimeRequest(RequestModel):
    """What begins a session on `/v1/realtime`: the event `session.update`.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/realtime/protocol.py, `SessionUpdate`.
    """

    TASK: ClassVar[str] = "realtime"
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/realtime",)
    WEBSOCKET: ClassVar[bool] = True

    @classmethod
    def suits(cls, server: ServerInfo) -> bool:
        """Whether one of its models is known to write while it listens: no route says it."""
        speech = (model.profile.speech for model in server.models)
        return not server.routes or any(one is not None and one.realtime for one in speech)


class _Event(AnswerModel):
    type: str
    delta: str = ""
    error: Any = None


def realtime_transcription(
    context: Context,
    /,
    blocks: Iterable[SoundBlock] | AsyncIterable[SoundBlock],
    *,
    rate: int = 16_000,
    model: str | None = None,
) -> Live[Transcript]:
    """Write down what is being said, and tell the words while it is said.

    The blocks are sent as they come, by a thread of its own (`AsyncClient`: a task), and words are
    told as the model writes them, neither checked nor asked for again. Leaving the loop, or closing
    the iterator, ends the session.

    Args:
        blocks: Sound as it comes, of any sizes: the bytes of 16-bit little-endian samples of one
            channel, or arrays of shape (n,) or (n, channels), floats in -1..1 or integers.
            `AsyncClient` takes an async iterable too, and waits for a plain one in a thread.
        rate: Samples a second in them (Hz); what is sent has 16,000.
        model: The served model's name; None is the one that is served.

    Returns:
        An iterator of text, an async iterator from `AsyncClient`: joined, it is the whole text.
        `.result` is the Transcript then. The client's `timeout` bounds the seconds in which nothing
        is said and nothing heard, its `deadline` the whole.

    Raises:
        UnsupportedTaskError: No server does it, as far as is known; a mapping says that one does:
            `Client({"realtime": "http://…"})`.
        MediaError: A block is no sound.
        ResponseError: The server told of an error, or ended the session; what was said cannot be
            said again.
        ImportError: It takes the extra `realtime`.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/realtime/connection.py.
    """
    if isinstance(blocks, bytes | str) or not isinstance(blocks, Iterable | AsyncIterable):
        raise invalid(
            "blocks", f"blocks must be an iterable of blocks of sound, not {type(blocks).__name__}"
        )

    def begin(source: Any, tell: Callable[[str], bool]) -> Flow[Transcript]:
        return _spoken(context, source, rate, tell, model)

    return Live(blocks, begin, gathers=False)


def _spoken(
    context: Context,
    blocks: Iterable[Any] | AsyncIterable[Any],
    rate: int,
    tell: Callable[[str], bool],
    model: str | None,
) -> Flow[Transcript]:
    pcm = yield from Work(lambda: _pcm(rate))
    target = yield from context.find(RealtimeRequest, model)
    if target.model is None:
        raise invalid("model", "the server lists no models, so say which: a session begins with it")
    request = RealtimeRequest(model=target.model)
    session = _Session(pcm, Telling(tell, grammar_of(target)), tell)
    first = _event("session.update", model=request.model)
    talk = Talk(blocks, (first,), session.add, session.rest)
    response = yield from target.post(request, listen=lambda: session.hear, talk=talk)
    text = session.text(response)
    seconds = pcm.count / RATE
    return Transcript(
        text=text,
        segments=(Segment(0.0, seconds, text),) if text else (),
        duration=seconds,
        model=target.model,
        warnings=(*words(response.findings), *session.doubts()),
        raw=tuple(session.answers) if context.options.keep_raw else None,
    )


def _pcm(rate: int) -> PCM:
    from ..audio.pcm import PCM

    return PCM(rate)


class _Session:
    """What is said, and what is heard.

    Attributes:
        answers: The event with which the server ended it.
    """

    def __init__(self, pcm: PCM, telling: Telling, tell: Callable[[str], bool]) -> None:
        self._pcm, self._telling, self._tell = pcm, telling, tell
        self._said, self._error, self._fault = "", b"", "the session was left before its end"
        self._has_sound = self._is_over = False
        self._ended_at: int | None = None  # samples; the server did, before it had heard all
        self.answers: list[bytes] = []

    def add(self, block: SoundBlock) -> Iterator[str]:
        """The messages of one block; the first one has the server begin."""
        return self._messages(self._pcm.add(block))

    def rest(self) -> Iterator[str]:
        """What is left, and that it is all."""
        yield from self._messages(self._pcm.rest())
        self._is_over = True
        if self._has_sound:
            yield _event("input_audio_buffer.commit", final=True)

    def _messages(self, sound: bytes) -> Iterator[str]:
        if sound and not self._has_sound:
            self._has_sound = True
            yield _event("input_audio_buffer.commit")
        for start in range(0, len(sound), PART):
            part = base64.b64encode(sound[start : start + PART])
            yield _event("input_audio_buffer.append", audio=part.decode())

    def hear(self, message: bytes) -> bool:
        """Take an event, or none; whether more are wanted."""
        if not message:
            return self._tell("") and not self._is_empty
        try:
            event = _Event.model_validate_json(message)
        except ValueError as error:
            self._fault = f"the session cannot be read: {error}"
            return False
        if event.type == "error":
            self._error = message
        elif event.type == "transcription.done":
            self.answers.append(message)
            self._ended_at = None if self._is_over else self._pcm.count
        else:
            self._said += event.delta
            return self._telling.grown(self._said)
        return False

    @property
    def _is_empty(self) -> bool:
        """Whether there was nothing to say."""
        return self._is_over and not self._has_sound

    def text(self, response: Response) -> str:
        """All that was heard.

        Raises:
            ResponseError: The server told of an error, or of what is none of its events.
        """
        if self._error:
            words = said(self._error, response.hidden)
            raise response.fault(f"the server ended the session with an error: {words}")
        if not self.answers and not self._is_empty:
            raise response.fault(self._fault)
        self._telling.grown(self._said, whole=True)
        return self._telling.text

    def doubts(self) -> Iterator[str]:
        """What was not said or heard."""
        yield from self._pcm.warnings
        if self._pcm.clipped:
            yield f"{self._pcm.clipped} samples were louder than full scale and are clipped"
        if self._is_empty:
            yield "nothing was sent: there was no sound in the blocks"
        if self._ended_at is not None:
            seconds = self._ended_at / RATE
            yield f"the server ended by itself after {seconds:.1f} s; what came then was not heard"


def _event(kind: str, **fields: object) -> str:
    return json.dumps({"type": kind, **fields})
