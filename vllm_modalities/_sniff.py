"""Open what a caller gave, and say in words what its bytes are."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from .errors import MediaError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD = 4096  # bytes that are looked at
QUOTED = 40  # characters of a text that a message quotes

# Of these a folder's files are read; a file that is named is read whatever its name.
RECORDINGS = frozenset(
    ".aac .aif .aiff .caf .flac .m4a .m4b .mka .mkv .mov .mp3 .mp4 .oga .ogg .opus .wav .webm"
    " .wma".split()
)
DOCUMENTS = frozenset(".pdf .png .jpg .jpeg .webp .gif .bmp .tif .tiff .avif .jp2".split())

ByteSource: TypeAlias = str | os.PathLike[str] | bytes | BinaryIO


class Family(Enum):
    """What kind of reader some bytes call for."""

    AUDIO = "audio that libsndfile reads"
    CONTAINER = "sound that only FFmpeg reads"
    IMAGE = "image"
    PDF = "pdf"
    OTHER = "neither sound nor picture"
    UNKNOWN = "no known signature"


@dataclass(frozen=True, slots=True)
class Kind:
    """What some bytes are.

    Attributes:
        name: With its article, such as `"an MP3 file"`.
        family: Which reader it calls for.
    """

    name: str
    family: Family

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Opened:
    """A source, open for reading at its first byte.

    Attributes:
        file: Seekable.
        name: What a message calls it: the quoted path, or how many bytes were given.
        kind: What its first bytes say it is.
    """

    file: BinaryIO
    name: str
    kind: Kind


# First match wins. The last rows are short signatures that longer ones must be tried before.
SIGNATURES: tuple[tuple[bytes, str, Family], ...] = (
    (rb"(RIFF|RF64|RIFX)....WAVE", "a WAV file", Family.AUDIO),
    (rb"riff.{20}wave", "a W64 file", Family.AUDIO),
    (rb"fLaC", "a FLAC file", Family.AUDIO),
    (rb"OggS", "an Ogg file", Family.AUDIO),
    (rb"FORM....AIF[FC]", "an AIFF file", Family.AUDIO),
    (rb"\.snd", "an AU file", Family.AUDIO),
    (rb"caff", "a CAF file", Family.AUDIO),
    (rb"ID3", "an MP3 file", Family.AUDIO),
    (rb"....ftyp(avif|avis)", "an AVIF image", Family.IMAGE),
    (rb"....ftyp(heic|heix|mif1)", "a HEIC image", Family.IMAGE),
    (rb"....ftyp(M4A|M4B)", "an M4A file", Family.CONTAINER),
    (rb"....ftyp", "an MP4 file", Family.CONTAINER),
    (rb"\x1aE\xdf\xa3.{0,64}webm", "a WebM file", Family.CONTAINER),
    (rb"\x1aE\xdf\xa3", "a Matroska (MKV) file", Family.CONTAINER),
    (rb"RIFF....AVI ", "an AVI file", Family.CONTAINER),
    (rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a WMA file", Family.CONTAINER),
    (rb"#!AMR", "an AMR file", Family.CONTAINER),
    (rb"FLV\x01", "an FLV file", Family.CONTAINER),
    (rb"\x89PNG\r\n\x1a\n", "a PNG image", Family.IMAGE),
    (rb"\xff\xd8\xff", "a JPEG image", Family.IMAGE),
    (rb"RIFF....WEBP", "a WebP image", Family.IMAGE),
    (rb"GIF8[79]a", "a GIF image", Family.IMAGE),
    (rb"II\*\0|MM\0\*", "a TIFF image", Family.IMAGE),
    (rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51", "a JPEG 2000 image", Family.IMAGE),
    (rb"P[1-6]\s", "a PPM image", Family.IMAGE),
    (rb"%PDF-", "a PDF", Family.PDF),
    (rb"PK(\x03\x04|\x05\x06)", "a ZIP archive", Family.OTHER),
    (rb"\x1f\x8b", "a gzip file", Family.OTHER),
    (rb"BM.{4}\0\0\0\0", "a BMP image", Family.IMAGE),
    # A frame of layer III, then layer II, then AAC in its own framing (layer bits 00).
    (rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb]", "an MP3 file", Family.AUDIO),
    (rb"\xff[\xf4\xf5\xfc\xfd]", "an MPEG audio file", Family.AUDIO),
    (rb"\xff[\xf0\xf1\xf8\xf9]", "an AAC file", Family.CONTAINER),
)
COMPILED = tuple((re.compile(magic, re.DOTALL), name, kin) for magic, name, kin in SIGNATURES)
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # leaves blanks and the terminal's ESC


def sniff(head: bytes) -> Kind:
    """Name what begins with `head`, the first bytes of a file; any bytes have a name."""
    for signature, name, family in COMPILED:
        if signature.match(head):
            return Kind(name, family)
    if not head:
        return Kind("an empty file", Family.OTHER)
    if (text := _text(head[:HEAD])) is not None:
        return Kind(f"text beginning {_quoted(text)}", Family.OTHER)
    return Kind(f"binary data beginning 0x{head[:8].hex()}", Family.UNKNOWN)


@contextmanager
def opened(source: ByteSource) -> Iterator[Opened]:
    """A path, bytes or an open binary file, as a file whose kind is known.

    A file that the caller opened is read from where it stands, and is left open.

    Raises:
        MediaError: No such file, a directory, no permission, a text-mode file, or another type.
    """
    file, name = _open(source)
    with file:
        try:
            head = file.read(HEAD)
            file.seek(0)
        except OSError as error:
            raise MediaError(f"{name} cannot be read: {error.strerror or error}.") from error
        yield Opened(file, name, sniff(head))


def _open(source: ByteSource) -> tuple[BinaryIO, str]:
    if isinstance(source, str | os.PathLike):
        return _open_path(os.fspath(source))
    if isinstance(source, bytes | bytearray | memoryview):
        return BytesIO(source), f"what was given ({len(source):,} bytes)"
    if not hasattr(source, "read"):
        raise MediaError(
            f"cannot read {type(source).__name__}: give a path, bytes or an open binary file."
        )
    if isinstance(source, BytesIO | BufferedReader) and source.seekable():
        rest = _Rest(source)
        size = rest.seek(0, os.SEEK_END)
        rest.seek(0)
        return BufferedReader(rest), f"the open file ({size:,} bytes)"
    content: object = source.read()
    if not isinstance(content, bytes):
        raise MediaError("the open file gives text, not bytes: open it with mode 'rb'.")
    return BytesIO(content), f"the open file ({len(content):,} bytes)"


class _Rest(RawIOBase):
    """What is left of a file that the caller opened, which stays open."""

    def __init__(self, file: BytesIO | BufferedReader) -> None:
        self._file, self._start = file, file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = self._start if whence == os.SEEK_SET else 0
        return self._file.seek(base + offset, whence) - self._start

    def readinto(self, buffer: WriteableBuffer) -> int:
        count: int = self._file.readinto(buffer)
        return count


def _open_path(path: str) -> tuple[BinaryIO, str]:
    name = repr(path)
    try:
        return Path(path).open("rb"), name
    except FileNotFoundError as error:
        hint = (
            " A string is a path here; this one is a URL: give ImageURL(…) or AudioURL(…)."
            if "://" in path
            else ""
        )
        raise MediaError(f"{name}: no such file.{hint}") from error
    except IsADirectoryError as error:
        raise MediaError(f"{name} is a directory; give one file.") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise MediaError(f"{name} cannot be opened: {error}.") from error


def _text(head: bytes) -> str | None:
    """`head` as text, or None if it is not text; a character cut at its end is left out."""
    utf16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    decoder = codecs.getincrementaldecoder("utf-16" if utf16 else "utf-8-sig")()
    try:
        text = decoder.decode(head)
    except UnicodeDecodeError:
        return None
    return None if CONTROL.search(text) else text


def _quoted(text: str) -> str:
    words = " ".join(text.split())
    return repr(words if len(words) <= QUOTED else words[:QUOTED] + "…")
