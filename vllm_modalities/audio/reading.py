"""Read any sound as one channel of float32, and write it as a small FLAC or WAV."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from io import BytesIO
from numbers import Integral
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._sniff import Family, Opened, opened
from ..errors import MediaError
from .damage import damage, missing

if TYPE_CHECKING:
    from soundfile import SoundFile

BLOCK = 1 << 18  # frames decoded at a time
RATES = range(1_000, 655_351)  # Hz; FLAC ends at 655,350, and below 1 kHz there is no speech
CHANNELS = 64  # more columns than this are samples laid out the wrong way
LOUDEST = 1e30  # 1 is full scale; what is louder overflows where it is resampled
LONGEST = 12 * 3600  # s; a file of silence may be a ten-thousandth of its sound
MOST = LONGEST * 2 * 48_000  # numbers in all channels, whatever the rate
OPPOSED = 0.1  # of the power that unrelated channels would leave in their mean
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


class Sound:
    """A recording as one channel of float32, read a block at a time: iterate over it, once.

    Attributes:
        rate: Samples a second of what comes (Hz).
        length: How long its header says that it lasts (s); None if it does not.
        count: How many samples have come.
        clipped: How many of them lie outside -1..1, which `encode` clips.
        warnings: What is doubtful about the file; complete after the last block.
    """

    def __init__(self, source: AudioSource, *, rate: int = 16_000) -> None:
        """Take `source` as `read_audio` does.

        What that raises comes with the first block, or with the one in which the fault is.
        """
        self.rate = check_rate(rate, "the rate asked for")
        self.length: float | None = None
        self.count, self.clipped = 0, 0
        self.warnings: tuple[str, ...] = ()
        self._samples = self._read(source)

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        return self._samples

    def close(self) -> None:
        """Let go of the file, read to its end or not."""
        self._samples.close()

    def _read(self, source: AudioSource) -> Generator[NDArray[np.float32], None, None]:
        if isinstance(source, tuple):
            array, native = _array(source)
            self.length = len(array) / native
            yield from self._resampled(_blocks(array), native, name="the array")
            return
        if isinstance(source, np.ndarray):
            raise MediaError("an array does not say its rate: give (samples, rate).")
        with opened(source) as given:
            if given.kind.family is Family.CONTAINER:
                yield from self._contained(given)
            elif given.kind.family in (Family.AUDIO, Family.UNKNOWN):
                yield from self._decoded(given)
            else:
                raise MediaError(f"{given.name} is {given.kind}, not audio.")

    def _contained(self, given: Opened) -> Generator[NDArray[np.float32], None, None]:
        from .containers import Container

        with Container(given) as container:
            native = check_rate(container.rate, f"the rate of {given.name}")
            self.length = container.length
            yield from self._resampled(container.blocks(), native, name=given.name)
            self.warnings += container.damage()

    def _decoded(self, given: Opened) -> Generator[NDArray[np.float32], None, None]:
        import soundfile

        try:
            with _sound(given) as sound:
                self.length = sound.frames / sound.samplerate
                missing(given, sound, sound.frames)  # before any of it is sent
                yield from self._resampled(_frames(sound), sound.samplerate, name=given.name)
                self.warnings += damage(given, sound, sound.tell())
        except soundfile.LibsndfileError as error:
            said = error.error_string.removeprefix("Error : ").rstrip(".")
            raise MediaError(
                f"{given.name} is {given.kind}, but cannot be decoded; libsndfile says: {said}."
            ) from error

    def _resampled(
        self, blocks: Iterator[NDArray[np.float32]], native: int, *, name: str
    ) -> Generator[NDArray[np.float32], None, None]:
        """Make one channel of `blocks`, shape (n, channels), and bring it from `native` Hz."""
        import soxr

        stream = soxr.ResampleStream(native, self.rate, 1, dtype="float32")
        frames = 0
        for block in blocks:
            mono = self._mono(block, name)
            with np.errstate(invalid="ignore"):
                sound = np.abs(mono) <= LOUDEST
            if not sound.all():
                at = (frames + int(np.argmin(sound))) / native
                raise MediaError(
                    f"{name} holds a sample at {at:.2f} s that is not a finite number."
                )
            frames += len(mono)
            if frames > LONGEST * native or frames * block.shape[1] > MOST:
                hours = frames / native / 3600
                raise MediaError(f"{name} goes on after {hours:.1f} hours of sound: cut it first.")
            yield self._counted(mono if self.rate == native else stream.resample_chunk(mono))
        if self.rate != native:
            yield self._counted(stream.resample_chunk(np.empty(0, np.float32), last=True))
        if not self.count:
            raise MediaError(f"{name} holds no sound ({frames} samples at {native} Hz).")

    def _mono(self, block: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        """The mean of the channels; the loudest of them where they cancel each other out."""
        if block.shape[1] == 1:
            return block[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            mono: NDArray[np.float32] = block.mean(axis=1)
            powers = np.einsum("ij,ij->j", block, block)
            # Channels that have nothing to do with each other leave 1 / channels of their power.
            if not mono @ mono < OPPOSED * powers.mean() / block.shape[1]:
                return mono
        said = f"the channels of {name} cancel each other out in part: the loudest is taken there"
        if said not in self.warnings:
            self.warnings += (said,)
        return block[:, int(np.argmax(powers))]

    def _counted(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        self.count += len(samples)
        self.clipped += int(np.count_nonzero(np.abs(samples) > 1))
        return samples


def read_audio(source: AudioSource, *, rate: int = 16_000) -> Waveform:
    """Decode `source`, average its channels and resample it, all at once.

    Args:
        source: A path (str or PathLike), the bytes of a file, an open binary file, or
            (samples, rate) with samples of shape (n,) or (n, channels): floats in -1..1, or signed
            integers, which are scaled by their type's range. WAV, FLAC, Ogg Vorbis, Opus, MP3,
            AIFF and what else libsndfile reads; M4A, MP4, WebM, MKV and what else FFmpeg reads
            with PyAV (the extra `media`).
        rate: The rate wanted, in Hz. Every speech model of vLLM v0.33.0 takes 16,000; the server
            (vllm/entrypoints/speech_to_text) resamples anything else.

    Returns:
        n >= 1 finite samples.

    Raises:
        MediaError: There is no such file, or it is no sound, is cut or damaged, holds no sample or
            one that is not finite; or the array's shape, type or rate is none of sound.
        ImportError: Reading it takes PyAV, which is not installed.
    """
    sound = Sound(source, rate=rate)
    samples = np.concatenate(list(sound))
    return Waveform(samples, sound.rate, sound.warnings)


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
    check_rate(sound.samplerate, f"the rate of {given.name}")
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
    array, native = np.asarray(samples), check_rate(rate, "the array's rate")
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
            single = block.astype(np.float32)
        yield single.reshape(len(block), -1)  # outside: another thread may ask for the next one


def check_rate(rate: object, what: str) -> int:
    if not isinstance(rate, Integral) or int(rate) not in RATES:
        raise MediaError(f"{what} is {rate!r}; sound has {RATES[0]:,} to {RATES[-1]:,} Hz.")
    return int(rate)
