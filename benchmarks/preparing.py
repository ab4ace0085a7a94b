"""What it costs to prepare three hours of 44.1 kHz stereo: seconds, and memory at most.

`python benchmarks/preparing.py` makes the files in a temporary folder (2 GB at most), and
prepares each in a process of its own: read, made mono, resampled, cut at pauses, written as FLAC.
`ffmpeg`, if it is there, does the same without the cutting.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile
import soxr

CLIP = Path(__file__).parents[1] / "examples" / "assets" / "speech-en-us.flac"
RATE = 44_100
KINDS = ("wav", "flac", "m4a")


def minute() -> np.ndarray:
    """Speech with pauses, in two channels, 60 s."""
    samples, native = soundfile.read(CLIP, dtype="float32")
    speech = np.append(soxr.resample(samples, native, RATE), np.zeros(RATE // 2, np.float32))
    mono = np.resize(speech, 60 * RATE)
    noise = np.random.default_rng(0).normal(0, 0.001, (len(mono), 2))
    return (np.stack([mono, 0.7 * mono], axis=1) + noise).astype(np.float32)


def make(path: Path, minutes: int) -> None:
    """A file of so many minutes."""
    one = minute()
    if path.suffix == ".m4a":
        _make_m4a(path, one, minutes)
        return
    with soundfile.SoundFile(path, "w", RATE, 2, subtype="PCM_16") as file:
        for _ in range(minutes):
            file.write(one)


def _make_m4a(path: Path, one: np.ndarray, minutes: int) -> None:
    import av

    with av.open(str(path), "w", format="mp4") as file:
        track = file.add_stream("aac", rate=RATE, layout="stereo")
        for number in range(minutes):
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(one.T), "fltp", "stereo")
            frame.sample_rate, frame.pts = RATE, number * len(one)
            file.mux(track.encode(frame))
        file.mux(track.encode(None))


def prepare(path: str) -> None:
    """Take all pieces of a file, as `transcribe` does, and print what it took."""
    from vllm_modalities.audio.sending import Pieces

    began = time.process_time()
    pieces = Pieces(path)
    pieces.open()
    pieces.cut(29.0)
    size = sum(len(piece.content) for piece in iter(pieces.take, None))
    took = time.process_time() - began
    # Not `ru_maxrss`, which begins at what the process that started this one had.
    peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    seconds = pieces.sound.count / pieces.sound.rate
    print(
        f"{Path(path).suffix[1:]}: {seconds:.0f} s of sound in {took:.1f} s of one core,"
        f" {seconds / took:.0f} times real time; {pieces.count} pieces, {size / 1e6:.0f} MB;"
        f" {peak:.0f} MB of memory at most"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=int, default=180)
    arguments.add_argument("--kinds", nargs="*", default=KINDS)
    arguments.add_argument("--prepare", metavar="FILE", help="that file alone, in this process")
    given = arguments.parse_args()
    if given.prepare:
        prepare(given.prepare)
        return
    with tempfile.TemporaryDirectory() as folder:
        for kind in given.kinds:
            path = Path(folder) / f"sound.{kind}"
            make(path, given.minutes)
            subprocess.run([sys.executable, __file__, "--prepare", str(path)], check=True)
            if ffmpeg := shutil.which("ffmpeg"):
                began = sum(os.times()[2:4])
                command = [ffmpeg, "-loglevel", "error", "-threads", "1", "-i", str(path)]
                command += ["-ac", "1", "-ar", "16000", "-y", f"{folder}/out.flac"]
                subprocess.run(command, check=True)
                took = sum(os.times()[2:4]) - began
                print(f"    ffmpeg, without cutting: {took:.1f} s of one core", flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
