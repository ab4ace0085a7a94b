"""Sound that comes block by block, as 16-bit samples at 16 kHz in the same order."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import MediaError
from .pieces import RATE
from .reading import Sound, check_rate

SoundBlock: TypeAlias = bytes | bytearray | memoryview | NDArray[np.generic]
"""Samples: 16-bit little-endian ones of one channel, or an array of shape (n,) or (n, channels)."""


class PCM:
    """Takes blocks as they come.

    Attributes:
        count: Samples that were given out, at 16 kHz.
        clipped: How many of the blocks' samples lie outside -1..1.
        warnings: What is doubtful about the blocks.
    """

    def __init__(self, rate: int) -> None:
        """Take blocks of `rate` samples a second.

        Raises:
            MediaError: No sound has that rate.
        """
        import soxr

        self._rate = check_rate(rate, "the blocks' rate")
        self._stream = soxr.ResampleStream(self._rate, RATE, 1, dtype="float32")
        self._half = b""  # of a sample that a block ended in
        self.count, self.clipped = 0, 0
        self.warnings: dict[str, None] = {}

    def add(self, block: SoundBlock) -> bytes:
        """As much as `block` completes.

        Raises:
            MediaError: It is no sound, or holds a sample that is not finite.
        """
        samples = self._samples(block)
        if not len(samples):
            return b""
        sound = Sound((samples, self._rate), rate=self._rate)
        mono = np.concatenate(list(sound))
        self.clipped += sound.clipped
        self.warnings |= dict.fromkeys(sound.warnings)
        return self._written(mono, last=False)

    def rest(self) -> bytes:
        """What is left at the end."""
        if self._half:
            self.warnings["the last block ended inside a sample, which is left out"] = None
        return self._written(np.empty(0, np.float32), last=True)

    def _samples(self, block: SoundBlock) -> NDArray[np.generic]:
        if isinstance(block, np.ndarray):
            return block
        if not isinstance(block, bytes | bytearray | memoryview):
            raise MediaError(
                "a block is the bytes of 16-bit samples, or an array of samples, not"
                f" {type(block).__name__}."
            )
        given = self._half + bytes(block)
        whole = len(given) // 2 * 2
        self._half = given[whole:]
        return np.frombuffer(given[:whole], "<i2")

    def _written(self, mono: NDArray[np.float32], *, last: bool) -> bytes:
        if self._rate != RATE:
            mono = self._stream.resample_chunk(mono, last=last)
        self.count += len(mono)
        scaled = np.rint(mono * np.float32(32_768))
        written: bytes = np.clip(scaled, -32_768, 32_767).astype("<i2").tobytes()
        return written
