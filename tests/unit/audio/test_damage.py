from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import soundfile

from vllm_modalities.audio.reading import read_audio
from vllm_modalities.errors import MediaError

NOISE = np.random.default_rng(0).normal(0, 0.1, 5 * 44_100)


def written(container: str, subtype: str | None = None, rate: int = 44_100, **more: Any) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, NOISE, rate, format=container, subtype=subtype, **more)
    return file.getvalue()


@pytest.mark.parametrize("container", ["WAV", "AIFF", "AU", "W64", "RF64"])
def test_half_a_file_is_refused_with_both_lengths(container: str) -> None:
    content = written(container)
    with pytest.raises(
        MediaError, match=r"is cut: it promises 5\.00 s of sound, 2\.50 s are there"
    ):
        read_audio(content[: len(content) // 2])


def test_half_a_flac_is_refused_in_the_words_of_libsndfile() -> None:
    content = written("FLAC")
    with pytest.raises(MediaError, match=r"FLAC file, but cannot be decoded.*lost sync"):
        read_audio(content[: len(content) // 2])


def test_a_hole_in_an_opus_stream_is_refused() -> None:
    content = bytearray(written("OGG", "OPUS", 48_000))
    middle = len(content) // 2
    content[middle : middle + 2000] = bytes(2000)
    with pytest.raises(MediaError, match="is cut: it promises"):
        read_audio(bytes(content))


def test_half_an_mp3_is_read_and_tells_so() -> None:
    content = written("MP3")
    sound = read_audio(content[: len(content) // 2])
    assert 2 < sound.duration < 3
    assert "promises 5.00 s" in sound.warnings[0]


@pytest.mark.parametrize(("subtype", "rate"), [("VORBIS", 44_100), ("OPUS", 48_000)])
def test_half_an_ogg_is_read_and_tells_so(subtype: str, rate: int) -> None:
    content = written("OGG", subtype, rate)
    sound = read_audio(content[: len(content) // 2])
    assert 1 < sound.duration < 4
    assert "does not mark its own end" in sound.warnings[0]


def test_less_than_a_tenth_of_a_second_is_not_missed() -> None:
    assert read_audio(written("WAV")[:-3]).warnings == ()


@pytest.mark.parametrize("size", [0xFFFF_FFFF, 0x7FFF_F000])
def test_a_wav_written_to_a_pipe_promises_nothing(size: int) -> None:
    content = bytearray(written("WAV"))
    content[4:8] = content[40:44] = size.to_bytes(4, "little")
    sound = read_audio(bytes(content))
    assert sound.duration == 5.0
    assert sound.warnings == ()


@pytest.mark.parametrize(
    ("container", "subtype", "rate"),
    [("MP3", None, 44_100), ("OGG", "VORBIS", 44_100), ("OGG", "OPUS", 48_000)],
)
def test_joined_streams_are_refused_since_only_the_first_would_be_read(
    container: str, subtype: str | None, rate: int
) -> None:
    content = written(container, subtype, rate)
    with pytest.raises(MediaError, match="holds more sound than libsndfile reads"):
        read_audio(content * 2)


def test_mp3s_joined_with_their_tags_are_refused() -> None:
    content = written("MP3")
    with pytest.raises(MediaError, match="holds more sound"):
        read_audio(content + b"TAG" + bytes(125) + b"ID3\x04\0\0\0\0\0\0" + content)


def test_an_mp3_of_varying_rate_without_its_length_is_refused_when_half_is_left() -> None:
    quiet = NOISE.copy()
    quiet[44_100:] = 0
    file = io.BytesIO()
    soundfile.write(file, quiet, 44_100, format="MP3", bitrate_mode="VARIABLE")
    content = file.getvalue()
    second_frame = content.index(content[:2], content.index(b"Xing"))
    with pytest.raises(MediaError, match="holds more sound"):
        read_audio(content[second_frame:])


def test_a_tag_behind_an_mp3_is_no_damage() -> None:
    assert read_audio(written("MP3") + b"TAG" + bytes(125)).warnings == ()
