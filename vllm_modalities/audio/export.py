"""A transcript as a file of any kind, and as a table for a notebook."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .._html import framed, paragraph, table
from .subtitles import cues

if TYPE_CHECKING:
    from .transcript import Transcript

SHOWN = 200  # segments of a notebook's table


def rendered(transcript: Transcript, form: str) -> str:
    """The transcript in a format: `"txt"`, `"json"`, `"srt"`, `"vtt"`, or any that pysubs2 writes.

    Raises:
        ImportError: The format is none of the four, and pysubs2 is not installed.
        ValueError: pysubs2 does not know it either.
    """
    ours: Mapping[str, Callable[[], str]] = {
        "txt": lambda: f"{transcript.text}\n",
        "json": lambda: json.dumps(transcript.to_dict(), ensure_ascii=False, indent=2) + "\n",
        "srt": transcript.to_srt,
        "vtt": transcript.to_vtt,
    }
    return ours[form]() if form in ours else _by_pysubs2(transcript, form)


def _by_pysubs2(transcript: Transcript, form: str) -> str:
    try:
        import pysubs2
    except ImportError:
        raise ImportError(
            f"{form!r} is written by pysubs2: pip install 'vllm-modalities[subtitles]', or take"
            " txt, json, srt or vtt"
        ) from None
    extensions = pysubs2.formats.FILE_EXTENSION_TO_FORMAT_IDENTIFIER
    known = {extension.removeprefix("."): name for extension, name in extensions.items()}
    del known["sub"]  # MicroDVD counts frames, and a recording has none
    if form not in known:
        raise ValueError(f"no subtitles are called {form!r}; {', '.join(sorted(known))} are")
    file = pysubs2.SSAFile()
    for cue in cues(transcript.segments):
        for speaker, words in cue.lines:
            event = pysubs2.SSAEvent(start=cue.start, end=cue.end, name=speaker or "")
            event.plaintext = words
            file.append(event)
    text: str = file.to_string(known[form])
    return text


def save(transcript: Transcript, path: Path) -> None:
    """Write the transcript to a file, in the format that its name ends in."""
    text = rendered(transcript, path.suffix.removeprefix(".").lower())
    path.write_text(text, "utf-8", newline="\n")


def notebook(transcript: Transcript) -> str:
    """HTML: a row a segment, with its times and who speaks; the words where nothing is timed."""
    rows = (
        (_clock(segment.start), _clock(segment.end), segment.speaker or "", segment.text)
        for segment in transcript.segments
    )
    headings = ("from", "to", "speaker", "words")
    if transcript.segments:
        shown = table(headings, rows, len(transcript.segments), most=SHOWN)
    else:
        shown = paragraph(transcript.text)
    return framed(repr(transcript), shown, warnings=transcript.warnings)


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds, such as `0:01:02.5`."""
    tenths = round(max(seconds, 0.0) * 10)
    return f"{tenths // 36_000}:{tenths // 600 % 60:02}:{tenths // 10 % 60:02}.{tenths % 10}"
