"""What a simulated model says: the same for the same input, in every process."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np

from . import _texts
from ._models import Model
from ._vectors import Vector, closeness, embedded, unit, word_vector
from ._wanted import Sound

SENTENCE = "This is a simulated transcript, spoken at an even pace."
SECONDS = 4.0  # that a sentence takes
PAGE = (
    "<|ref|>title<|/ref|><|det|>[[80, 60, 620, 130]]<|/det|>\n# A simulated page\n\n"
    "<|ref|>text<|/ref|><|det|>[[80, 170, 920, 260]]<|/det|>\n"
    "Every page reads like this one.\n\n"
    "<|ref|>table<|/ref|><|det|>[[80, 300, 920, 480]]<|/det|>\n"
    "<table><tr><td>Tea</td><td>3.50</td></tr></table>\n"
)
STEEP, EVEN = 14.0, 3.0  # closeness as a logit: a cross-encoder is surer than a cosine

Transcripts = Mapping[str | bytes, str] | Callable[[Sound], str] | None
Pages = Mapping[bytes, str] | Callable[[bytes], str] | None


@dataclass(frozen=True, slots=True)
class Script:
    """What a user has a simulated model hear and read.

    Attributes:
        transcripts: Texts by file name or by the bytes of the file; or a function of the upload.
        pages: Texts by the bytes of the image; or a function of them.
    """

    transcripts: Transcripts = None
    pages: Pages = None

    def heard(self, sound: Sound) -> str:
        """The transcript of a recording: by default a sentence again and again."""
        if callable(self.transcripts):
            return self.transcripts(sound)
        given = self.transcripts or {}
        default = " ".join([SENTENCE] * max(1, round((sound.seconds or 0) / SECONDS)))
        return given.get(sound.content, given.get(sound.name, default))

    def read(self, image: bytes) -> str:
        """The words of a page, in DeepSeek-OCR's grammar."""
        if callable(self.pages):
            return self.pages(image)
        return (self.pages or {}).get(image, PAGE)


def array_of(server: str) -> Callable[[str, Model], Vector]:
    """How that kind of server reads a text: a vector, one a word, or numbers of classes."""
    ways = {
        "late-interaction": words_of,
        "token-classify": weights_of,
        "classify": classes,
        "rerank": classes,
    }
    return ways.get(server, vector)


def vector(text: str, model: Model) -> Vector:
    return unit(embedded(text, model.width))


def words_of(text: str, model: Model) -> Vector:
    """One vector a token, those before and after the text included."""
    words = ["[CLS]", *_texts.words(text.lower()), "[SEP]"]
    return unit(np.stack([word_vector(word, model.width) for word in words]))


def weights_of(text: str, model: Model) -> Vector:
    """One weight a token, without those before and after the text: longer words weigh more."""
    lengths = [len(word) / 10 for word in _texts.words(text.lower())]
    return np.array(lengths, np.float32).reshape(-1, 1)


def classes(text: str, model: Model) -> Vector:
    """Probabilities: of one label by itself, of several together."""
    seed = crc32(text.encode("utf-8", "surrogatepass"))
    logits = [math.sin(seed * (at + 1)) * 2 for at in range(len(model.labels))]
    if len(logits) == 1:
        return np.array([sigmoid(logits[0])], np.float32)
    powers = np.exp(np.array(logits))
    shares: Vector = (powers / powers.sum()).astype(np.float32)
    return shares


def relevance(query: str, document: str, server: str, model: Model) -> float:
    """How much a document says about a query, in the scale of that kind of server."""
    if server == "late-interaction":
        return float((words_of(query, model) @ words_of(document, model).T).max(axis=1).sum())
    near = closeness(query, document)
    return sigmoid(STEEP * near - EVEN) if server == "rerank" else near


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def logit(value: float) -> float:
    """What a sigmoid was taken of."""
    return math.log(value / (1 - value))


@lru_cache(maxsize=64)
def seconds_of(content: bytes) -> float | None:
    """How long a file plays; of one that only FFmpeg reads, what its size suggests."""
    import soundfile

    from .._sniff import Family, sniff

    try:
        return float(soundfile.info(io.BytesIO(content)).duration)
    except soundfile.LibsndfileError:
        container = sniff(content[:4096]).family is Family.CONTAINER
        return len(content) / 8000 if container else None


def sentences(text: str) -> Sequence[str]:
    """A transcript in the pieces that get their own time."""
    parts = [part.strip() for part in text.replace("? ", "?\0").replace(". ", ".\0").split("\0")]
    return [part for part in parts if part] or [""]
