"""Sound that means something to a test: each word is a tone, and a fake model hears which."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import soundfile
from _script import Answer, FakeVLLM, Sent, body, same

RATE = 16_000
WORD, GAP, PAUSE = 0.4, 0.1, 0.6  # s; a gap is too short to cut at
LOWEST, STEP = 200, 10  # Hz: word 7 is a tone of 270 Hz
FEWEST = 0.2  # s of a tone that are enough to tell it
_LETTERS = np.random.default_rng(0).choice(list("abcdefghijklmnopqrstuvwxyz"), (400, 5))
WORDS = ["".join(letters) for letters in _LETTERS]


def spoken(*sentences: Sequence[int], pause: float = PAUSE) -> np.ndarray:
    """Sentences of numbered words, at 16 kHz, with a pause after each."""
    time = np.arange(int(WORD * RATE)) / RATE
    parts = []
    for sentence in sentences:
        for number in sentence:
            tone = 0.3 * np.sin(2 * np.pi * (LOWEST + STEP * number) * time)
            parts += [tone, np.zeros(int(GAP * RATE))]
        parts.append(np.zeros(int(pause * RATE)))
    return np.concatenate(parts).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(int(seconds * RATE), np.float32)


def heard(samples: np.ndarray) -> list[tuple[str, float, float]]:
    """The words, each with its beginning and end (s)."""
    step = RATE // 200  # 5 ms, a period of the lowest tone
    frames = np.resize(samples, -(-len(samples) // step) * step).reshape(-1, step)
    loud = (np.abs(frames).max(axis=1) > 0.01).view(np.int8)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], loud, [0])))) * step
    words = []
    for begin, end in edges.reshape(-1, 2):
        if end - begin > FEWEST * RATE:
            spectrum = np.abs(np.fft.rfft(samples[begin:end], 8192))
            number = round((np.argmax(spectrum) * RATE / 8192 - LOWEST) / STEP)
            words.append((WORDS[number], begin / RATE, min(end, len(samples)) / RATE))
    return words


@dataclass
class Hearing(FakeVLLM):
    """A server whose model hears such words.

    Attributes:
        task, model: As of `FakeVLLM`.
        hears: What becomes of an answer: called with the form's fields, the words and the answer.
        lost: Words at the end that `verbose_json` drops.
        language: What it says it heard.
    """

    task: str = "speech"
    model: str = "whisper-base"
    hears: Callable[[dict[str, Any], list[str], Answer], Answer] = lambda _fields, _words, a: a
    lost: int = 0
    language: str | None = "en"
    forms: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)

    def answer(self, sent: Sent) -> Answer:
        usual = super().answer(sent)
        if sent.method != "POST" or usual.status != 200:
            return usual
        samples = soundfile.read(io.BytesIO(sent.parts[-1].content), dtype="float32")[0]
        found = heard(samples)
        fields = {name: values[0] for name, values in sent.fields.items()}
        self.forms.append((fields, [word for word, _, _ in found]))
        answer: dict[str, Any] = {"text": " " + " ".join(word for word, _, _ in found)}
        if fields["response_format"] == "verbose_json":
            timed = found[: len(found) - self.lost]
            answer = {
                "text": " ".join(word for word, _, _ in timed),
                "language": fields.get("language", self.language),
                "duration": str(len(samples) / RATE),
                "segments": [
                    {"id": 0, "start": start, "end": end, "text": f" {word}"}
                    for word, start, end in timed
                ],
            }
        return self.hears(fields, [word for word, _, _ in found], same(answer))


def said(text: str, *, verbose: bool = False) -> Answer:
    """An answer of this text, in either form."""
    segments = [{"start": 0.0, "end": 99.0, "text": text}]
    return body({"text": text} | ({"segments": segments} if verbose else {}))(Answer())


def names(numbers: Sequence[int]) -> list[str]:
    return [WORDS[number] for number in numbers]
