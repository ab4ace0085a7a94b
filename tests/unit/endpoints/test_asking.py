"""Models that hear in their own ways: their marks, their prompts, and those asked in a chat."""

import base64
import io

import numpy as np
import pytest
import soundfile
from _script import ROUTES, FakeVLLM, body, status

from vllm_modalities import (
    InvalidRequestError,
    ModelUsageWarning,
    ResponseError,
    UnsupportedTaskError,
)

TONE = (0.5 * np.sin(np.arange(4_000)) * 32_767).astype(np.int16)
SOUND = (TONE, 16_000)  # a quarter of a second
TRANSCRIPTIONS, CHAT = "/v1/audio/transcriptions", "/v1/chat/completions"
MOSS = "OpenMOSS-Team/MOSS-Transcribe-Diarize"
COUNTED = (*ROUTES["speech"], *ROUTES["tokens"])


def speech(model: str, says: str = " A word.", **told) -> FakeVLLM:
    return FakeVLLM("speech", model=model, says=says, **told)


def chatting(model: str = "google/gemma-4-E4B-it", says: str = "A word.", **told) -> FakeVLLM:
    return FakeVLLM("chat", model=model, says=says, **told)


def test_the_tag_of_qwen3_asr_is_no_word(talk) -> None:
    server = speech("Qwen/Qwen3-ASR-1.7B", "language English<asr_text>A word.")
    assert talk(server).transcribe(SOUND, language="en").text == "A word."


@pytest.mark.parametrize("diarize", [False, True])
def test_what_moss_writes_is_read_as_times_and_speakers(talk, diarize: bool) -> None:
    server = speech(MOSS, "[0.01][S01] One. [0.1][0.12][S02] Two.")
    heard = talk(server).transcribe(SOUND, diarize=diarize)
    assert heard.text == "One. Two."
    assert [(s.start, s.end, s.speaker) for s in heard.segments] == [
        (0.01, 0.1, "S01"),
        (0.12, 0.25, "S02"),
    ]
    assert any("1 of 2 segments" in warning for warning in heard.warnings)
    assert server.posts[0].fields["response_format"] == ["json"]


def test_a_model_that_is_not_known_is_asked_for_its_server_s_own_speakers(talk) -> None:
    server = speech("listener")
    segments = [{"id": "seg_0", "start": 0, "end": 0.2, "text": " One.", "speaker": "A"}]
    server.always(TRANSCRIPTIONS, body({"text": " One.", "segments": segments}))
    heard = talk(server).transcribe(SOUND, diarize=True)
    assert server.posts[0].fields["response_format"] == ["diarized_json"]
    assert heard.text == "One."
    (segment,) = heard.segments
    assert (segment.start, segment.end, segment.text, segment.speaker) == (0, 0.2, "One.", "A")


def test_telling_speakers_apart_is_refused_where_it_cannot_be(talk) -> None:
    for server in (speech("whisper-base"), speech("listener", version="0.26.0")):
        with pytest.raises(InvalidRequestError, match="speakers"):
            talk(server).transcribe(SOUND, language="en", diarize=True)
        assert server.posts == []


def test_a_prompt_in_place_of_the_model_s_instruction_is_refused(talk) -> None:
    server = speech(MOSS)
    with pytest.raises(InvalidRequestError, match="instead of its own instruction"):
        talk(server).transcribe(SOUND, prompt="Names: Zoë")
    assert server.posts == []


@pytest.mark.parametrize(
    ("model", "given", "told"),
    [
        ("mistralai/Voxtral-Mini-3B-2507", {"prompt": "p"}, "reads no prompt"),
        ("mistralai/Voxtral-Mini-3B-2507", {"hotwords": "h"}, "Leave them out"),
        ("Qwen/Qwen3-ASR-1.7B", {"hotwords": ["h", "i"]}, "Put them into `prompt`"),
        ("Qwen/Qwen3-ASR-1.7B", {"prompt": "p"}, None),
        ("FunAudioLLM/Fun-ASR-Nano-2512", {"hotwords": ["h", "i"]}, None),
        ("listener", {"hotwords": "h", "prompt": "p"}, None),
    ],
)
def test_what_a_model_does_not_read_is_told_and_sent(talk, model, given, told) -> None:
    server = speech(model)
    heard = talk(server).transcribe(SOUND, language="en", **given)
    assert any(told in warning for warning in heard.warnings) if told else heard.warnings == ()
    for name, value in given.items():
        assert server.posts[0].fields[name] == [value if name == "prompt" else ",".join(value)]


LONG = [f"word{n}" for n in range(300)]


@pytest.mark.filterwarnings("ignore::vllm_modalities.ServerDefectWarning")
def test_of_a_prompt_that_is_too_long_the_end_is_kept_and_it_is_told(talk) -> None:
    server = speech("whisper-base", routes=COUNTED)
    heard = talk(server).transcribe(SOUND, language="en", prompt=" ".join(LONG))
    (post,) = server.asked(TRANSCRIPTIONS)
    assert post.fields["prompt"] == [" ".join(LONG[-224:])]
    assert any("the last" in warning for warning in heard.warnings)


@pytest.mark.filterwarnings("ignore::vllm_modalities.ServerDefectWarning")
@pytest.mark.parametrize("words", [LONG[:224], ["a"]])
def test_a_prompt_that_fits_is_sent_as_it_is(talk, words) -> None:
    server = speech("whisper-base", routes=COUNTED)
    heard = talk(server).transcribe(SOUND, language="en", prompt=" ".join(words))
    (post,) = server.asked(TRANSCRIPTIONS)
    assert post.fields["prompt"] == [" ".join(words)]
    assert not any("the last" in warning for warning in heard.warnings)


@pytest.mark.filterwarnings("ignore::vllm_modalities.ServerDefectWarning")
def test_where_nothing_counts_tokens_so_many_bytes_are_kept(talk) -> None:
    server = speech("whisper-base")
    talk(server).transcribe(SOUND, language="en", prompt="é" + "x" * 223)
    assert server.posts[0].fields["prompt"] == ["x" * 223]


@pytest.mark.parametrize("model", ["whisper-large-v3-turbo", "distil-large-v3", "voxtral-mini"])
def test_a_model_that_was_not_made_to_translate_is_told_and_asked(talk, model) -> None:
    server = speech(model)
    with pytest.warns(ModelUsageWarning, match="does not translate"):
        heard = talk(server).translate(SOUND, language="en")
    assert any("does not translate" in warning for warning in heard.warnings)


def said_to(server: FakeVLLM) -> str:
    """The words of the only chat; its sound is checked."""
    (post,) = server.posts
    assert post.path == CHAT
    ((message),) = post.body["messages"]
    sound, words = message["content"]
    assert sound["input_audio"]["format"] == "flac"
    content = base64.b64decode(sound["input_audio"]["data"])
    samples, rate = soundfile.read(io.BytesIO(content), dtype="int16")
    assert rate == 16_000
    assert samples.tolist() == TONE.tolist()
    return words["text"]


@pytest.mark.parametrize(
    ("method", "given", "words"),
    [
        ("transcribe", {}, "Transcribe this audio. Write the words alone."),
        (
            "transcribe",
            {"language": "de", "prompt": "Names: Zoë"},
            "Transcribe this audio, which is in the language 'de'. Write the words alone."
            " Names: Zoë",
        ),
        ("translate", {}, "Translate this audio into the language 'en'. Write the words alone."),
        (
            "translate",
            {"language": "de", "to_language": "fr"},
            "Translate this audio into the language 'fr', which is in the language 'de'. Write the"
            " words alone.",
        ),
    ],
)
def test_a_model_without_a_route_for_speech_is_asked_in_a_chat(talk, method, given, words) -> None:
    server = chatting()
    heard = getattr(talk(server), method)(SOUND, **given)
    assert said_to(server) == words
    assert server.posts[0].body["temperature"] == 0
    assert (heard.text, len(heard.segments), heard.duration) == ("A word.", 1, 0.25)
    assert heard.warnings == ()


def test_what_is_asked_of_the_model_s_sampling_is_asked_in_a_chat_too(talk) -> None:
    server = chatting()
    talk(server).transcribe(SOUND, temperature=0.4, extra_body={"seed": 3})
    assert server.posts[0].body["temperature"] == 0.4
    assert server.posts[0].body["seed"] == 3
    heard = talk(server).transcribe(SOUND, extra_body={"use_beam_search": True})
    assert server.posts[1].body["use_beam_search"] is True
    assert any("passed on unchecked" in warning for warning in heard.warnings)


def test_a_chat_that_the_model_did_not_end_is_told(talk) -> None:
    server = chatting()
    choice = {"message": {"content": "A wo"}, "finish_reason": "length"}
    server.always(CHAT, body({"choices": [choice]}))
    heard = talk(server).transcribe(SOUND)
    assert heard.text == "A wo"
    assert any("'length'" in warning for warning in heard.warnings)


def test_a_chat_without_an_answer_is_an_error(talk) -> None:
    server = chatting()
    server.always(CHAT, body({"choices": []}))
    with pytest.raises(ResponseError, match="choices"):
        talk(server).transcribe(SOUND)


def test_a_mapped_server_s_model_is_asked_as_its_profile_says(talk) -> None:
    server = chatting(says="A word.")
    with_map = talk(server, base_url={"transcribe": "http://server"})
    assert with_map.transcribe(SOUND).text == "A word."
    assert with_map.translate(SOUND).text == "A word."


def test_a_chat_model_that_is_not_known_to_hear_is_not_asked(talk) -> None:
    server = chatting(model="Qwen/Qwen3-0.6B")
    with pytest.raises(UnsupportedTaskError, match="transcribe"):
        talk(server).transcribe(SOUND)
    assert server.posts == []


def test_more_sound_than_a_server_decodes_is_refused_in_a_chat_too(talk) -> None:
    server = chatting()
    with pytest.raises(InvalidRequestError, match="at most 600 s"):
        talk(server).transcribe((np.zeros(601 * 8_000, np.int16), 8_000), chunking="server")
    assert server.posts == []


def test_a_server_s_refusal_in_a_chat_is_its_own(talk) -> None:
    server = chatting()
    server.always(CHAT, status(400, "At most 0 audio(s) may be provided"))
    with pytest.raises(Exception, match="At most 0 audio"):
        talk(server).transcribe(SOUND)
