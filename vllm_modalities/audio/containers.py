"""Sound out of M4A, MP4, WebM, Matroska and whatever else FFmpeg reads, with PyAV."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .._sniff import Opened
from ..errors import MediaError

if TYPE_CHECKING:
    import av.container
    import av.error

BLOCK = 1 << 16  # frames that are handed on at a time; a packet has some 1,000
TOLERATED = 0.5  # s; a length counts the encoder's own delay, too


class Container:
    """The first track of sound in a file, as a context manager.

    Attributes:
        rate: Its samples a second (Hz).
        length: How long the file says that it lasts (s); None if it does not.
    """

    def __init__(self, given: Opened) -> None:
        """Open what `given` holds.

        Raises:
            ImportError: PyAV is not installed.
            MediaError: FFmpeg cannot read it, or there is no sound in it.
        """
        try:
            import av
            import av.error
        except ImportError:
            raise ImportError(
                f"{given.name} is {given.kind}, which takes PyAV to read: pip install"
                " 'vllm-modalities[media]', or convert it, as with `ffmpeg -i IN OUT.flac`"
            ) from None
        self._given, self._fault = given, av.error.FFmpegError
        self._frames = 0
        with ExitStack() as opened:
            try:
                self._file = opened.enter_context(_container(given))
            except av.error.FFmpegError as error:
                raise self._undecodable(error) from error
            if not self._file.streams.audio:
                raise MediaError(f"{given.name} is {given.kind} without a track of sound.")
            self._track = self._file.streams.audio[0]
            self._opened = opened.pop_all()
        self.rate: int = self._track.rate or 0
        self.length = self._length()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """The sound, as blocks of shape (n, channels) in -1..1.

        Raises:
            MediaError: It cannot be decoded further, or changes its rate.
        """
        waiting = [np.empty((0, 1), np.float32)]
        try:
            for frame in self._file.decode(self._track):
                samples = self._samples(frame)
                is_other = waiting[0].shape[1] != samples.shape[1]
                if is_other or sum(map(len, waiting)) >= BLOCK:
                    yield np.concatenate(waiting)
                    waiting.clear()
                waiting.append(samples)
        except self._fault as error:
            raise self._undecodable(error) from error
        yield np.concatenate(waiting)

    def damage(self) -> tuple[str, ...]:
        """What is doubtful, once all blocks have come; `()` if nothing."""
        there = self._frames / self.rate
        if self.length is None or self.length - there <= TOLERATED:
            return ()
        return (
            f"{self._given.name} may be cut: it promises {self.length:.2f} s of sound,"
            f" {there:.2f} s are there.",
        )

    def _length(self) -> float | None:
        """Of the track; or of the whole file, where there is nothing else in it."""
        track = self._track
        if track.duration is not None and track.time_base is not None:
            return float(track.duration * track.time_base)
        if self._file.duration is not None and len(self._file.streams) == 1:
            return float(self._file.duration / 1_000_000)  # µs, as `av.time_base` says
        return None

    def _samples(self, frame: av.AudioFrame) -> NDArray[np.float32]:
        if frame.sample_rate != self.rate:
            raise MediaError(
                f"{self._given.name} changes from {self.rate} to {frame.sample_rate} Hz after"
                f" {self._frames / self.rate:.2f} s: convert it, as with `ffmpeg -i IN OUT.flac`."
            )
        self._frames += frame.samples
        array: NDArray[Any] = frame.to_ndarray()  # (channels, n), or (1, n * channels) if packed
        shaped = array.T if frame.format.is_planar else array.reshape(-1, frame.layout.nb_channels)
        if shaped.dtype.kind == "f":
            return shaped.astype(np.float32)
        full = 2.0 ** (8 * shaped.dtype.itemsize - 1)
        middle = full if shaped.dtype.kind == "u" else 0.0
        return ((shaped - middle) / full).astype(np.float32)

    def _undecodable(self, error: av.error.FFmpegError) -> MediaError:
        given, after = (
            self._given,
            f" after {self._frames / self.rate:.2f} s" if self._frames else "",
        )
        said = error.strerror or type(error).__name__
        return MediaError(f"{given.name} is {given.kind}, but cannot be decoded{after}: {said}.")


def _container(given: Opened) -> av.container.InputContainer:
    """The file, its tags in whichever encoding they are."""
    import av

    try:
        return av.open(given.file, "r", metadata_errors="ignore")
    except TypeError:  # PyAV 19 has no such option, and needs none
        return av.open(given.file, "r")
