"""A page as a model writes it: its events are read as they come, and a loop is hung up on."""

from __future__ import annotations

from .._events import Events
from .._flow import Response, said
from .._secrets import hidden_in
from ..documents.repetition import LONGEST_UNIT, repeated_tail
from ..errors import VLLMModalitiesError, status_class
from ._completions import Chunk, completed

EVERY = 1_000  # characters between two looks
# No page says the same a hundred lines long; a form may well say it ten times.
TIMES, LENGTH = 20, 4_000
TAIL = max(LENGTH, TIMES * LONGEST_UNIT)


class Watch:
    """Hears the answer to one try, and wants no more of it once it goes round and round.

    A loop goes on to the last token that the model may write, thousands of them; closing the
    connection ends it on the server too.

    Source: vLLM 0.32.0 vllm/entrypoints/openai/chat_completion/serving.py,
    `chat_completion_stream_generator`.
    """

    def __init__(self) -> None:
        self._events = Events()
        self._pieces: list[str] = []
        self._tail, self._unseen = "", 0
        self._finish: str | None = None
        self._fault, self._done = "", False
        self._error: tuple[int, bytes] | None = None

    def __call__(self, part: bytes) -> bool:
        """Hear a part; whether more is wanted."""
        try:
            for data in self._events.feed(part):
                self._read(data)
        except ValueError as error:
            self._fault = f"the stream cannot be read: {error}"
            return False
        if self._unseen >= EVERY:
            self._unseen = 0
            if repeated_tail(self._tail, times=TIMES, length=LENGTH):
                self._finish, self._done = "repetition", True
                return False
        return True

    def heard(self, response: Response) -> tuple[str, str | None]:
        """The words of the page, and why they end, once all has come.

        A gateway may have answered whole, though a stream was asked for.

        Raises:
            APIStatusError: The stream tells of an error, with the status that it names. What only
                the engine refuses comes so, behind a status of 200 (seen on 0.32.0).
            ResponseError: The stream is none, or stops before its end.
        """
        if "event-stream" not in response.headers.get("content-type", ""):
            return completed(response)
        if self._error is not None:
            raise _refused(response, *self._error)
        if self._fault:
            raise response.fault(self._fault)
        if not self._done:
            raise response.fault("the stream stopped before its end, which is [DONE]")
        return "".join(self._pieces), self._finish

    def _read(self, data: bytes) -> None:
        if data == b"[DONE]":
            self._done = True
            return
        chunk = Chunk.model_validate_json(data)
        if chunk.error:
            code = chunk.error.get("code") if isinstance(chunk.error, dict) else None
            self._error = (code if isinstance(code, int) and 400 <= code < 600 else 500, data)
        for choice in chunk.choices:
            piece = choice.delta.content or ""
            self._pieces.append(piece)
            self._tail = (self._tail + piece)[-TAIL:]
            self._unseen += len(piece)
            self._finish = choice.finish_reason or self._finish


def _refused(response: Response, code: int, data: bytes) -> VLLMModalitiesError:
    request_id = response.headers.get("x-request-id")
    return status_class(code)(
        code,
        said(data, response.hidden),
        server=response.server,
        request_id=request_id and response.hidden(request_id),
        body=hidden_in(data, response.hidden),
    )
