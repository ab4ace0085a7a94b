"""Pieces cover the sound exactly; joining loses no word and repeats none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vllm_modalities.audio.joining import joined, snapped, stitched, with_tail
from vllm_modalities.audio.pieces import FRAME, OVERLAP, RATE, Stretch, halves, stretches
from vllm_modalities.audio.transcript import Segment

LONGEST = 5.0

# Parts of a recording: (seconds, decibels of its noise below full scale).
PARTS = st.lists(
    st.tuples(st.floats(0.001, 12), st.sampled_from([-100, -70, -50, -30, -10, 0])),
    min_size=1,
    max_size=8,
)


def recording(parts: list[tuple[float, float]], seed: int) -> np.ndarray:
    """Noise that is modulated like syllables, at these levels."""
    random = np.random.default_rng(seed)
    sounds = []
    for seconds, decibels in parts:
        count = max(1, int(seconds * RATE))
        noise = random.normal(0, 0.3, count) * 10 ** (decibels / 20)
        sounds.append(noise * (1 + np.sin(np.arange(count) / RATE * 25)) / 2)
    return np.concatenate(sounds).astype(np.float32)


def blocks_of(sound: np.ndarray, size: int) -> list[np.ndarray]:
    return [sound[start : start + size] for start in range(0, len(sound), size)]


@settings(max_examples=60, deadline=None)
@given(parts=PARTS, seed=st.integers(0, 9), size=st.sampled_from([997, 40_000, 262_144]))
@example(parts=[(4.0, -50), (4.0, -70), (1.0, -10)], seed=0, size=997)  # silent in an overlap
def test_pieces_and_silences_cover_the_sound_exactly(parts, seed, size) -> None:
    sound = recording(parts, seed)
    found = list(stretches(iter(blocks_of(sound, size)), longest=LONGEST))
    again = [stretch.samples[stretch.overlap :] for stretch in found]
    assert np.array_equal(np.concatenate(again), sound)
    place = 0
    for stretch in found:
        assert stretch.start + stretch.overlap == place
        assert np.array_equal(
            stretch.samples, sound[stretch.start : stretch.start + len(stretch.samples)]
        )
        place += len(stretch.samples) - stretch.overlap


@settings(max_examples=60, deadline=None)
@given(parts=PARTS, seed=st.integers(0, 9), size=st.sampled_from([997, 262_144]))
def test_no_piece_is_too_long_and_only_those_without_a_pause_overlap(parts, seed, size) -> None:
    sound = recording(parts, seed)
    found = list(stretches(iter(blocks_of(sound, size)), longest=LONGEST))
    for before, after in pairwise([*found, Stretch(0, sound[:1])]):
        assert len(before.samples) <= LONGEST * RATE or not before.voiced
        times = [0.0, *(time for voice in before.voices for time in voice)]
        assert times == sorted(times)
        assert times[-1] <= len(before.samples) / RATE
        assert (before.voiced > 0) == bool(before.voices)
        if before.goes_on:
            assert len(before.samples) == LONGEST * RATE
            assert after.overlap == OVERLAP * FRAME
        else:
            assert after.overlap == 0


@settings(max_examples=30, deadline=None)
@given(parts=PARTS, seed=st.integers(0, 9))
def test_how_the_sound_comes_does_not_change_the_pieces(parts, seed) -> None:
    sound = recording(parts, seed)
    one, other = (
        [
            (found.start, len(found.samples), found.overlap, found.voiced)
            for found in stretches(iter(blocks_of(sound, size)), longest=LONGEST)
        ]
        for size in (313, len(sound))
    )
    assert one == other


@settings(max_examples=40, deadline=None)
@given(parts=PARTS, seed=st.integers(0, 9))
def test_two_halves_are_the_whole(parts, seed) -> None:
    sound = recording([*parts, (1.0, -20)], seed)
    first, second = halves(sound)
    assert np.array_equal(np.concatenate([first, second]), sound)
    assert len(sound) / 5 < len(first) < len(sound) * 4 / 5


NUMBERS = st.integers(0, 30)


def spoken(words: list[str], parts: int, start: float, end: float) -> tuple[Segment, ...]:
    """Words in so many segments."""
    size = max(1, -(-len(words) // parts))
    texts = [" ".join(words[at : at + size]) for at in range(0, len(words), size)]
    step = (end - start) / max(len(texts), 1)
    return tuple(
        Segment(start + step * at, start + step * (at + 1), text) for at, text in enumerate(texts)
    )


def words_of(*segments: tuple[Segment, ...]) -> list[str]:
    return joined(one.text for some in segments for one in some).split()


@given(
    before=NUMBERS,
    shared=st.integers(2, 10),
    after=NUMBERS,
    parts=st.integers(1, 4),
    cut=st.sampled_from([[], ["frag"]]),
    begun=st.sampled_from([[], ["ment"]]),
)
def test_what_two_pieces_share_stands_once_and_nothing_is_lost(
    before, shared, after, parts, cut, begun
) -> None:
    words = [f"word{number}" for number in range(before + shared + after)]
    first = spoken(words[: before + shared] + cut, parts, 0, 29)
    second = spoken(begun + [one.title() for one in words[before:]], parts, 27, 56)
    one, other, is_sure = stitched(first, second)
    assert is_sure
    assert [word.lower() for word in words_of(one, other)] == words
    times = [time for segment in (*one, *other) for time in (segment.start, segment.end)]
    assert all(segment.start <= segment.end for segment in (*one, *other))
    assert times[-1] <= 56


@given(first=NUMBERS, second=NUMBERS, parts=st.integers(1, 3))
def test_where_nothing_is_shared_every_word_stays(first, second, parts) -> None:
    one = spoken([f"a{number}" for number in range(first)], parts, 0, 29)
    other = spoken([f"b{number}" for number in range(second)], parts, 27, 56)
    kept, rest, is_sure = stitched(one, other)
    assert (kept, rest) == (one, other)
    assert is_sure == (not first or not second)


@given(kept=st.integers(0, 20), lost=st.integers(0, 10), parts=st.integers(1, 3))
def test_the_words_that_only_the_text_has_come_back_behind_the_others(kept, lost, parts) -> None:
    words = [f"w{number}" for number in range(kept + lost)]
    segments = spoken(words[:kept], parts, 0, 10)
    found = with_tail(segments, " " + " ".join(words), 12.0)
    if not lost:
        assert found is None
        return
    assert found is not None
    assert words_of(found) == words
    assert found[: len(segments)] == segments
    assert (found[-1].start, found[-1].end) == (segments[-1].end if segments else 0.0, 12.0)


VOICES = st.lists(st.floats(0.3, 5), max_size=12).map(
    lambda gaps: tuple(
        zip(np.cumsum(gaps)[::2].tolist(), np.cumsum(gaps)[1::2].tolist(), strict=False)
    )
)
TIMES = st.lists(st.floats(0, 30), max_size=10).map(sorted)


@given(voices=VOICES, times=TIMES)
def test_times_that_are_snapped_stay_in_order_and_lie_where_sound_is(voices, times) -> None:
    segments = [Segment(a, b, "x") for a, b in zip(times[::2], times[1::2], strict=False)]
    found = snapped(segments, voices)
    assert all(one.start <= one.end for one in found)
    starts = [one.start for one in found]
    assert starts == sorted(starts)
    for before, after in zip(segments, found, strict=True):
        moved = after.start != before.start
        assert not moved or after.start in [begin for begin, _ in voices]
        ahead = any(begin > after.start for begin, _ in voices)
        assert not ahead or any(begin <= after.start < end for begin, end in voices)


@given(texts=st.lists(st.text(max_size=6), max_size=6))
def test_joining_keeps_every_character_that_is_no_blank(texts) -> None:
    assert "".join(joined(texts).split()) == "".join("".join(texts).split())
