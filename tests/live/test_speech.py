"""The words that are spoken are the words that come back, whatever the file."""

from __future__ import annotations

import asyncio
import io
import json
import re
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile
import soxr
from _both import ask

from vllm_modalities import AsyncClient, BadRequestError, Client, InvalidRequestError, MediaError
from vllm_modalities._rig import Rig

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
CLIPS = json.loads((ASSETS / "speech.json").read_text("utf-8"))
ENGLISH = "speech-en-us.flac"

pytestmark = pytest.mark.servers("whisper-base", "whisper-tiny-en")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def as_file(name: str, kind: str, *, rate: int, channels: int) -> bytes:
    """A clip at another rate and as many equal channels, as a file of that kind."""
    samples, native = soundfile.read(ASSETS / name, dtype="float32")
    samples = soxr.resample(samples, native, rate)
    file = io.BytesIO()
    soundfile.write(file, np.stack([samples] * channels, axis=1), rate, format=kind)
    return file.getvalue()


@pytest.mark.parametrize("name", CLIPS)
def test_the_words_of_each_voice_are_written_down(servers: Rig, name: str) -> None:
    clip = CLIPS[name]
    transcript = ask(
        servers["whisper-base"].base_url, "transcribe", ASSETS / name, language=clip["language"]
    )
    assert words(transcript.text) == words(clip["text"])
    assert transcript.duration == pytest.approx(soundfile.info(ASSETS / name).duration, abs=0.01)
    assert transcript.language == clip["language"]


def test_a_language_that_is_not_given_is_found_out(servers: Rig) -> None:
    transcript = ask(servers["whisper-base"].base_url, "transcribe", str(ASSETS / ENGLISH))
    assert words(transcript.text) == words(CLIPS[ENGLISH]["text"])


def test_an_english_model_hears_english(servers: Rig) -> None:
    transcript = ask(
        servers["whisper-tiny-en"].base_url, "transcribe", ASSETS / ENGLISH, language="en"
    )
    assert len(set(words(transcript.text)) & set(words(CLIPS[ENGLISH]["text"]))) >= 6


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG", "MP3"])
def test_44_khz_stereo_files_give_the_same_words(servers: Rig, kind: str) -> None:
    content = as_file(ENGLISH, kind, rate=44_100, channels=2)
    transcript = ask(servers["whisper-base"].base_url, "transcribe", content, language="en")
    assert words(transcript.text) == words(CLIPS[ENGLISH]["text"])


def test_samples_and_file_objects_are_heard_too(servers: Rig) -> None:
    samples = soundfile.read(ASSETS / ENGLISH, dtype="int16")
    for source in (samples, io.BytesIO((ASSETS / ENGLISH).read_bytes())):
        with Client(servers["whisper-base"].base_url) as client:
            heard = client.transcribe(source, language="en")
        assert words(heard.text) == words(CLIPS[ENGLISH]["text"])


def test_german_is_translated_into_english(servers: Rig) -> None:
    translation = ask(
        servers["whisper-base"].base_url, "translate", ASSETS / "speech-de.flac", language="de"
    )
    assert {"train", "berlin"} <= set(words(translation.text))
    assert not {"zug", "fahren", "nach"} & set(words(translation.text))
    assert translation.language == "en"


def test_subtitles_span_the_recording(servers: Rig) -> None:
    transcript = ask(
        servers["whisper-base"].base_url, "transcribe", ASSETS / ENGLISH, language="en"
    )
    times = re.findall(r"00:00:(\d\d),(\d{3})", transcript.to_srt())
    begin, end = (int(seconds) + int(thousandths) / 1000 for seconds, thousandths in times)
    assert begin == 0.0
    assert transcript.duration - 0.5 < end <= transcript.duration  # silence at its end is left out


@pytest.mark.parametrize("language", ["", "xx1", "klingon"])
def test_the_server_refuses_the_languages_that_we_refuse(servers: Rig, language: str) -> None:
    with Client(servers["whisper-base"].base_url) as client:
        with pytest.raises(InvalidRequestError, match="language"):
            client.transcribe(ASSETS / ENGLISH, language=language)
        if language:  # an empty part is left out of the form
            unchecked, fields = client.with_options(validation="off"), {"language": language}
            with pytest.raises(BadRequestError, match="language"):
                unchecked.transcribe(ASSETS / ENGLISH, extra_body=fields)


@pytest.mark.parametrize("language", ["EN", "english"])
def test_a_language_by_its_name_is_sent_as_its_code(servers: Rig, language: str) -> None:
    with Client(servers["whisper-base"].base_url) as client:
        assert client.transcribe(ASSETS / ENGLISH, language=language).language == "en"


def test_a_clip_longer_than_the_server_takes_is_refused_as_the_server_does(servers: Rig) -> None:
    silence = (np.zeros(601 * 1000, np.float32), 1000)
    with Client(servers["whisper-base"].base_url) as client:
        with pytest.raises(InvalidRequestError, match="600 s"):
            client.transcribe(silence, language="en", chunking="server")
        with pytest.raises(BadRequestError, match="600"):
            client.with_options(validation="off").transcribe(
                silence, language="en", chunking="server"
            )


def test_arguments_for_a_logits_processor_reach_the_server_as_json(servers: Rig) -> None:
    def heard(arguments: Any) -> str:
        with Client(servers["whisper-base"].base_url) as client:
            extra = {"vllm_xargs": arguments}
            return client.transcribe(ASSETS / ENGLISH, language="en", extra_body=extra).text

    assert words(heard({"a": 1, "b": [1, 2], "c": "d"})) == words(CLIPS[ENGLISH]["text"])
    for wrong in ({"a": None}, {"a": {"b": 1}}, [1], "a"):
        with pytest.raises(InvalidRequestError, match="vllm_xargs"):
            heard(wrong)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("no-such-file.wav", "no-such-file.wav"),
        (b"", "empty"),
        (b"The quick brown fox.", "text"),
        (ASSETS / "invoice.png", "PNG"),
        ((np.zeros(0, np.float32), 16_000), "no samples|0 samples|empty"),
    ],
)
def test_what_holds_no_sound_is_named_and_not_sent(servers: Rig, source: Any, found: str) -> None:
    with Client(servers["whisper-base"].base_url) as client, pytest.raises(MediaError, match=found):
        client.transcribe(source)


def test_a_stream_says_what_the_whole_answer_says(servers: Rig) -> None:
    url = servers["whisper-base"].base_url
    with Client(url) as client:
        whole = client.transcribe(ASSETS / ENGLISH, language="en", chunking="server")
        stream = client.stream_transcription(ASSETS / ENGLISH, language="en", chunking="server")
        pieces = list(stream)
    assert len(pieces) > 1
    assert "".join(pieces) == stream.result.text == whole.text

    async def awaited() -> list[str]:
        async with AsyncClient(url) as client:
            return [text async for text in client.stream_transcription(ASSETS / ENGLISH)]

    assert words("".join(asyncio.run(awaited()))) == words(whole.text)


def test_each_chunk_of_a_long_stream_is_told_to_its_end(servers: Rig) -> None:
    clip, rate = soundfile.read(ASSETS / ENGLISH, dtype="float32")
    twice = np.concatenate([clip, np.zeros(30 * rate, np.float32), clip])
    with Client(servers["whisper-base"].base_url) as client:
        stream = client.stream_transcription((twice, rate), language="en", chunking="server")
        text = "".join(stream)
    assert words(text).count("museum") == 2
    assert not any("cut" in warning for warning in stream.result.warnings)


def test_what_a_stream_is_left_in_the_middle_of_ends_on_the_server(servers: Rig) -> None:
    """Seven chunks take a CPU longer than this waits."""
    url = servers["whisper-base"].base_url
    clip, rate = soundfile.read(ASSETS / ENGLISH, dtype="float32")
    with Client(url) as client:
        long = (np.tile(clip, 60), rate)
        with client.stream_transcription(long, language="en", chunking="server") as stream:
            assert next(stream)
        for _ in range(100):
            metrics = httpx.get(f"{url}/metrics", trust_env=False).text
            if re.search(r"^vllm:num_requests_running\S* 0\.0$", metrics, re.MULTILINE):
                break
            time.sleep(0.1)
        else:
            pytest.fail("the server goes on")
