"""Where speech in noise is cut: by loudness, and by Silero's voice detector.

`PYTHONPATH=tests/live python benchmarks/cutting_noise.py`; espeak-ng speaks. A cut inside a
sentence may cost a word; speech that is in no piece costs all of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import _prose
import numpy as np
from numpy.typing import NDArray

from vllm_modalities.audio.pieces import Stretch, stretches
from vllm_modalities.audio.voice import Silero

RATE = _prose.RATE
LONGEST = 29  # s
Spans = Sequence[tuple[float, float]]


def noises(sound: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """White noise, and six people who say other sentences of the same kind."""
    white = np.random.default_rng(5).normal(0, 1, len(sound))
    others = sum(np.roll(sound, place * 61 * RATE) for place in range(1, 7))
    return {"white noise": white.astype(np.float32), "six other voices": np.asarray(others)}


def inside(pieces: Sequence[Stretch], spans: Spans) -> int:
    """Cuts that are inside a sentence, by more than a frame."""
    cuts = [(piece.start + len(piece.samples)) / RATE for piece in pieces[:-1]]
    return sum(any(a + 0.02 < cut < b - 0.02 for a, b in spans) for cut in cuts)


def unsent(pieces: Sequence[Stretch], spans: Spans) -> float:
    """Seconds of sentences that are in no piece."""
    sent = np.zeros(int(100 * max(end for _, end in spans)) + 1, bool)
    for piece in pieces:
        start = piece.start * 100 // RATE
        sent[start : start + len(piece.samples) * 100 // RATE] = True
    return float(sum((~sent[int(a * 100) : int(b * 100)]).sum() for a, b in spans) / 100)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=5)
    given = arguments.parse_args()
    sound, _, starts, alone = _prose.recording("en-us", given.minutes * 60)
    spans = [(a, a + len(one) / RATE) for a, one in zip(starts, alone, strict=True)]
    power = float(np.mean(np.concatenate(alone) ** 2))
    print("| noise | by | pieces | cuts inside sentences | not sent | times real time |")
    print("|---|---|---|---|---|---|")
    for name, noise in noises(sound).items():
        for below in (15, 10, 5, 0):
            scale = np.sqrt(power / 10 ** (below / 10) / np.mean(noise**2))
            mixed = (sound + scale * noise).astype(np.float32)
            mixed /= max(1.0, float(np.abs(mixed).max()))
            for by in ("loudness", "voice"):
                began = time.process_time()
                voice = Silero() if by == "voice" else None
                blocks = iter(np.array_split(mixed, len(mixed) // RATE))
                found = list(stretches(blocks, longest=LONGEST, voice=voice))
                pace = len(mixed) / RATE / (time.process_time() - began)
                pieces = [one for one in found if one.voiced]
                row = (len(pieces), inside(pieces, spans), f"{unsent(pieces, spans):.1f} s")
                shown = " | ".join(map(str, row))
                print(f"| {name}, {below} dB below | {by} | {shown} | {pace:.0f} |", flush=True)


if __name__ == "__main__":
    main()
