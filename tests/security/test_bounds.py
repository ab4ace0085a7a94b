"""Small inputs cost little, whoever made them: no bomb, no claim of size that is believed."""

import io
import os
import struct
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import numpy as np
import pydantic
import pytest
import soundfile
from _script import BLOCKING, FakeVLLM, Play, Talker, body, refusal
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFont, TiffImagePlugin

from vllm_modalities import (
    Block,
    Client,
    Document,
    InvalidRequestError,
    MediaError,
    Page,
    ResponseError,
    Segment,
    Transcript,
    VLLMModalitiesError,
)
from vllm_modalities._results import AnswerModel
from vllm_modalities._rig import RigError
from vllm_modalities._rig.cache import built_once, keep_private
from vllm_modalities.audio import reading as sounds
from vllm_modalities.documents import pixels
from vllm_modalities.documents import reading as images
from vllm_modalities.endpoints.embed import embed

# What a server answers ----------------------------------------------------------------------------


class Part(AnswerModel):
    numbers: list[float | None] | str


class Answer(AnswerModel):
    parts: list[Part] | None = None
    pairs: tuple[Part, ...] | None = None
    names: dict[str, list[int]] | None = None


@pytest.mark.parametrize("field", ["parts", "pairs"])
def test_a_list_in_an_answer_is_read_up_to_its_first_fault(field: str) -> None:
    """A million faults, in 3 MB, took 18 s and 1.1 GB."""
    faults = [{"numbers": ["x"] * 1_000}] * 1_000
    with pytest.raises(pydantic.ValidationError) as caught:
        Answer.model_validate({field: faults})
    assert caught.value.error_count() == 2  # one for each of what `numbers` may be
    with pytest.raises(pydantic.ValidationError) as caught:
        Answer.model_validate({"names": {"a": ["x"] * 1_000}})
    assert caught.value.error_count() == 1


def test_an_answer_with_many_faults_is_refused_in_few_words() -> None:
    server = FakeVLLM()
    rows = [{"index": 0, "embedding": ["x"] * 10_000}] * 3
    server.always("/v1/embeddings", body({"data": rows}))
    with pytest.raises(ResponseError) as caught:
        Play(server, max_retries=0).call(embed, ["a", "b", "c"])
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("transport", ["base64", "float"])
def test_numbers_too_large_for_float32_are_not_finite_without_another_warning(transport) -> None:
    server = FakeVLLM()
    row = [1e39, 1.0] if transport == "float" else "//9/f///f38="  # the largest float32, twice
    server.always("/v1/embeddings", body({"data": [{"index": 0, "embedding": row}]}))
    play = Play(server, version=None, transport=transport)
    if transport == "base64":
        assert play.call(embed, "a").vectors.shape == (1, 2)
        return
    with pytest.raises(ResponseError, match="not finite"):
        play.call(embed, "a")


@pytest.mark.parametrize("sizes", [" , ", "1 2", ",", "1,,2", "9" * 20, "1, " + "9" * 20, ""])
@pytest.mark.parametrize("words", ["dimensions in range [1, {}]", "only supports [{}]"])
def test_sizes_that_make_no_sense_are_not_believed(words: str, sizes: str) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", lambda _: refusal(words.format(sizes)))
    with pytest.raises(VLLMModalitiesError):
        Play(server).call(embed, ["a", "b"], dimensions=2)


@given(ahead=st.integers(440, 520))
def test_no_part_of_a_secret_is_left_where_a_text_is_cut(ahead: int) -> None:
    key = "sk-0123456789abcdef"
    server = FakeVLLM()
    client = Talker(BLOCKING, server, api_key=key)
    for code in (400, 200):
        server.always("/v1/embeddings", body({"error": {"message": "-" * ahead + key}}, code))
        with pytest.raises(VLLMModalitiesError) as caught:
            client.embed("a")
        assert "sk" not in str(caught.value)


# What a caller's own users hand in ----------------------------------------------------------------


def many_pages(count: int) -> bytes:
    """A TIFF of one pixel a page."""
    tags = [(256, 3, 1), (257, 3, 1), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8)]
    tags += [(277, 3, 1), (278, 3, 1), (279, 4, 1)]
    made = bytearray(b"II*\0" + struct.pack("<I", 12) + b"\xff\0\0\0")
    for place in range(count):
        end = len(made) + 2 + 12 * len(tags) + 4
        made += struct.pack("<H", len(tags))
        made += b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
        made += struct.pack("<I", end if place < count - 1 else 0)
    return bytes(made)


def test_the_pages_of_a_file_are_not_counted(monkeypatch) -> None:
    """To count 20,000 of them, in 2 MB, took 8 s; four times as many, sixteen times that."""
    seeks: list[int] = []
    seek = TiffImagePlugin.TiffImageFile._seek
    monkeypatch.setattr(
        TiffImagePlugin.TiffImageFile,
        "_seek",
        lambda self, frame: seeks.append(frame) or seek(self, frame),
    )
    assert "more images" in images.read_image(many_pages(50)).warnings[0]
    assert max(seeks) <= 1


@pytest.mark.parametrize("mode", ["I;16", "I", "F"])
def test_greys_are_the_same_however_few_are_scaled_at_a_time(monkeypatch, mode: str) -> None:
    """As doubles, the largest page took 3.5 GB; its file was 330 kB."""
    picture = Image.radial_gradient("L").resize((13, 29)).convert("I")
    picture = picture.point(lambda grey: grey * 257).convert(mode)
    whole = images.read_image(picture).image.tobytes()
    monkeypatch.setattr(pixels, "BAND", 7)
    assert images.read_image(picture).image.tobytes() == whole


def test_letters_do_not_grow_with_a_strip(monkeypatch) -> None:
    sizes: list[float] = []
    load = ImageFont.load_default
    monkeypatch.setattr(ImageFont, "load_default", lambda size: sizes.append(size) or load(10))
    block = Block("text", "", ((0, 0, 1, 1),), 0)
    page = Page(1, 1, 10**6, "", "", (block,), picture=Image.new("RGB", (1, 10**6)))
    assert Document((page,)).overlay().size == (1, 10**6)
    assert max(sizes) <= 400


def flac(seconds: float, rate: int = 16_000, channels: int = 1) -> bytes:
    file = io.BytesIO()
    silence = np.zeros((round(seconds * rate), channels), np.int16)
    soundfile.write(file, silence, rate, format="FLAC")
    return file.getvalue()


def test_sound_that_goes_on_for_too_long_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(sounds, "LONGEST", 3_600)
    monkeypatch.setattr(sounds, "BLOCK", 8_000)
    assert sounds.read_audio(flac(3)).duration == 3
    monkeypatch.setattr(sounds, "LONGEST", 2)
    with pytest.raises(MediaError, match="goes on after"):
        sounds.read_audio(flac(3))


def test_channels_count_where_sound_is_long(monkeypatch) -> None:
    monkeypatch.setattr(sounds, "MOST", 100_000)
    assert sounds.read_audio(flac(3)).duration == 3
    with pytest.raises(MediaError, match="goes on"):
        sounds.read_audio(flac(3, channels=8))


def test_a_file_of_a_thousand_channels_is_no_sound() -> None:
    """Each block of it would be a gigabyte."""
    file = io.BytesIO()
    soundfile.write(file, np.zeros((10, 65), np.int16), 16_000, format="WAV")
    with pytest.raises(MediaError, match="65 channels"):
        sounds.read_audio(file.getvalue())


@pytest.mark.parametrize("sample", [3e38, -3e38, np.inf, np.nan])
def test_a_sample_of_no_sound_is_refused_in_our_words(sample: float) -> None:
    file = io.BytesIO()
    samples = np.array([[0, 0], [sample, sample]], np.float32)
    soundfile.write(file, samples, 8_000, format="WAV", subtype="FLOAT")
    with pytest.raises(MediaError, match="not a finite number"):
        sounds.read_audio(file.getvalue())


ARROWS = st.text("-> \n<&ä", max_size=9)


@given(text=ARROWS, speaker=st.none() | ARROWS)
def test_no_words_are_taken_for_the_times_of_a_subtitle(text: str, speaker: str | None) -> None:
    heard = Transcript("", (Segment(0, 1, text, speaker), Segment(1, 2, "b")))
    times = 2 if text.strip() else 1
    assert heard.to_srt().count("-->") == heard.to_vtt().count("-->") == times


# What a caller writes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "http://" + "a" * 64,
        "http://a." + "b" * 64 + ".c",
        "http://.a",
        "http://a..b",
        "http://user:PASS\udc80WORD@host",
        "http://host/?key=PASSWORD",
        "http://host/#PASSWORD",
    ],
)
def test_an_address_that_no_request_could_use_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Client(address)
    assert "PASS" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("address", ["http://a.b.", "http://[::1]", "http://b-1.x_y", "http://a~b"])
def test_other_names_of_servers_are_taken(address: str) -> None:
    assert Client(address)._fleet.replicas[0].url == address


def test_the_cache_is_made_for_this_user_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("VLLM_MODALITIES_CACHE", str(tmp_path / "cache"))
    before = os.umask(0)
    try:
        built_once(tmp_path / "cache" / "x", lambda _: None, recipe="r", report=print)
    finally:
        os.umask(before)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_nothing_is_run_from_a_cache_that_others_can_write(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("VLLM_MODALITIES_CACHE", str(tmp_path))
    built_once(tmp_path / "x", lambda _: None, recipe="r", report=print)
    tmp_path.chmod(0o777)
    with pytest.raises(RigError, match="other users can write"):
        built_once(tmp_path / "x", lambda _: None, recipe="r", report=print)


@pytest.mark.parametrize(("owner", "kept"), [(0, True), (1_000, True), (1_001, False)])
def test_a_cache_of_another_user_but_root_is_not_used(monkeypatch, owner: int, kept: bool) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1_000)
    folder = mock.Mock(**{"stat.return_value": mock.Mock(st_uid=owner, st_mode=0o40755)})
    with nullcontext() if kept else pytest.raises(RigError, match="other users"):
        keep_private(folder)
