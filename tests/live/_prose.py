"""Prose for a speaking machine, as much as is wanted, no sentence of it twice."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from io import BytesIO

import numpy as np
import soundfile
import soxr

RATE = 16_000
PARTS = {
    "en-us": (
        "The old captain|My younger sister|The new teacher|A friendly neighbor|The village doctor"
        "|Our best engineer|The tired farmer|A famous painter".split("|"),
        "carried a heavy basket|found a golden ring|repaired the wooden bridge"
        "|wrote a long letter|opened the kitchen window|painted the garden fence"
        "|bought seven red apples".split("|"),
        "on a cold winter morning|before the train arrived|near the quiet river"
        "|while the children were playing|after the summer holidays|in front of the museum"
        "|because the weather was fine".split("|"),
    ),
    "de": (
        "Der alte Kapitän|Meine kleine Schwester|Die neue Lehrerin|Ein guter Freund".split("|"),
        "kaufte frisches Brot|fand einen goldenen Ring|schrieb einen langen Brief".split("|"),
        "an einem kalten Morgen|vor dem großen Museum|nach den Ferien".split("|"),
    ),
    "fr": (
        "Le vieux capitaine|Ma petite sœur|La nouvelle maîtresse|Un bon ami".split("|"),
        "a acheté du pain|a trouvé une bague|a écrit une longue lettre".split("|"),
        "pendant la nuit|devant le grand musée|après les vacances".split("|"),
    ),
    "es": (
        "El viejo capitán|Mi hermana pequeña|La nueva maestra|Un buen amigo".split("|"),
        "compró pan fresco|encontró un anillo de oro|escribió una carta larga".split("|"),
        "en una mañana fría|delante del museo|después de las vacaciones".split("|"),
    ),
}


def sentences(voice: str) -> Iterator[str]:
    """Sentences of a language, each another one for as long as there are any."""
    who, what, where = PARTS[voice]
    order = list(itertools.product(range(len(who)), range(len(what)), range(len(where))))
    for place in np.random.default_rng(1).permutation(len(order)):
        one, two, three = order[place]
        yield f"{who[one]} {what[two]} {where[three]}."


def spoken(voice: str, text: str) -> np.ndarray:
    """`text` as espeak-ng says it, at 16 kHz, without silence around it."""
    command = ["espeak-ng", "-v", voice, "-s", "140", "--stdout", text]
    said = subprocess.run(command, capture_output=True, check=True).stdout
    samples, rate = soundfile.read(BytesIO(said), dtype="float32")
    sound = soxr.resample(samples, rate, RATE).astype(np.float32)
    loud = np.flatnonzero(np.abs(sound) > 1e-3)
    return sound[loud[0] : loud[-1] + 1]


def recording(voice: str, seconds: float) -> tuple[np.ndarray, list[str], list[float], list]:
    """A recording of at least so many seconds: sound, sentences, their beginnings, each alone."""
    random = np.random.default_rng(2)
    parts, texts, starts, alone = [np.zeros(RATE, np.float32)], [], [], []
    place = RATE
    for text in itertools.cycle(list(sentences(voice))):
        sound = spoken(voice, text)
        pause = np.zeros(int(random.uniform(0.25, 1.2) * RATE), np.float32)
        texts.append(text)
        starts.append(place / RATE)
        alone.append(sound)
        parts += [sound, pause]
        place += len(sound) + len(pause)
        if place > seconds * RATE:
            break
    whole = np.concatenate(parts)
    noise = np.random.default_rng(3).normal(0, 3e-4, len(whole)).astype(np.float32)
    return whole + noise, texts, starts, alone


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def errors(wanted: Sequence[str], heard: Sequence[str]) -> int:
    """Words to change, put in or take out, to make one of the other (Levenshtein)."""
    row = np.arange(len(heard) + 1)
    index = np.arange(len(heard) + 1)
    codes: dict[str, int] = {}
    spelled = np.array([codes.setdefault(word, len(codes)) for word in heard], dtype=int)
    for number, word in enumerate(wanted, 1):
        changed = row[:-1] + (spelled != codes.get(word, -1))
        best = np.minimum(np.concatenate(([number], changed)), row + 1)
        row = np.minimum.accumulate(best - index) + index
    return int(row[-1])


def starts_heard(
    texts: Sequence[str], starts: Sequence[float], timed: Sequence[tuple[str, float]]
) -> list[float]:
    """How far off (s) each sentence begins with whose first word a segment begins.

    Args:
        texts, starts: The sentences, and when each begins.
        timed: What was heard, in segments, and when each begins.
    """
    wanted = {}  # where each sentence begins among all words
    count = 0
    for text, start in zip(texts, starts, strict=True):
        wanted[count] = start
        count += len(words(text))
    asked = [word for text in texts for word in words(text)]
    heard = [word for text, _ in timed for word in words(text)]
    blocks = SequenceMatcher(None, heard, asked, autojunk=False).get_matching_blocks()
    spoken = {block.a + at: block.b + at for block in blocks for at in range(block.size)}
    found, place = [], 0
    for text, start in timed:
        if (begun := wanted.get(spoken.get(place, -1))) is not None:
            found.append(abs(start - begun))
        place += len(words(text))
    return found
