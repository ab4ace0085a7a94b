"""Cut a recording where nobody speaks, into pieces that a model hears at once.

Loudness is measured in frames of 20 ms. What is loud and what is a pause depends on the recording:
the lines between them follow its own noise and its own speech, over the last minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

RATE = 16_000  # Hz
FRAME = 320  # samples, 20 ms
SECOND = RATE // FRAME  # frames
PAD = 15  # frames of silence that are left around speech: consonants are quiet
LONG = 3 * SECOND  # frames of silence that end a piece, and are not sent
PAUSE = 10  # frames; the closure of a plosive is shorter
ENOUGH = 20  # frames; longer pauses are no better to cut at
OVERLAP = 2 * SECOND  # frames that two pieces share where there was no pause
MEMORY = 60 * SECOND  # frames that the lines are drawn from
DARK = -100.0  # dB, the level of digital silence
SPEECH, HUSH = 0.5, 0.35  # probabilities; those of Silero's own example
FAINT = -35.0  # dB below full scale; what is louder is never taken for silence

Samples = NDArray[np.float32]
Levels = NDArray[np.float64]
Voices = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stretch:
    """A part of a recording, at 16 kHz.

    Attributes:
        start: Its first sample's place in the recording.
        samples: Shape (n,), n >= 1.
        overlap: How many of its first samples the stretch before it has too.
        goes_on: Whether the next stretch begins inside it, as there was no pause to cut at.
        voiced: Seconds in which something is loud enough to be speech; 0 for silence.
        voices: Where these lie, as (begin, end) in seconds from `start`, between pauses.
        lively: How much its loudness moves (dB in 100 ms, on average): speech has more than music.
    """

    start: int
    samples: Samples
    overlap: int = 0
    goes_on: bool = False
    voiced: float = 0.0
    voices: Voices = ()
    lively: float = 0.0


class Voice(Protocol):
    """Tells where somebody speaks in a recording that it hears in order, once."""

    def hear(self, samples: Samples) -> None:
        """Go on with what comes next."""
        ...

    def speech(self, start: int, frames: int) -> Levels:
        """The probability of speech in so many frames, from a sample on that it has heard."""
        ...


def stretches(
    blocks: Iterator[Samples],
    *,
    longest: float | None,
    overlap: bool = True,
    voice: Voice | None = None,
) -> Iterator[Stretch]:
    """The whole recording in order: pieces of at most `longest` seconds, and silence between them.

    Args:
        blocks: Samples at 16 kHz, in parts of any size.
        longest: At least 5; None leaves the recording whole.
        overlap: Whether a piece begins inside the last one where nobody pauses.
        voice: Tells where somebody speaks; without it, loudness does.
    """
    if longest is None:
        whole = np.concatenate(list(blocks))
        level = levels(whole)
        yield _measured(Stretch(0, whole), level, level >= _lines(level)[1])
        return
    cutter = _Cutter(blocks, int(longest * SECOND), OVERLAP if overlap else 0, voice)
    yield from cutter.stretches()


def halves(samples: Samples) -> tuple[Samples, Samples]:
    """A piece in two, parted in the best pause around its middle; of 4 frames at least."""
    level = levels(samples)
    quiet = level < _lines(level)[0]
    low, high = len(level) // 4, len(level) - len(level) // 4
    pause = _pause(quiet, low, high)
    place = FRAME * (low + int(np.argmin(level[low:high])) if pause is None else pause)
    return samples[:place], samples[place:]


def levels(samples: Samples) -> Levels:
    """Decibels of each frame below full scale, without its mean; the last may be short."""
    samples = np.clip(samples, -1, 1)
    whole = len(samples) // FRAME * FRAME
    powers = samples[:whole].reshape(-1, FRAME).var(axis=1)
    if whole < len(samples):
        powers = np.append(powers, samples[whole:].var())
    decibels: Levels = 10 * np.log10(np.maximum(powers, 10 ** (DARK / 10)), dtype=np.float64)
    return decibels


def _lines(level: Levels) -> tuple[float, float]:
    """Below the first is a pause, below the second silence, which is never sent."""
    noise, speech = np.percentile(level, (10, 95))
    pause = max(noise + 6, speech - 45)
    return pause, min(pause, FAINT)


def _measured(stretch: Stretch, level: Levels, voiced: NDArray[np.bool_]) -> Stretch:
    """`stretch`, with what its frames tell."""
    spoken = np.flatnonzero(voiced)
    parts = np.split(spoken, np.flatnonzero(np.diff(spoken) > PAUSE) + 1) if len(spoken) else []
    moves = np.abs(np.diff(level[:: SECOND // 10])).clip(0, 30)
    return replace(
        stretch,
        voiced=_seconds(len(spoken), stretch),
        voices=tuple(
            (_seconds(part[0], stretch), _seconds(part[-1] + 1, stretch)) for part in parts
        ),
        lively=float(moves.sum() / max(len(moves), 1) * voiced.mean()),
    )


def _seconds(frames: int, stretch: Stretch) -> float:
    """So many frames of it; the last one may be short."""
    return min(int(frames) * FRAME, len(stretch.samples)) / RATE


def _pause(quiet: NDArray[np.bool_], low: int, high: int) -> int | None:
    """The middle of the longest pause in frames `low` to `high`, the later of two; None if none."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], quiet[low:high].view(np.int8), [0]))))
    runs = [(low + int(a), low + int(b)) for a, b in edges.reshape(-1, 2) if b - a >= PAUSE]
    if not runs:
        return None
    begin, end = max(runs, key=lambda run: (min(run[1] - run[0], ENOUGH), run[0]))
    return (begin + end) // 2


class _Cutter:
    """Holds as much of a recording as is needed to see where to cut it."""

    def __init__(
        self,
        blocks: Iterator[Samples],
        longest: int,
        shared: int,
        voice: Voice | None,
    ) -> None:
        self._blocks, self._longest, self._shared, self._voice = blocks, longest, shared, voice
        # No more is looked at, however much is there: the same sound gives the same pieces.
        self._seen = (longest + LONG) * FRAME
        self._buffer: Samples = np.empty(0, np.float32)
        self._start = 0  # place of the buffer's first sample
        self._overlap = 0  # samples at its beginning that were given before
        self._past: Levels = np.empty(0)

    def stretches(self) -> Iterator[Stretch]:
        while self._fill():
            level = levels(self._buffer[: self._seen])
            voiced, quiet = self._heard(level)
            dark = self._leading(voiced)
            if dark:
                yield self._taken(dark, level, np.zeros_like(voiced))
                continue
            end, shared = self._end(voiced, quiet)
            # Not before the end of what was given already, or that would be given a third time.
            yield self._taken(max(end, self._overlap // FRAME), level, voiced, shared)

    def _heard(self, level: Levels) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The frames in which somebody may speak, and those that may be pauses."""
        if self._voice is not None:
            speech = self._voice.speech(self._start, len(level))
            return speech >= SPEECH, speech < HUSH
        pause, silence = _lines(np.concatenate((self._past, level)))
        return level >= silence, level < pause

    def _fill(self) -> bool:
        """Have more than a piece at hand, or all that is left; whether there is something new."""
        parts, count = [self._buffer], len(self._buffer)
        while count < self._seen and (block := next(self._blocks, None)) is not None:
            parts.append(block)
            count += len(block)
            if self._voice is not None:
                self._voice.hear(block)
        self._buffer = np.concatenate(parts)
        return count > self._overlap

    def _leading(self, voiced: NDArray[np.bool_]) -> int:
        """Frames of silence to leave out before anything else."""
        if self._overlap:
            return 0
        if voiced.any():
            return max(int(np.argmax(voiced)) - PAD, 0)
        # More may come: a word may begin right behind the end of what is at hand.
        return len(voiced) if self._is_last else len(voiced) - PAD

    @property
    def _is_last(self) -> bool:
        return len(self._buffer) <= self._longest * FRAME

    def _end(self, voiced: NDArray[np.bool_], quiet: NDArray[np.bool_]) -> tuple[int, int]:
        """Where the piece ends, and how much of it the next one has again, in frames."""
        most = self._longest
        spoken = np.flatnonzero(voiced)
        ends = spoken[np.diff(np.append(spoken, len(voiced))) > LONG]
        if len(ends) and ends[0] < most:
            return min(int(ends[0]) + 1 + PAD, most), 0
        if self._is_last:
            return min(int(spoken[-1]) + 1 + PAD, len(voiced)) if len(spoken) else len(voiced), 0
        pause = _pause(quiet, most * 2 // 5, most)
        return (most, self._shared) if pause is None else (pause, 0)

    def _taken(
        self, end: int, level: Levels, voiced: NDArray[np.bool_], shared: int = 0
    ) -> Stretch:
        """The first `end` frames, of which `shared` stay."""
        samples = self._buffer[: end * FRAME]
        taken = Stretch(self._start, samples, self._overlap, goes_on=shared > 0)
        left = (end - shared) * FRAME
        self._past = np.concatenate((self._past, level[: end - shared]))[-MEMORY:]
        self._buffer = self._buffer[left:]
        self._start += left
        self._overlap = shared * FRAME
        return _measured(taken, level[:end], voiced[:end])
