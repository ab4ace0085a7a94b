"""Read any sound as one channel of float32, and write it as a small FLAC or WAV."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from numbers import Integral
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._sniff import Family, Opened, opened
from ..errors import MediaError
from .damage import damage

if TYPE_CHECKING:
    from soundfile import SoundFile

BLOCK = 1 << 18  # frames decoded at a time
RATES = range(1_000, 655_351)  # Hz; FLAC ends at 655,350, and below 1 kHz there is no speech
CHANNELS = 64  # more columns than this are samples laid out the wrong way
LOUDEST = 1e30  # 1 is full scale; what is louder overflows where it is resampled
LONGEST = 12 * 3600  # s; a file of silence may be a ten-thousandth of its sound
MOST = LONGEST * 2 * 48_000  # numbers in all channels, whatever the rate
UNKNOWN_LENGTH = 1 << 62  # frames; libsndfile gives 2**63 - 1 for a FLAC written to a pipe

AudioSource: TypeAlias = str | os.PathLike[str] | bytes | BinaryIO | tuple[NDArray[np.generic], int]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Waveform:
    """One channel of sound.

    Attributes:
        samples: Amplitudes, nominally -1..1. Shape (n,), float32.
        rate: Samples a second (Hz).
        warnings: What is doubtful about the file they came from.
    """

    samples: NDArray[np.float32]
    rate: int
    warnings: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """How long it lasts (s)."""
        return len(self.samples) / self.rate

    @property
    def clipped(self) -> int:
        """How many samples lie outside -1..1, which `encode` clips."""
        return int(np.count_nonzero(np.abs(self.samples) > 1))

    def __repr__(self) -> str:
        return f"Waveform({self.duration:.2f} s at {self.rate} Hz)"


def read_audio(source: AudioSource, *, rate: int = 16_000) -> Waveform:
    """Decode `source`, average its channels and resample it.

    Args:
        source: A path (str or PathLike), the bytes of a file, an open binary file (WAV, FLAC, Ogg
            Vorbis, Opus, MP3, AIFF and what else libsndfile reads), or (samples, rate) with
            samples of shape (n,) or (n, channels): floats in -1..1, or signed integers, which are
            scaled by their type's range.
        rate: The rate wanted, in Hz. Every speech model of vLLM v0.33.0 takes 16,000; the server
            (vllm/entrypoints/speech_to_text) resamples anything else.

    Returns:
        n >= 1 finite samples.

    Raises:
        MediaError: There is no such file, or it is no sound, is cut or damaged, holds no sample or
            one that is not finite; or the array's shape, type or rate is none of sound.
    """
    rate = _check_rate(rate, "the rate asked for")
    if isinstance(source, tuple):
        array, native = _array(source)
        samples = _resampled(_blocks(array), native, rate, name="the array")
        return Waveform(samples, rate)
    if isinstance(source, np.ndarray):
        raise MediaError("an array does not say its rate: give (samples, rate).")
    with opened(source) as given:
        if given.kind.family not in (Family.AUDIO, Family.UNKNOWN):
            raise MediaError(_refusal(given))
        return _decode(given, rate)


def encode(waveform: Waveform, *, container: Literal["flac", "wav"] = "flac") -> bytes:
    """`waveform` as a file of 16-bit samples; `Waveform.clipped` says how many are clipped."""
    import soundfile

    file = BytesIO()
    with soundfile.SoundFile(
        file, "w", waveform.rate, channels=1, subtype="PCM_16", format=container.upper()
    ) as sound:
        for start in range(0, len(waveform.samples), BLOCK):
            scaled = np.rint(waveform.samples[start : start + BLOCK] * np.float32(32_768))
            sound.write(np.clip(scaled, -32_768, 32_767).astype(np.int16))
    return file.getvalue()


def _refusal(given: Opened) -> str:
    if given.kind.family is Family.CONTAINER:
        return (
            f"{given.name} is {given.kind}, which libsndfile does not read. Convert it to WAV, as "
            "with `ffmpeg -i IN OUT.wav`; the extra `media` (`pip install "
            "vllm-modalities[media]`) is planned to read it."
        )
    return f"{given.name} is {given.kind}, not audio."


def _decode(given: Opened, rate: int) -> Waveform:
    import soundfile

    try:
        with _sound(given) as sound:
            samples = _resampled(_frames(sound), sound.samplerate, rate, name=given.name)
            warnings = damage(given, sound, sound.tell())
    except soundfile.LibsndfileError as error:
        said = error.error_string.removeprefix("Error : ").rstrip(".")
        raise MediaError(
            f"{given.name} is {given.kind}, but cannot be decoded; libsndfile says: {said}."
        ) from error
    return Waveform(samples, rate, warnings)


def _sound(given: Opened) -> SoundFile:
    import soundfile

    try:
        sound = soundfile.SoundFile(given.file)
    except TypeError as error:  # soundfile wants the rate of any file that is named *.raw
        raise MediaError(
            f"{given.name}: samples without a header; give (samples, rate)."
        ) from error
    if sound.frames >= UNKNOWN_LENGTH:
        raise MediaError(
            f"{given.name} is {given.kind} that does not state its length, like one written to a "
            "pipe, and libsndfile cannot read it; write it to a file, or convert it to WAV."
        )
    _check_rate(sound.samplerate, f"the rate of {given.name}")
    if sound.channels > CHANNELS:
        raise MediaError(f"{given.name} has {sound.channels} channels; {CHANNELS} are the most.")
    return sound


def _frames(sound: SoundFile) -> Iterator[NDArray[np.float32]]:
    while len(block := sound.read(BLOCK, dtype="float32", always_2d=True)):
        yield np.asarray(block, np.float32)


def _array(pair: tuple[object, ...]) -> tuple[NDArray[np.generic], int]:
    """The two of (samples, rate), checked to be sound."""
    if len(pair) != 2:
        raise MediaError(f"a tuple of {len(pair)} is no sound: give (samples, rate).")
    samples, rate = pair
    if isinstance(rate, np.ndarray):
        raise MediaError("(rate, samples) is SciPy's order: give (samples, rate).")
    array, native = np.asarray(samples), _check_rate(rate, "the array's rate")
    if array.ndim not in (1, 2) or (array.ndim == 2 and not 1 <= array.shape[1] <= CHANNELS):
        raise MediaError(
            f"an array of shape {array.shape} is no sound: give (n,) or (n, channels)."
        )
    if array.dtype.kind not in "fi":
        raise MediaError(
            f"an array of {array.dtype} is no sound: give floats in -1..1 or signed integers."
        )
    return array, native


def _blocks(array: NDArray[np.generic]) -> Iterator[NDArray[np.float32]]:
    """`array`, shape (n,) or (n, channels), as blocks of (up to BLOCK, channels) in -1..1."""
    full = 1.0 if array.dtype.kind == "f" else 2.0 ** (8 * array.dtype.itemsize - 1)
    for start in range(0, len(array), BLOCK):
        block = array[start : start + BLOCK].astype(np.float64) / full
        with np.errstate(over="ignore"):  # too large for float32 is infinite, which is refused
            yield block.astype(np.float32).reshape(len(block), -1)


def _resampled(
    blocks: Iterator[NDArray[np.float32]], native: int, rate: int, *, name: str
) -> NDArray[np.float32]:
    """Average the channels of `blocks` and bring them from `native` to `rate` (Hz)."""
    import soxr

    stream = soxr.ResampleStream(native, rate, 1, dtype="float32")
    pieces, frames = [], 0
    for block in blocks:
        with np.errstate(over="ignore", invalid="ignore"):
            mono = block.mean(axis=1)
            sound = np.abs(mono) <= LOUDEST
        if not sound.all():
            at = (frames + int(np.argmin(sound))) / native
            raise MediaError(f"{name} holds a sample at {at:.2f} s that is not a finite number.")
        frames += len(mono)
        if frames > LONGEST * native or frames * block.shape[1] > MOST:
            hours = frames / native / 3600
            raise MediaError(f"{name} goes on after {hours:.1f} hours of sound: cut it first.")
        pieces.append(mono if rate == native else stream.resample_chunk(mono))
    if rate != native:
        pieces.append(stream.resample_chunk(np.empty(0, np.float32), last=True))
    samples = np.concatenate(pieces) if pieces else np.empty(0, np.float32)
    if not samples.size:
        raise MediaError(f"{name} holds no sound ({frames} samples at {native} Hz).")
    return samples


def _check_rate(rate: object, what: str) -> int:
    if not isinstance(rate, Integral) or int(rate) not in RATES:
        raise MediaError(f"{what} is {rate!r}; sound has {RATES[0]:,} to {RATES[-1]:,} Hz.")
    return int(rate)
