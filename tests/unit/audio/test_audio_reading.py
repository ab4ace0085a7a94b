from __future__ import annotations

import io
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import soundfile

from vllm_modalities.audio import reading
from vllm_modalities.audio.reading import Waveform, encode, read_audio
from vllm_modalities.errors import MediaError

RATE = 44_100


def tone(seconds: float = 1.0, rate: int = RATE) -> np.ndarray[Any, Any]:
    time = np.arange(int(seconds * rate)) / rate
    return (0.5 * np.sin(2 * np.pi * 440 * time)).astype(np.float32)


def written(samples: Any, rate: int = RATE, **options: str) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, **options)
    return file.getvalue()


FORMATS = [
    ("WAV", "PCM_16", RATE),
    ("WAV", "PCM_24", RATE),
    ("WAV", "FLOAT", RATE),
    ("WAV", "ULAW", RATE),
    ("FLAC", "PCM_16", RATE),
    ("OGG", "VORBIS", RATE),
    ("OGG", "OPUS", 48_000),
    ("MP3", "MPEG_LAYER_III", RATE),
    ("AIFF", "PCM_16", RATE),
    ("W64", "PCM_16", RATE),
    ("RF64", "PCM_16", RATE),
    ("AU", "PCM_16", RATE),
    ("CAF", "PCM_16", RATE),
]


@pytest.mark.parametrize(("container", "subtype", "rate"), FORMATS)
def test_each_format_gives_the_tone_at_16_khz(container: str, subtype: str, rate: int) -> None:
    sound = read_audio(written(tone(1.0, rate), rate, format=container, subtype=subtype))
    assert sound.rate == 16_000
    assert sound.samples.dtype == np.float32
    assert sound.duration == pytest.approx(1.0, abs=0.01)
    assert sound.warnings == ()
    spectrum = np.abs(np.fft.rfft(sound.samples))
    assert np.argmax(spectrum) / sound.duration == pytest.approx(440, abs=2)


def test_paths_bytes_and_open_files_give_the_same(tmp_path: pathlib.Path) -> None:
    content = written(tone(), format="WAV")
    path = tmp_path / "tone.wav"
    path.write_bytes(content)
    expected = read_audio(content).samples
    assert np.array_equal(read_audio(path).samples, expected)
    assert np.array_equal(read_audio(str(path)).samples, expected)
    with path.open("rb") as file:
        assert np.array_equal(read_audio(file).samples, expected)


def test_channels_are_averaged() -> None:
    left, right = np.full(100, 0.5, np.float32), np.full(100, -0.25, np.float32)
    sound = read_audio((np.stack([left, right], axis=1), 16_000))
    assert sound.samples == pytest.approx(np.full(100, 0.125))


@pytest.mark.parametrize("other", [-1.0, -0.8])
def test_channels_in_antiphase_do_not_cancel_each_other_out(other: float) -> None:
    sound = tone(20.0)
    found = read_audio((np.stack([sound, other * sound], axis=1), RATE))
    assert np.abs(found.samples).max() == pytest.approx(0.5, abs=0.01)
    (warning,) = found.warnings
    assert "cancel each other out" in warning


@pytest.mark.parametrize("channels", [2, 8, 64])
def test_channels_that_have_nothing_to_do_with_each_other_are_averaged(channels: int) -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, (16_000, channels)).astype(np.float32)
    found = read_audio((noise, 16_000))
    assert found.samples == pytest.approx(noise.mean(axis=1), abs=1e-6)
    assert found.warnings == ()


def test_blocks_do_not_change_the_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    content = written(tone(2.0), format="OGG", subtype="VORBIS")
    whole = read_audio(content).samples
    monkeypatch.setattr(reading, "BLOCK", 1000)
    assert np.array_equal(read_audio(content).samples, whole)


def test_integers_are_scaled_by_the_range_of_their_type() -> None:
    for kind in (np.int8, np.int16, np.int32, np.int64):
        extremes = np.array([np.iinfo(kind).min, 0], dtype=kind)
        assert read_audio((extremes, 16_000)).samples.tolist() == [-1.0, 0.0]


def test_double_precision_becomes_float32() -> None:
    sound = read_audio((np.array([0.25, -0.5]), 16_000))
    assert sound.samples.dtype == np.float32
    assert sound.samples.tolist() == [0.25, -0.5]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (np.zeros(9), "does not say its rate"),
        ((16_000, np.zeros(9)), "SciPy's order"),
        ((np.zeros(9), 16_000, 1), "a tuple of 3"),
        ((np.zeros((2, 3, 4)), 16_000), r"shape \(2, 3, 4\)"),
        ((np.zeros((2, 48_000)), 16_000), r"shape \(2, 48000\) .* \(n, channels\)"),
        ((np.zeros((5, 0)), 16_000), r"shape \(5, 0\)"),
        ((np.zeros(9, np.uint8), 16_000), "array of uint8"),
        ((np.zeros(9, np.bool_), 16_000), "array of bool"),
        ((np.zeros(9, np.complex64), 16_000), "array of complex64"),
        ((np.zeros(9), 0), "rate is 0"),
        ((np.zeros(9), -16_000), "rate is -16000"),
        ((np.zeros(9), 16_000.5), "rate is 16000.5"),
        ((np.zeros(9), 5), "1,000 to 655,350 Hz"),
        ((np.zeros(0), 16_000), r"no sound \(0 samples"),
        ((np.array([0, np.nan]), 16_000), "not a finite number"),
        ((np.array([0, 1e300]), 16_000), "not a finite number"),
        (None, "cannot read NoneType"),
    ],
)
def test_what_is_no_sound_is_refused_by_its_name(source: Any, said: str) -> None:
    with pytest.raises(MediaError, match=said):
        read_audio(source)


@pytest.mark.parametrize("rate", [0, -1, 999, 16_000.0, None])
def test_an_impossible_rate_is_refused(rate: Any) -> None:
    with pytest.raises(MediaError, match="the rate asked for"):
        read_audio((np.zeros(9), 16_000), rate=rate)


def test_numpy_integers_are_rates() -> None:
    sound = read_audio((np.zeros(80), np.int64(8_000)), rate=np.int32(16_000))  # type: ignore[arg-type]
    assert (type(sound.rate), len(sound.samples)) == (int, 160)


def test_the_time_of_a_sample_that_is_not_finite_is_told() -> None:
    samples = np.zeros(16_000, np.float32)
    samples[8_000] = np.inf
    with pytest.raises(MediaError, match=r"at 0\.50 s"):
        read_audio(written(samples, 16_000, format="WAV", subtype="FLOAT"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is an empty file, not audio"),
        (b"Dear Sir or Madam,", "is text beginning 'Dear Sir or Madam,', not audio"),
        (b"\x89PNG\r\n\x1a\n", "is a PNG image, not audio"),
        (b"%PDF-1.7", "is a PDF, not audio"),
        (b"PK\x03\x04", "is a ZIP archive, not audio"),
        (b"\0\0\0\x20ftypM4A \0", "is an M4A file, but cannot be decoded: Invalid data"),
        (b"\0\0\0\x20ftypisom\0", "is an MP4 file, but cannot be decoded"),
        (b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm", "is a WebM file"),
        (b"\0\x01\x02\x03" * 9, "is binary data beginning 0x00010203.*libsndfile says"),
        (b"RIFF\0\0\0\0WAVE", "is a WAV file, but cannot be decoded.*No 'data' chunk"),
    ],
)
def test_other_files_are_named(content: bytes, said: str) -> None:
    with pytest.raises(MediaError, match=said):
        read_audio(content)


def test_a_wav_without_samples_is_refused() -> None:
    with pytest.raises(MediaError, match=r"no sound \(0 samples at 44100 Hz\)"):
        read_audio(written(np.zeros(0), format="WAV"))


def test_a_sound_too_short_for_one_sample_is_refused() -> None:
    with pytest.raises(MediaError, match=r"no sound \(1 samples"):
        read_audio((np.ones(1), 44_100))


def test_a_raw_file_asks_for_an_array(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "take.raw"
    path.write_bytes(bytes(100))
    with pytest.raises(MediaError, match=r"without a header; give \(samples, rate\)"):
        read_audio(path)


def test_an_implausible_rate_in_a_header_is_refused() -> None:
    content = bytearray(written(tone(), format="WAV"))
    content[24:28] = (1).to_bytes(4, "little")
    with pytest.raises(MediaError, match=r"the rate of what was given .* is 1;"):
        read_audio(bytes(content))


def test_a_flac_written_to_a_pipe_is_refused_with_the_reason() -> None:
    content = bytearray(written(tone(), format="FLAC"))
    content[21] &= 0xF0  # the number of samples, 36 bits of STREAMINFO
    content[22:26] = bytes(4)
    with pytest.raises(MediaError, match="does not state its length"):
        read_audio(bytes(content))


@pytest.mark.parametrize("container", ["flac", "wav"])
def test_encoding_keeps_every_16_bit_sample(container: Any) -> None:
    pcm = np.arange(-32_768, 32_768, dtype=np.int16)
    content = encode(read_audio((pcm, 16_000)), container=container)
    back, rate = soundfile.read(io.BytesIO(content), dtype="int16")
    assert rate == 16_000
    assert np.array_equal(back, pcm)
    assert soundfile.info(io.BytesIO(content)).subtype == "PCM_16"


def test_samples_outside_are_clipped_and_counted() -> None:
    sound = Waveform(np.array([1.5, 1.0, 0.0, -1.0, -3.0], np.float32), 16_000)
    assert sound.clipped == 2
    back, _ = soundfile.read(io.BytesIO(encode(sound)), dtype="int16")
    assert back.tolist() == [32_767, 32_767, 0, -32_768, -32_768]


def test_a_waveform_shows_its_length_not_its_samples() -> None:
    assert repr(read_audio((np.zeros(24_000), 16_000))) == "Waveform(1.50 s at 16000 Hz)"


def test_importing_loads_no_codec() -> None:
    code = (
        "import sys, vllm_modalities.audio.reading, vllm_modalities.documents.reading;"
        "print([name for name in ('soundfile', 'soxr', 'PIL') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
