"""Recordings and pictures that cases send: shipped ones, and ones that are made."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image, ImageDraw

from vllm_modalities.audio.reading import encode, read_audio

SHIPPED = Path(__file__).parents[2] / "examples" / "assets"
RATE = 16_000


def sound(samples: np.ndarray, rate: int = RATE, kind: str = "FLAC") -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=kind)
    return file.getvalue()


@cache
def speech(name: str) -> bytes:
    """A shipped clip as the client sends it: 16 kHz, one channel."""
    return encode(read_audio(SHIPPED / f"speech-{name}.flac"))


@cache
def twice(second: float) -> bytes:
    """A sentence at the start and again at `second`, in seconds, with silence between."""
    clip, _ = soundfile.read(io.BytesIO(speech("en-us")), dtype="float32")
    pause = np.zeros(int(second * RATE) - len(clip), np.float32)
    return sound(np.concatenate([clip, pause, clip]))


def silence(duration: float) -> bytes:
    """At 1 kHz: a FLAC of it is small however long."""
    return sound(np.zeros(int(duration * 1000), np.int16), 1000)


ASSETS: dict[str, Callable[[], bytes]] = {
    "museum.flac": lambda: speech("en-us"),
    "berlin.flac": lambda: speech("de"),
    "museum.wav": lambda: sound(soundfile.read(io.BytesIO(speech("en-us")))[0], RATE, "WAV"),
    "museum.mp3": lambda: sound(soundfile.read(io.BytesIO(speech("en-us")))[0], RATE, "MP3"),
    "museum.ogg": lambda: sound(soundfile.read(io.BytesIO(speech("en-us")))[0], RATE, "OGG"),
    # The second sentence ends before the 30 s that Whisper hears at once, or begins after them.
    "twice-29s.flac": lambda: twice(25.9),
    "twice-34s.flac": lambda: twice(30.5),
    "silence-601s.flac": lambda: silence(601),
    "zeros-26MiB.wav": lambda: bytes(26 * 1024**2),
    "text.wav": lambda: b"The quick brown fox.",
    "header.wav": lambda: sound(np.zeros(0, np.int16), RATE, "WAV"),
    "empty.wav": lambda: b"",
}


@cache
def seconds(name: str) -> float | None:
    """How long a recording lasts; None if it is none."""
    try:
        return float(soundfile.info(io.BytesIO(ASSETS[name]())).duration)
    except soundfile.LibsndfileError:
        return None


@cache
def page(words: str = "Total 42", size: tuple[int, int] = (96, 32)) -> bytes:
    """A PNG with a few words on white."""
    image = Image.new("L", size, "white")
    ImageDraw.Draw(image).text((8, 8), words, fill="black")
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@cache
def blank(width: int, height: int) -> bytes:
    """A PNG of one bit a pixel, as small as may be."""
    file = io.BytesIO()
    Image.new("1", (width, height), 1).save(file, "PNG", optimize=True)
    return file.getvalue()


def data_url(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
