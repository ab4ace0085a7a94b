"""A streamed answer of text: its events are read as they come, and its words told at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .._events import Events
from .._flow import Response, said
from ..audio.joining import joined
from ..audio.spoken import settled, worded
from ..errors import ResponseError
from ._completions import Chunk

if TYPE_CHECKING:
    from ..audio.spoken import Grammar


class Telling:
    """Tells the text of piece after piece as it grows.

    What was told stays, so a second try must begin with the same words.

    Attributes:
        grammar: How the model's text reads.
        text: What was told.
        tries: What heard each try of this piece; the last one counts.
    """

    def __init__(self, tell: Callable[[str], bool], grammar: Grammar) -> None:
        self._tell = tell
        self.grammar: Grammar = grammar
        self.text = self._before = ""
        self.tries: list[Listener] = []

    def begin(self) -> Listener:
        """What hears the next try.

        Raises:
            ResponseError: The caller has left, so that there is none.
        """
        if not self._tell(""):
            raise ResponseError("the stream was left")
        self.tries.append(Listener(self))
        return self.tries[-1]

    def grown(self, heard: str, *, whole: bool = False) -> bool:
        """Tell what is new in it; whether that is wanted, and goes on from what was told."""
        words = worded(heard if whole else settled(heard, self.grammar), self.grammar)
        text = joined([self._before, words])
        if not text.startswith(self.text):
            return not whole and self.text.startswith(text)
        new, self.text = text[len(self.text) :], text
        return not new or self._tell(new)

    def heard(self, response: Response) -> Listener:
        """The last try, once all of it has come; what is told then is of the next piece.

        Raises:
            ResponseError: The stream tells of an error, is none, stops before its end, or says
                other words than the try that was cut before it.
        """
        last = self.tries[-1]
        self.tries.clear()  # they know this, and would stay until Python looks for circles
        if last.error:  # hidden before it is cut, or the beginning of a secret would stay
            words = said(last.error, response.hidden)
            raise response.fault(f"HTTP 200 with an error in its stream: {words}")
        if last.fault:
            raise response.fault(last.fault)
        if not last.done:
            raise response.fault("the stream stopped before its end, which is [DONE]")
        if not self.grown(last.said, whole=True):
            raise response.fault("a stream was cut, and another try said other words")
        self._before = self.text
        return last


class Listener:
    """Hears the answer to one try.

    vLLM ends each chunk of 30 s with a reason of its own; the end of all is `[DONE]`.

    Attributes:
        said: The model's text as it is.
        reasons: Why the model ended, chunk by chunk.
        error: The event that tells of an error; `b""` if none does.
        fault: Why the stream cannot be read; `""` if it can.
        done: Whether its end has come.

    Source: vLLM 0.32.0 vllm/entrypoints/speech_to_text/base/serving.py,
    `_speech_to_text_stream_generator`.
    """

    def __init__(self, telling: Telling) -> None:
        self._telling, self._events = telling, Events()
        self.said, self.error, self.fault, self.done = "", b"", "", False
        self.reasons: list[str] = []

    def __call__(self, part: bytes) -> bool:
        """Hear a part; whether more is wanted."""
        try:
            for data in self._events.feed(part):
                self._read(data)
        except ValueError as error:
            self.fault = f"the stream cannot be read: {error}"
            return False
        return self._telling.grown(self.said)

    def _read(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.done = True
            return
        chunk = Chunk.model_validate_json(data)
        if chunk.error:
            self.error = data
        for choice in chunk.choices:
            self.said += choice.delta.content or ""
            if choice.finish_reason:
                self.reasons.append(choice.finish_reason)
