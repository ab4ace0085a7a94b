"""Two minutes of speech: no word is lost at a cut, and times are right."""

from __future__ import annotations

import statistics
from functools import cache

import numpy as np
import pytest
from live import _prose

from vllm_modalities import Client, Transcript
from vllm_modalities._rig import Rig

pytestmark = pytest.mark.servers("whisper-base")
SECONDS = 120


@cache
def recording() -> tuple[np.ndarray, list[str], list[float], list[np.ndarray]]:
    return _prose.recording("en-us", SECONDS)


def heard(servers: Rig, **options: object) -> tuple[Transcript, float]:
    """The transcript, and the share of the words that is wrong in it."""
    sound, texts, _, _ = recording()
    with Client(servers["whisper-base"].base_url) as client:
        transcript = client.transcribe((sound, _prose.RATE), **options)  # type: ignore[arg-type]
    words = _prose.words(" ".join(texts))
    return transcript, _prose.errors(words, _prose.words(transcript.text)) / len(words)


def test_what_is_cut_here_has_as_few_wrong_words_as_what_the_server_cuts(servers: Rig) -> None:
    ours, wrong = heard(servers, language="en")
    _, wrong_there = heard(servers, language="en", chunking="server")
    assert wrong <= max(wrong_there, 0.03) + 0.01
    assert len(ours.segments) >= SECONDS / 29
    assert ours.warnings == ()


def test_sentences_begin_when_they_are_spoken_and_the_language_is_found_out(servers: Rig) -> None:
    transcript, wrong = heard(servers, timestamps="segment")
    _, texts, starts, _ = recording()
    off = _prose.starts_heard(texts, starts, [(one.text, one.start) for one in transcript.segments])
    assert transcript.language == "en"
    assert len(off) >= len(texts) / 2
    assert statistics.median(off) < 0.5
    assert wrong <= 0.05
