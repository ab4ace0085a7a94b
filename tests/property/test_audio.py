from __future__ import annotations

import io
import re
from itertools import pairwise

import numpy as np
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vllm_modalities._sniff import sniff
from vllm_modalities.audio.reading import Waveform, encode, read_audio
from vllm_modalities.audio.subtitles import cues
from vllm_modalities.audio.transcript import Segment, Transcript
from vllm_modalities.errors import MediaError

PCM = arrays(np.int16, st.integers(1, 500))
TIMES = st.floats(-10, 1e6, allow_nan=False)
SEGMENTS = st.lists(
    st.builds(Segment, TIMES, TIMES, st.text(max_size=20), st.none() | st.text(max_size=9))
)
STAMP = re.compile(r"(\d+):(\d\d):(\d\d)[,.](\d{3}) --> (\d+):(\d\d):(\d\d)[,.](\d{3})")


@given(pcm=PCM)
def test_16_bit_samples_survive_decoding_and_encoding(pcm: np.ndarray) -> None:
    sound = read_audio((pcm, 16_000))
    back, _ = soundfile.read(io.BytesIO(encode(sound)), dtype="int16")
    assert np.array_equal(back, pcm)
    assert sound.clipped == 0


@given(samples=arrays(np.float32, st.integers(1, 200), elements=st.floats(-3, 3, width=32)))
def test_encoded_samples_are_never_further_than_half_a_step_or_clipped(samples: np.ndarray) -> None:
    sound = Waveform(samples, 16_000)
    back, _ = soundfile.read(io.BytesIO(encode(sound)), dtype="int16")
    wanted = np.clip(samples.astype(np.float64) * 32_768, -32_768, 32_767)
    assert np.abs(back - wanted).max() <= 0.5
    assert sound.clipped == int((np.abs(samples) > 1).sum())


@given(
    frames=st.integers(1, 5_000),
    native=st.sampled_from([8_000, 11_025, 22_050, 44_100, 48_000, 96_000]),
    rate=st.sampled_from([8_000, 16_000, 24_000]),
)
def test_resampling_keeps_the_duration(frames: int, native: int, rate: int) -> None:
    try:
        sound = read_audio((np.zeros(frames, np.float32), native), rate=rate)
    except MediaError:
        assert frames * rate / native < 1.5
    else:
        assert abs(len(sound.samples) - frames * rate / native) <= 1


@given(head=st.binary(max_size=200))
def test_any_bytes_have_a_name(head: bytes) -> None:
    assert sniff(head).name


@given(
    content=st.binary(max_size=400), magic=st.sampled_from([b"", b"RIFF\0\0\0\0WAVEfmt ", b"OggS"])
)
def test_bytes_that_are_no_sound_are_refused_as_such(content: bytes, magic: bytes) -> None:
    try:
        sound = read_audio(magic + content)
    except MediaError:
        return
    assert np.isfinite(sound.samples).all()


@given(segments=SEGMENTS)
def test_cues_are_in_order_and_never_overlap(segments: list[Segment]) -> None:
    made = cues(segments)
    assert all(0 <= cue.start < cue.end for cue in made)
    assert all(first.end <= second.start for first, second in pairwise(made))
    spoken = [" ".join(segment.text.split()) for segment in segments if segment.text.strip()]
    assert sorted(words for cue in made for _, words in cue.lines) == sorted(spoken)


@given(segments=SEGMENTS)
def test_subtitles_have_as_many_times_as_cues(segments: list[Segment]) -> None:
    transcript = Transcript("", tuple(segments))
    count = len(cues(segments))
    srt, vtt = transcript.to_srt(), transcript.to_vtt()
    assert len(STAMP.findall(srt)) == srt.count("-->") == count
    assert len(STAMP.findall(vtt)) == vtt.count("-->") == count
    blocks = [block for block in srt.split("\n\n") if block]
    assert [block.split("\n")[0] for block in blocks] == [str(n) for n in range(1, count + 1)]
