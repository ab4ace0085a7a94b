"""Sound that only FFmpeg reads, and what is said where it cannot be read."""

from __future__ import annotations

import io
import sys
from typing import Any

import av
import numpy as np
import pytest

from vllm_modalities.audio.reading import Sound, read_audio
from vllm_modalities.errors import MediaError

RATE = 44_100
TIME = np.arange(2 * RATE) / RATE
TONE = (0.5 * np.sin(2 * np.pi * 440 * TIME)).astype(np.float32)


def contained(
    kind: str = "mp4",
    codec: str = "aac",
    *,
    rate: int = RATE,
    layout: str = "stereo",
    form: str = "fltp",
    sound: np.ndarray = TONE,
    title: str = "",
) -> bytes:
    """`sound` in a container, as a file's bytes."""
    file = io.BytesIO()
    channels = {"mono": 1, "stereo": 2}[layout]
    samples: Any = np.stack([sound] * channels)
    if form in ("s16", "s32", "u8"):
        full = {"s16": 32_767, "s32": 2**31 - 128, "u8": 127}[form]
        kind_of = {"s16": np.int16, "s32": np.int32, "u8": np.uint8}[form]
        middle = 128 if form == "u8" else 0
        samples = (samples.T.reshape(1, -1) * full + middle).astype(kind_of)
    with av.open(file, "w", format=kind) as container:
        container.metadata["title"] = title
        track = container.add_stream(codec, rate=rate, layout=layout)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), form, layout)
        frame.sample_rate = rate
        resampler = av.AudioResampler(
            track.format, track.layout, track.rate, track.frame_size or 1024
        )
        for ready in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(track.encode(ready))
        container.mux(track.encode(None))
    return file.getvalue()


KINDS = [
    ("mp4", "aac", {}),
    ("ipod", "aac", {"layout": "mono"}),
    ("matroska", "ac3", {}),
    ("matroska", "pcm_s16le", {"form": "s16"}),
    ("matroska", "pcm_s32le", {"form": "s32"}),
    ("matroska", "pcm_u8", {"form": "u8"}),
    ("matroska", "pcm_f32le", {}),
    ("mov", "alac", {"form": "s16"}),
    ("adts", "aac", {}),
    ("avi", "mp3", {}),
    ("webm", "libopus", {"rate": 48_000}),
]


@pytest.mark.parametrize(("kind", "codec", "options"), KINDS)
def test_each_container_gives_the_tone_at_16_khz(kind, codec, options) -> None:
    rate = options.get("rate", RATE)
    time = np.arange(2 * rate) / rate
    sound = (0.5 * np.sin(2 * np.pi * 440 * time)).astype(np.float32)
    found = read_audio(contained(kind, codec, sound=sound, **options))
    assert found.rate == 16_000
    assert found.duration == pytest.approx(2.0, abs=0.1)
    spectrum = np.abs(np.fft.rfft(found.samples))
    assert np.argmax(spectrum) / found.duration == pytest.approx(440, abs=2)
    assert np.abs(found.samples[3000:-3000]).max() == pytest.approx(0.5, abs=0.1)
    assert found.warnings == ()


OPEN = av.open


def lenient(file: Any, mode: str, *, metadata_errors: str = "") -> Any:
    """`av.open` until PyAV 18: it reads what is no UTF-8 if it is told to."""
    assert metadata_errors == "ignore"
    return OPEN(file, mode)


def without_the_option(file: Any, mode: str) -> Any:
    """`av.open` from PyAV 19 on."""
    return OPEN(file, mode)


@pytest.mark.parametrize("opens", [OPEN, lenient, without_the_option])
def test_tags_in_any_encoding_are_no_obstacle(monkeypatch, opens) -> None:
    content = contained("matroska", "pcm_s16le", form="s16", title="Gesprach")
    if opens is OPEN:
        content = content.replace(b"Gesprach", b"Gespr\xe4ch")
        assert b"Gespr\xe4ch" in content
    monkeypatch.setattr(av, "open", opens)
    assert read_audio(content).duration == pytest.approx(2.0, abs=0.1)


def test_a_path_is_read_as_its_bytes_are(tmp_path) -> None:
    content = contained()
    (tmp_path / "a.m4a").write_bytes(content)
    assert np.array_equal(read_audio(tmp_path / "a.m4a").samples, read_audio(content).samples)


def test_its_length_is_known_before_it_is_read_where_the_file_tells_it() -> None:
    for content, told in (
        (contained(), True),
        (contained("matroska", "pcm_s16le", form="s16"), True),
    ):
        sound = Sound(content)
        next(iter(sound))
        assert (sound.length is not None) == told
        assert sound.length == pytest.approx(2.0, abs=0.1)
        sound.close()


def test_a_file_that_ends_too_early_is_told(monkeypatch) -> None:
    content = contained("matroska", "pcm_s16le", form="s16")
    (warning,) = read_audio(content[: len(content) // 2]).warnings
    assert "may be cut: it promises 2.0" in warning


@pytest.mark.parametrize("keep", [9, 0.2, 0.9])
def test_what_ffmpeg_cannot_read_is_named(keep) -> None:
    content = contained("mp4", "aac")
    with pytest.raises(MediaError, match=r"is an MP4 file, but cannot be decoded: \w"):
        read_audio(content[: keep if keep > 1 else int(keep * len(content))])


def test_a_file_that_breaks_in_its_middle_is_told_with_the_time() -> None:
    content = bytearray(contained("mp4", "alac", form="s16"))
    content[len(content) // 3 : len(content) // 3 + 9000] = bytes(9000)
    with pytest.raises(MediaError, match=r"cannot be decoded after \d\.\d\d s: "):
        read_audio(bytes(content))


def test_a_track_without_a_frame_holds_no_sound() -> None:
    empty = contained("matroska", "pcm_s16le", form="s16")[:600]
    with pytest.raises(MediaError, match=r"holds no sound|cannot be decoded"):
        read_audio(empty)


def test_a_film_without_sound_is_told() -> None:
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        track = container.add_stream("mpeg4", rate=5)
        track.width, track.height, track.pix_fmt = 16, 16, "yuv420p"
        picture = av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8), "rgb24")
        container.mux(track.encode(picture))
        container.mux(track.encode(None))
    with pytest.raises(MediaError, match="an MP4 file without a track of sound"):
        read_audio(file.getvalue())


def test_sound_beside_a_film_has_no_known_length_where_only_the_film_does() -> None:
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        film = container.add_stream("mpeg4", rate=5)
        film.width, film.height, film.pix_fmt = 16, 16, "yuv420p"
        track = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        picture = av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8), "rgb24")
        container.mux(film.encode(picture))
        frame = av.AudioFrame.from_ndarray(np.ones((1, 800), np.int16), "s16", "mono")
        frame.sample_rate = 8000
        container.mux(track.encode(frame))
        container.mux(film.encode(None))
    sound = Sound(file.getvalue())
    assert sum(map(len, sound)) == pytest.approx(1600, abs=2)
    assert (sound.length, sound.warnings) == (None, ())


def test_tracks_that_change_are_followed_or_refused() -> None:
    """ADTS carries rate and channels in each frame, so two files make one that changes."""
    stereo, mono = contained("adts", "aac"), contained("adts", "aac", layout="mono")
    assert read_audio(stereo + mono).duration == pytest.approx(4.0, abs=0.2)
    other = contained("adts", "aac", rate=48_000)
    with pytest.raises(MediaError, match=r"changes from 44100 to 48000 Hz after \d"):
        read_audio(stereo + other)


def test_long_tracks_come_in_blocks() -> None:
    sound = Sound(contained("matroska", "pcm_s16le", form="s16", sound=np.tile(TONE, 4)))
    sizes = [len(block) for block in sound]
    assert len(sizes) > 3
    assert sum(sizes) == pytest.approx(8 * 16_000, abs=50)


def test_without_pyav_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(
        ImportError, match=r"an MP4 file, which takes PyAV .*'vllm-modalities\[media"
    ):
        read_audio(b"\0\0\0\x20ftypisom\0")
