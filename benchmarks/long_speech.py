"""Long recordings on real Whisper servers: which words are wrong, and when sentences begin.

`nox -s live-long` runs it. espeak-ng speaks: 25 minutes of English, three of German, French and
Spanish, and two of English as files of other kinds; on an older server (`--release`), three of
English. Each row of the table is printed when it is known.
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import _prose
import numpy as np
import soundfile
import soxr

from vllm_modalities import Client
from vllm_modalities._rig import running
from vllm_modalities._rig.releases import RELEASE

RATE = _prose.RATE
ALONE = 200  # sentences
SERVER_CUTS = 9 * 60  # s; a server takes 600 at once


def kinds(sound: np.ndarray) -> dict[str, Any]:
    """The same sound as files of other kinds, and among other sounds."""
    random = np.random.default_rng(4)
    wide = soxr.resample(sound, RATE, 48_000)
    narrow = soxr.resample(sound, RATE, 8_000)
    tones = sum(np.sin(np.arange(20 * RATE) / RATE * f * 6.28) for f in (220, 277, 330)) / 12
    hiss = random.normal(0, 0.01, len(sound)).astype(np.float32)
    return {
        "48 kHz stereo FLAC": written(np.stack([wide, 0.5 * wide], axis=1), 48_000, "FLAC"),
        "8 kHz µ-law WAV": written(narrow, 8_000, "WAV", "ULAW"),
        "MP3": written(sound, RATE, "MP3"),
        "M4A": contained(wide, "ipod", "aac", "fltp"),
        "WebM": contained(wide, "webm", "libopus", "flt"),
        "in noise, 25 dB below": (sound + hiss, RATE),
        "behind a chord and silence, 20 s each": (
            np.concatenate([tones.astype(np.float32), np.zeros(20 * RATE, np.float32), sound]),
            RATE,
        ),
    }


def written(samples: np.ndarray, rate: int, kind: str, subtype: str | None = None) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=kind, subtype=subtype)
    return file.getvalue()


def contained(samples: np.ndarray, kind: str, codec: str, form: str) -> bytes:
    """One channel at 48 kHz."""
    import av

    file = io.BytesIO()
    with av.open(file, "w", format=kind) as container:
        track: Any = container.add_stream(codec, rate=48_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis].astype(np.float32), "fltp", "mono")
        frame.sample_rate = 48_000
        resampler = av.AudioResampler(form, "mono", 48_000, track.frame_size)
        for ready in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(track.encode(ready))
        container.mux(track.encode(None))
    return file.getvalue()


class Table:
    """Prints a row at a time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        print("| recording | wrong words | sentence starts off, median | seconds | warnings |")
        print("|---|---|---|---|---|", flush=True)

    def row(
        self, name: str, source: Any, texts: Sequence[str], starts: Sequence[float] = (), **how: Any
    ) -> None:
        """Transcribe `source`, in which `texts` are spoken."""
        began = time.perf_counter()
        found = self._client.transcribe(source, **how)
        took = time.perf_counter() - began
        wanted = _prose.words(" ".join(texts))
        wrong = _prose.errors(wanted, _prose.words(found.text))
        timed = [(one.text, one.start) for one in found.segments]
        off = _prose.starts_heard(texts, starts, timed) if starts else []
        median = f"{statistics.median(off):.2f} s of {len(off)}" if off else ""
        self.tell(name, wrong, len(wanted), median, took, len(found.warnings))
        for warning in found.warnings:
            print(f"<!-- {warning} -->")

    def alone(self, texts: Sequence[str], sounds: Sequence[np.ndarray], language: str) -> None:
        """Each sentence by itself, as one request."""
        began, wrong, count = time.perf_counter(), 0, 0

        def heard(sound: np.ndarray) -> str:
            return self._client.transcribe((sound, RATE), language=language).text

        with ThreadPoolExecutor(8) as threads:
            for text, found in zip(texts, threads.map(heard, sounds), strict=True):
                wrong += _prose.errors(_prose.words(text), _prose.words(found))
                count += len(_prose.words(text))
        took = time.perf_counter() - began
        self.tell(f"{len(texts)} of its sentences, each alone", wrong, count, "", took, 0)

    def tell(
        self, name: str, wrong: int, count: int, median: str, took: float, warnings: int
    ) -> None:
        share = f"{wrong} of {count}, {100 * wrong / max(count, 1):.1f} %"
        print(f"| {name} | {share} | {median} | {took:.0f} | {warnings} |", flush=True)


def english(table: Table, minutes: float) -> None:
    sound, texts, starts, sounds = _prose.recording("en-us", minutes * 60)
    table.row(f"English, {minutes:.0f} min", (sound, RATE), texts, language="en")
    table.alone(texts[:ALONE], sounds[:ALONE], "en")
    count = sum(start < SERVER_CUTS - 10 for start in starts)
    part = (sound[: int(starts[count] * RATE)] if count < len(starts) else sound, RATE)
    table.row("its first 9 min", part, texts[:count], language="en")
    table.row("those, timed", part, texts[:count], starts[:count], timestamps="segment")
    table.row("those, cut by the server", part, texts[:count], language="en", chunking="server")


def languages(table: Table) -> None:
    for voice, language in (("de", "German"), ("fr", "French"), ("es", "Spanish")):
        sound, texts, _, sounds = _prose.recording(voice, 180)
        table.row(f"{language}, 3 min", (sound, RATE), texts, language=voice)
        table.alone(texts, sounds, voice)


def files(table: Table) -> None:
    sound, texts, _, _ = _prose.recording("en-us", 120)
    for name, source in kinds(sound).items():
        table.row(f"English, 2 min, {name}", source, texts)


def times(table: Table) -> None:
    """Where the server's own times drift, from one chunk of 30 s to the next, ours do not."""
    sound, texts, starts, sounds = _prose.recording("en-us", 180)
    how: dict[str, Any] = {"language": "en", "timestamps": "segment"}
    table.row("English, 3 min, timed", (sound, RATE), texts, starts, **how)
    table.row("that, cut by the server", (sound, RATE), texts, starts, **how, chunking="server")
    table.alone(texts, sounds, "en")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=25, help="of English")
    arguments.add_argument("--release", default=RELEASE, help="of vLLM")
    parts = ("english", "languages", "files", "times")
    arguments.add_argument("--only", choices=parts, action="append", help="a part, not all")
    given = arguments.parse_args()
    wanted = given.only or (parts if given.release == RELEASE else ("times",))
    with (
        running(["whisper-base"], report=told, release=given.release) as rig,
        Client(rig["whisper-base"].base_url) as client,
    ):
        table = Table(client)
        print(f"<!-- vLLM {given.release}, {datetime.now(UTC):%Y-%m-%d} -->")
        if "english" in wanted:
            english(table, given.minutes)
        if "languages" in wanted:
            languages(table)
        if "files" in wanted:
            files(table)
        if "times" in wanted:
            times(table)


def told(line: str) -> None:
    print(f"<!-- {line} -->", flush=True)


if __name__ == "__main__":
    main()
