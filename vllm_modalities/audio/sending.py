"""The pieces of a recording, ready to be sent: taken one at a time, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from ..errors import MediaError
from .pieces import RATE, Samples, Stretch, Voice, Voices, stretches
from .reading import AudioSource, Sound, Waveform, encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What is sent at once.

    Attributes:
        number: Its place among the pieces, from 0.
        start: Seconds from the beginning of the recording.
        seconds: How long it lasts.
        content: A FLAC file.
        overlaps: Whether the piece before it ends inside it.
        goes_on: Whether the next piece begins inside it.
        voiced, voices, lively: As of `Stretch`.
        more: Whole seconds of the recording that are done with it, silence before it included.
    """

    number: int
    start: float
    seconds: float
    content: bytes
    overlaps: bool = False
    goes_on: bool = False
    voiced: float
    voices: Voices = ()
    lively: float = 0.0
    more: int = 0


class Pieces:
    """A recording that is read no further than pieces are asked for.

    Attributes:
        sound: What is read.
        count: How many pieces have been taken.
        until: Whole seconds from the beginning that have been.
        silence: Seconds that were left out.
        ended: Whether there is none left.
        fault: Why the recording cannot be read to its end; None if it can.
    """

    def __init__(self, source: AudioSource) -> None:
        self.sound = Sound(source, rate=RATE)
        self.count, self.until, self.silence, self.ended = 0, 0, 0.0, False
        self.fault: MediaError | None = None
        self._lock = threading.Lock()
        self._blocks: Iterator[Samples] = iter(self.sound)
        self._stretches: Iterator[Stretch] = iter(())
        self._whole = False

    def open(self) -> None:
        """Read the first block.

        Raises:
            MediaError, ImportError: As `read_audio`.
        """
        self._blocks = chain([next(self._blocks)], self._blocks)

    def cut(
        self, longest: float | None, *, overlap: bool = True, voice: Voice | None = None
    ) -> None:
        """Make pieces of at most `longest` seconds; None sends everything as one.

        Args:
            overlap, voice: As for `stretches`.
        """
        self._whole = longest is None
        self._stretches = stretches(self._blocks, longest=longest, overlap=overlap, voice=voice)

    def take(self) -> Piece | None:
        """The next piece; None after the last, and where there is a fault."""
        with self._lock:
            stretch = None if self.ended else self._next()
            if stretch is None:
                self.ended = True
                return None
            number, self.count = self.count, self.count + 1
            until = (stretch.start + len(stretch.samples)) // RATE
            more, self.until = until - self.until, until
        return Piece(
            number=number,
            start=stretch.start / RATE,
            seconds=len(stretch.samples) / RATE,
            content=encode(Waveform(stretch.samples, RATE)),
            overlaps=stretch.overlap > 0,
            goes_on=stretch.goes_on,
            voiced=stretch.voiced,
            voices=stretch.voices,
            lively=stretch.lively,
            more=more,
        )

    def end(self) -> None:
        """Give no more."""
        self.ended = True

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self.ended = True
            self.sound.close()

    def _next(self) -> Stretch | None:
        """The next stretch that is to be sent."""
        try:
            for stretch in self._stretches:
                if stretch.voiced or self._whole:
                    return stretch
                self.silence += len(stretch.samples) / RATE
        except MediaError as error:
            self.fault = error
        return None
