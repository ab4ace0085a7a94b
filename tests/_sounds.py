"""Sixty kinds of odd or damaged recordings, any number of each."""

from __future__ import annotations

import io
import struct
import tempfile
from collections.abc import Callable
from typing import Any

import av
import numpy as np
import soundfile
from _words import spoken

RATE = 16_000
SPEECH = spoken(range(12), range(12, 20))
FORMATS = [
    *(("WAV", one) for one in ("PCM_16", "PCM_24", "PCM_U8", "FLOAT", "DOUBLE", "ULAW", "ALAW")),
    *(("WAV", one) for one in ("IMA_ADPCM", "MS_ADPCM", "GSM610")),
    *(("FLAC", "PCM_16"), ("OGG", "VORBIS"), ("OGG", "OPUS"), ("MP3", "MPEG_LAYER_III")),
    *(("AIFF", "PCM_16"), ("AU", "PCM_16"), ("CAF", "PCM_16"), ("W64", "PCM_16")),
]
Made = Callable[[np.random.Generator], Any]
KINDS: dict[str, Made] = {}


def written(
    samples: Any = SPEECH, rate: int = RATE, kind: str = "WAV", subtype: Any = None
) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=kind, subtype=subtype)
    return file.getvalue()


def contained(
    kind: str, codec: str, form: str = "fltp", *, samples: Any = SPEECH, rate: int = RATE
) -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format=kind) as container:
        track = container.add_stream(codec, rate=48_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis], "fltp", "mono")
        frame.sample_rate = rate
        resampler = av.AudioResampler(form, "mono", 48_000, track.frame_size or 1024)
        for ready in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(track.encode(ready))
        container.mux(track.encode(None))
    return file.getvalue()


def cut(content: bytes, random: np.random.Generator) -> bytes:
    return content[: random.integers(1, len(content))]


def flipped(content: bytes, random: np.random.Generator) -> bytes:
    """With some bytes that are others."""
    changed = bytearray(content)
    for _ in range(random.integers(1, 40)):
        changed[random.integers(len(changed))] = random.integers(256)
    return bytes(changed)


def headed(content: bytes, random: np.random.Generator) -> bytes:
    """With other bytes among the first hundred."""
    changed = bytearray(content)
    for _ in range(random.integers(1, 9)):
        changed[random.integers(min(100, len(changed)))] = random.integers(256)
    return bytes(changed)


def huge(_: np.random.Generator) -> bytes:
    """A WAV that says it has 2 GB."""
    content = bytearray(written())
    content[4:8], content[40:44] = struct.pack("<I", 0x7FFE_0000), struct.pack("<I", 0x7FFE_0000)
    return bytes(content)


def piped(_: np.random.Generator) -> bytes:
    """A WAV as programs write it to a pipe, with no length."""
    content = bytearray(written())
    content[4:8] = content[40:44] = b"\xff\xff\xff\xff"
    return bytes(content)


def _with(value: float) -> Made:
    def make(random: np.random.Generator) -> Any:
        sound = SPEECH.copy()
        sound[random.integers(len(sound))] = value
        return sound, RATE

    return make


def _folder(_: np.random.Generator) -> str:
    return tempfile.gettempdir()


def _text_file(_: np.random.Generator) -> Any:
    return io.StringIO("words")


CONTAINED = {
    "mp4": contained("mp4", "aac"),
    "mkv": contained("matroska", "pcm_s16le", "s16"),
    "webm": contained("webm", "libopus", "flt"),
    "adts": contained("adts", "aac"),
}
for _kind, _subtype in FORMATS:
    _rate = 48_000 if _subtype == "OPUS" else 8_000 if _subtype == "GSM610" else RATE
    KINDS[f"{_kind} {_subtype}"] = lambda _, k=_kind, s=_subtype, r=_rate: written(SPEECH, r, k, s)
for _kind in ("WAV", "FLAC", "OGG", "MP3", "AIFF"):
    KINDS[f"{_kind}, cut"] = lambda random, k=_kind: cut(written(kind=k), random)
    KINDS[f"{_kind}, other bytes"] = lambda random, k=_kind: flipped(written(kind=k), random)
    KINDS[f"{_kind}, another head"] = lambda random, k=_kind: headed(written(kind=k), random)
for _kind, _content in CONTAINED.items():
    KINDS[_kind] = lambda _, c=_content: c
    KINDS[f"{_kind}, cut"] = lambda random, c=_content: cut(c, random)
    KINDS[f"{_kind}, other bytes"] = lambda random, c=_content: flipped(c, random)
KINDS |= {
    "nothing": lambda _: b"",
    "a head alone": lambda _: written(np.zeros(0, np.float32)),
    "one sample": lambda _: written(np.ones(1, np.float32)),
    "zeros": lambda _: bytes(5000),
    "noise": lambda random: random.bytes(5000),
    "a text": lambda _: b"The quick brown fox.",
    "192 kHz": lambda _: written(SPEECH, 192_000),
    "8 channels": lambda _: written(np.stack([SPEECH] * 8, axis=1)),
    "in antiphase": lambda _: written(np.stack([SPEECH, -SPEECH], axis=1)),
    "huge length": huge,
    "no length": piped,
    "not a number": _with(np.nan),
    "infinite": _with(np.inf),
    "very loud": _with(1e29),
    "far too loud": lambda _: (SPEECH.astype(np.float64) * 1e300, RATE),
    "samples of every integer": lambda _: (np.full(9000, -(2**63), np.int64), RATE),
    "upside down": lambda _: (SPEECH[np.newaxis], RATE),
    "rate 0": lambda _: (SPEECH, 0),
    "an offset": lambda _: (SPEECH + 0.5, RATE),
    "hardly a sound": lambda _: (SPEECH * 1e-4, RATE),
    "a folder": _folder,
    "a text file": _text_file,
    "two files in one": lambda _: written(kind="OGG") + written(kind="OGG"),
    "words before it": lambda _: b"HTTP/1.1 200 OK\r\n\r\n" + written(),
}


def made(kind: str, seed: int) -> Any:
    """A recording of that kind."""
    return KINDS[kind](np.random.default_rng(seed))
