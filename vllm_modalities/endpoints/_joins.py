"""What is heard of pieces, in whatever order they are done, joined in the order of time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from .._theirs import theirs
from ..audio.joining import joined, stitched
from ..audio.sending import Piece, Pieces
from ..audio.transcript import Segment, Transcript
from ..errors import VLLMModalitiesError
from ._pieces import Heard, shifted

TOLD = 3.0  # s; less silence than this is left between words


class Joins:
    """Joins pieces as they come.

    Attributes:
        doubts: What was repaired, left out or stays doubtful, in words.
    """

    def __init__(
        self, on_segment: Callable[[Segment], object] | None, notes: Iterable[str]
    ) -> None:
        self._on_segment = on_segment
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[Piece, Heard | VLLMModalitiesError]] = {}
        self._next = 0
        self._held: tuple[Segment, ...] = ()  # of a piece that ends inside the next one
        self._segments: list[Segment] = []
        self._notes = dict.fromkeys(notes)
        self._raw: list[bytes] = []
        self._speakers = 0  # pieces with speakers in them
        self._language: str | None = None
        self.doubts: list[str] = []

    def add(self, piece: Piece, outcome: Heard | VLLMModalitiesError) -> None:
        """Take what came of a piece; its segments are told once those before it are there."""
        with self._lock:
            self._waiting[piece.number] = (piece, outcome)
            while self._next in self._waiting:
                self._join(*self._waiting.pop(self._next))
                self._next += 1

    def finish(self) -> None:
        """Tell what is held for a piece that will not come."""
        with self._lock:
            self._tell(self._held)

    def transcript(self, pieces: Pieces, keep_raw: bool) -> Transcript:
        """All that was heard."""
        sound = pieces.sound
        warnings = [*sound.warnings, *self._notes]
        if sound.clipped:
            warnings.append(f"{sound.clipped} samples were louder than full scale and are clipped")
        if not pieces.count:
            warnings.append("nothing was sent: nothing in it is loud enough to be speech")
        elif pieces.silence > TOLD:
            warnings.append(f"{pieces.silence:.1f} s of silence were not sent")
        if self._speakers > 1:
            warnings.append(f"speakers are numbered anew in each of {self._speakers} pieces")
        return Transcript(
            text=joined(segment.text for segment in self._segments),
            segments=tuple(self._segments),
            language=self._language,
            duration=sound.count / sound.rate,
            warnings=(*warnings, *self.doubts),
            raw=tuple(self._raw) if keep_raw else None,
        )

    def _join(self, piece: Piece, outcome: Heard | VLLMModalitiesError) -> None:
        if isinstance(outcome, VLLMModalitiesError):
            self.doubts.append(f"{span(piece)} was not heard: {outcome}")
            outcome = Heard()
        self.doubts += [f"{span(piece)}: {doubt}" for doubt in outcome.doubts]
        self._notes |= dict.fromkeys(outcome.notes)
        self._raw += outcome.raw
        self._language = self._language or outcome.language
        self._speakers += any(segment.speaker for segment in outcome.segments)
        segments = tuple(shifted(segment, piece.start) for segment in outcome.segments)
        if piece.overlaps:
            self._held, segments, is_sure = stitched(self._held, segments)
            if not is_sure:
                self.doubts.append(f"words around {piece.start:.1f} s may stand there twice")
        self._tell(self._held)
        self._held = segments if piece.goes_on else ()
        if not piece.goes_on:
            self._tell(segments)

    def _tell(self, segments: tuple[Segment, ...]) -> None:
        for segment in segments:
            self._segments.append(segment)
            if self._on_segment is not None:
                with theirs():
                    self._on_segment(segment)


def span(piece: Piece) -> str:
    """When a piece is heard, in words."""
    return f"{piece.start:.1f} to {piece.start + piece.seconds:.1f} s"
