"""Killed at any moment, a transcription with a journal goes on where it was."""

from __future__ import annotations

import io
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import soundfile
from _words import RATE, heard, names, spoken

from vllm_modalities.simulator import simulate

KILLS = 10
WORDS = range(330)
CODE = """
    import sys
    from vllm_modalities import Client
    url, sound, journal = sys.argv[1:]
    with Client(url, max_concurrency=3, server_version="0.32.0") as client:
        print(client.transcribe(sound, language="en", journal=journal).text)
"""


class Ears:
    """Hears the words of an upload, slowly, and notes what was uploaded."""

    def __init__(self) -> None:
        self.uploads: list[bytes] = []
        self._lock = threading.Lock()

    def __call__(self, sound: object) -> str:
        content: bytes = sound.content  # type: ignore[attr-defined]
        with self._lock:
            self.uploads.append(content)
        time.sleep(0.1)
        samples = soundfile.read(io.BytesIO(content), dtype="float32")[0]
        return " ".join(word for word, _, _ in heard(samples))


def finished(journal: Path) -> int:
    """How many pieces are noted."""
    return journal.read_bytes().count(b'\n{"key"') if journal.exists() else 0


def test_the_result_is_that_of_an_uninterrupted_run_and_no_finished_piece_is_sent_twice(
    tmp_path,
) -> None:
    sentences = [WORDS[at : at + 9] for at in range(0, len(WORDS), 9)]
    sound, journal = tmp_path / "sound.wav", tmp_path / "journal"
    soundfile.write(sound, spoken(*sentences, pause=5.0), RATE)  # a piece a sentence
    ears, random = Ears(), np.random.default_rng(0)
    with simulate(tasks=["transcribe"], transcripts=ears) as server:
        command = [sys.executable, "-c", textwrap.dedent(CODE), server.url, sound, journal]
        for _ in range(KILLS):
            noted = finished(journal)
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                while finished(journal) < noted + 1:
                    time.sleep(0.01)
                time.sleep(random.uniform(0, 0.12))
                process.kill()
        time.sleep(1)  # what the killed one had sent is heard
        noted, ears.uploads = finished(journal), []
        text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert text.split() == names(WORDS)
    assert len(set(ears.uploads)) == len(ears.uploads) == len(sentences) - noted
    assert noted >= KILLS
