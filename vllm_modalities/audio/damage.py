"""Tell whether a sound file holds less, or more, than was decoded from it.

libsndfile 1.2.2 refuses a cut FLAC by itself. It reads a cut WAV or AIFF without a word (only its
log says so), a cut Ogg as if it ended there, a cut MP3 short of its own length, and stops at the
end of the first of several joined MP3 or Ogg streams.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from .._sniff import HEAD, Family, Opened, sniff
from ..errors import MediaError

if TYPE_CHECKING:
    from soundfile import SoundFile

TOLERATED = 0.1  # s; less sound than this is no word
UNSTATED = 0x7FFF_0000  # sizes from here on stand for "written to a pipe": sox, FFmpeg, espeak-ng
OGG_PAGE = 65_307  # bytes, the longest page
# libsndfile's log of a chunk that is longer than the file: `data : 882000 (should be 4956)`.
CUT = re.compile(
    r"^\s*(?:data|SSND|Data [Ss]ize|riff|Riff size)\s*:\s*(\d+) \(should be (\d+)\)", re.MULTILINE
)


def missing(source: Opened, sound: SoundFile, there: int) -> tuple[str, ...]:
    """What is doubtful about a file of which `there` frames are to be had; `()` if nothing.

    Raises:
        MediaError: Sound is certainly missing.
    """
    promised, seconds = _promised(sound) / sound.samplerate, there / sound.samplerate
    if promised - seconds <= TOLERATED:
        return ()
    lost = f"{source.name} is cut: it promises {promised:.2f} s of sound, {seconds:.2f} s are there"
    if sound.format == "MP3":  # its length may be an estimate, from the first frame's size
        return (f"{lost}.",)
    raise MediaError(
        f"{lost}. Copy it again, or read what there is with soundfile and give (samples, rate)."
    )


def damage(source: Opened, sound: SoundFile, decoded: int) -> tuple[str, ...]:
    """What is doubtful about a file of which `decoded` frames came; `()` if nothing.

    Raises:
        MediaError: Sound is certainly missing, or a second stream was left unread.
    """
    doubts = missing(source, sound, decoded)
    if not doubts and sound.format in ("MP3", "OGG"):
        return _stream_end(source, decoded / sound.samplerate, ogg=sound.format == "OGG")
    return doubts


def _promised(sound: SoundFile) -> float:
    """How many frames the file's header promises."""
    for promised, there in CUT.findall(sound.extra_info):
        if int(promised) < UNSTATED and int(there) > 0:
            return float(sound.frames * int(promised) / int(there))
    return float(sound.frames)


def _stream_end(source: Opened, seconds: float, *, ogg: bool) -> tuple[str, ...]:
    """Look behind the last frame of an MP3 or Ogg stream."""
    position = source.file.tell()
    rest = source.file.read(OGG_PAGE + HEAD)
    if rest.startswith(b"TAG"):
        rest = rest[128:]  # ID3v1
    if b"OggS" in rest if ogg else sniff(rest).family is Family.AUDIO:
        raise MediaError(
            f"{source.name} holds more sound than libsndfile reads: its first stream ends at byte "
            f"{position:,}, after {seconds:.2f} s. Convert it, as with `ffmpeg -i IN OUT.wav`."
        )
    if ogg and not _ogg_is_closed(source):
        return (f"{source.name} does not mark its own end: it may be cut after {seconds:.2f} s.",)
    return ()


def _ogg_is_closed(source: Opened) -> bool:
    """Whether the last page has the flag "end of stream" (RFC 3533, section 6)."""
    size = source.file.seek(0, os.SEEK_END)
    source.file.seek(max(0, size - OGG_PAGE))
    _, _, last = source.file.read().rpartition(b"OggS")
    return len(last) > 1 and bool(last[1] & 4)
