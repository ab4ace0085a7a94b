from __future__ import annotations

import io
import re
from itertools import pairwise

import numpy as np
import pysubs2
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
WORD = st.text("abcdefgh.,!?", min_size=1, max_size=50) | st.text(
    "語言学。、", min_size=1, max_size=40
)
SPOKEN = st.lists(st.lists(WORD, min_size=1, max_size=30).map(" ".join), max_size=6).map(
    lambda texts: [Segment(20.0 * i, 20.0 * i + 19, text) for i, text in enumerate(texts)]
)
"""Segments one after another, in scripts with blanks and without."""
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


@given(segments=SPOKEN)
def test_every_word_is_shown_once_and_in_order(segments: list[Segment]) -> None:
    """Segments that follow one another: where they overlap, they are shown in order of time."""
    made = cues(segments)
    words = "".join(words for cue in made for _, words in cue.lines)
    assert "".join(words.split()) == "".join("".join(s.text.split()) for s in segments)


@given(segments=SPOKEN)
def test_a_screen_has_two_lines_at_most_and_none_is_too_long(segments: list[Segment]) -> None:
    for cue in cues(segments):
        ((_, words),) = cue.lines
        lines = words.split("\n")
        assert 1 <= len(lines) <= 2
        assert all(0 < len(line) <= 42 for line in lines)
        if all("一" <= one <= "龥" for one in words.replace("\n", "")):
            assert all(len(line) <= 16 for line in lines)


@given(segments=SPOKEN)
def test_pysubs2_reads_what_is_written(segments: list[Segment]) -> None:
    transcript, made = Transcript("", tuple(segments)), cues(segments)
    for text, format_ in ((transcript.to_srt(), "srt"), (transcript.to_vtt(), "vtt")):
        read = pysubs2.SSAFile.from_string(text, format_=format_)
        assert [(event.start, event.end) for event in read] == [(c.start, c.end) for c in made]
        if format_ == "srt":
            assert [event.plaintext for event in read] == [c.lines[0][1] for c in made]


@given(segments=SEGMENTS)
def test_subtitles_have_as_many_times_as_cues(segments: list[Segment]) -> None:
    transcript = Transcript("", tuple(segments))
    count = len(cues(segments))
    srt, vtt = transcript.to_srt(), transcript.to_vtt()
    assert len(STAMP.findall(srt)) == srt.count("-->") == count
    assert len(STAMP.findall(vtt)) == vtt.count("-->") == count
    blocks = [block for block in srt.split("\n\n") if block]
    assert [block.split("\n")[0] for block in blocks] == [str(n) for n in range(1, count + 1)]
