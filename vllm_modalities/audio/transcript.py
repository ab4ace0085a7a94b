"""What was said, and when."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._printable import printable
from ..errors import VLLMModalitiesError
from .export import notebook, save
from .subtitles import srt, vtt

SHOWN = 40  # characters of the text that a repr quotes
UNSPACED = frozenset({"ja", "km", "lo", "my", "th", "yue", "zh"})  # written without blanks


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of speech.

    Attributes:
        start, end: Seconds from the beginning of the whole recording.
        text: The words, without blanks around them.
        speaker: The model's label, such as `"S01"`; None if it tells no speakers apart.
        avg_logprob: Mean log-probability of the tokens; below -1 is doubtful. None if not given.
        compression_ratio: Of the text under zlib; above 2.4 is probably a loop. None if not given.
        no_speech_prob: 0..1; vLLM up to 0.33.0 never fills it.
    """

    start: float
    end: float
    text: str
    speaker: str | None = None
    avg_logprob: float | None = None
    compression_ratio: float | None = None
    no_speech_prob: float | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """One word; times in seconds from the beginning of the whole recording."""

    start: float
    end: float
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class Transcript:
    """What was said.

    Attributes:
        text: All words.
        segments: In order of time; empty if the words are not timed.
        language: ISO 639 code, such as `"en"`; None if unknown.
        duration: Length of the recording (s); None if unknown.
        model: The served model's name.
        warnings: What was dropped, clipped, repaired or doubtful.
        words: Timed words; empty, since no release of vLLM up to 0.33.0 gives any.
        raw: The server's own answers, with `keep_raw=True`.
        failures: (number, error) of the pieces that failed; only with `on_error="return"`.
    """

    text: str
    segments: tuple[Segment, ...] = ()
    language: str | None = None
    duration: float | None = None
    model: str | None = None
    warnings: tuple[str, ...] = ()
    words: tuple[Word, ...] = ()
    raw: tuple[bytes, ...] | None = None
    failures: tuple[tuple[int, VLLMModalitiesError], ...] = ()

    @classmethod
    def from_segments(
        cls,
        segments: Iterable[Mapping[str, Any]],
        *,
        language: str | None = None,
        duration: float | None = None,
        model: str | None = None,
        warnings: tuple[str, ...] = (),
    ) -> Transcript:
        """A transcript from mappings with `start`, `end` (s) and `text`.

        Segments of `verbose_json` and of Whisper's own JSON fit: `Segment`'s other fields are taken
        where they are, and any further key is passed over. The order is kept.

        Args:
            duration: None takes the end of the last segment.

        Raises:
            ValueError: A segment lacks one of the three, or a time is not a finite number.
        """
        parts = tuple(_segment(entry, place) for place, entry in enumerate(segments))
        joint = "" if language in UNSPACED else " "
        text = joint.join(part.text for part in parts if part.text)
        if duration is None:
            duration = max((part.end for part in parts), default=None)
        return cls(text, parts, language, duration, model, warnings)

    def to_srt(self) -> str:
        """SubRip subtitles: two lines of 42 characters at most, 16 where they are full-width.

        The words of a segment that does not fit into one share its time by their characters.
        `""` without segments.
        """
        return srt(self.segments)

    def to_vtt(self) -> str:
        """WebVTT subtitles, as for `to_srt`."""
        return vtt(self.segments)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file in the format that its name ends in.

        Args:
            path: Ends in `.txt` (the words), `.json` (all that `to_dict` has), `.srt`, `.vtt`, or
                what pysubs2 writes (extra `subtitles`), such as `.ass` or `.ttml`.

        Raises:
            ImportError: It ends in none of the first four, and pysubs2 is not installed.
            ValueError: pysubs2 does not know the ending either.
        """
        save(self, Path(path))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; without `raw` and `failures`."""
        return {
            "text": self.text,
            "segments": [asdict(segment) for segment in self.segments],
            "words": [asdict(word) for word in self.words],
            "language": self.language,
            "duration": self.duration,
            "model": self.model,
            "warnings": list(self.warnings),
        }

    def _repr_html_(self) -> str:
        return notebook(self)

    def __repr__(self) -> str:
        line = " ".join(self.text[: 2 * SHOWN].split())
        shown = [repr(line if len(line) <= SHOWN else line[:SHOWN] + "…")]
        shown.append("1 segment" if len(self.segments) == 1 else f"{len(self.segments)} segments")
        if self.duration is not None:
            shown.append(f"{self.duration:.1f} s")
        if self.language:
            shown.append(printable(self.language))
        if self.warnings:
            shown.append(f"warnings: {len(self.warnings)}")
        return f"Transcript({', '.join(shown)})"


def _segment(entry: Mapping[str, Any], place: int) -> Segment:
    missing = [key for key in ("start", "end", "text") if entry.get(key) is None]
    if missing:
        raise ValueError(f"segment {place} has no {' and no '.join(missing)}")
    start, end = float(entry["start"]), float(entry["end"])
    if not math.isfinite(start) or not math.isfinite(end):
        raise ValueError(f"segment {place} runs from {start} to {end}")
    return Segment(
        start=start,
        end=end,
        text=str(entry["text"]).strip(),
        speaker=entry.get("speaker"),
        avg_logprob=entry.get("avg_logprob"),
        compression_ratio=entry.get("compression_ratio"),
        no_speech_prob=entry.get("no_speech_prob"),
    )
