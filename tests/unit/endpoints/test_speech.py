"""`transcribe` and `translate` through either client: the form that is sent, what is read of it."""

import io
import json

import numpy as np
import pytest
import soundfile
from _script import BLOCKING, URL, FakeVLLM, Part, Play, Talker, body

from vllm_modalities import (
    InvalidRequestError,
    MediaError,
    ResponseError,
    Segment,
    TranscriptionRequest,
    TranslationRequest,
    VLLMModalitiesWarning,
)
from vllm_modalities.audio.languages import CODES, code_of
from vllm_modalities.endpoints.send import send
from vllm_modalities.server import ServerInfo

TONE = (0.5 * np.sin(np.arange(4_000)) * 32_767).astype(np.int16)
SOUND = (TONE, 16_000)  # a quarter of a second
PATHS = {"transcribe": "/v1/audio/transcriptions", "translate": "/v1/audio/translations"}
METHODS = pytest.mark.parametrize("method", PATHS)
REQUESTS = pytest.mark.parametrize("kind", [TranscriptionRequest, TranslationRequest])


def speech(model: str = "listener", **told) -> FakeVLLM:
    return FakeVLLM("speech", model=model, **told)


@METHODS
def test_the_form_has_the_file_and_what_is_given_and_nothing_else(talk, method) -> None:
    server = speech()
    getattr(talk(server), method)(SOUND, language="en", prompt="Names: Zoë")
    (post,) = server.posts
    assert post.path == PATHS[method]
    assert post.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert post.fields == {
        "model": ["listener"],
        "language": ["en"],
        "prompt": ["Names: Zoë"],
        "response_format": ["json"],
    }
    (file,) = [part for part in post.parts if part.filename is not None]
    assert file == Part("file", file.content, "audio.flac", "audio/flac")
    samples, rate = soundfile.read(io.BytesIO(file.content), dtype="int16")
    assert rate == 16_000
    assert samples.tolist() == TONE.tolist()


@METHODS
def test_what_is_null_empty_or_false_is_no_part(talk, method) -> None:
    server = speech()
    extra = {"hotwords": None, "stream": False, "user": "", "use_beam_search": False}
    with_extra = talk(server, validation="off")
    getattr(with_extra, method)(SOUND, prompt="", extra_body=extra)
    assert server.posts[0].fields == {"model": ["listener"], "response_format": ["json"]}


@METHODS
@pytest.mark.parametrize("name", ["temperature", "seed", "top_k", "frequency_penalty"])
def test_a_zero_is_a_value_and_is_sent(talk, method, name) -> None:
    server = speech()
    getattr(talk(server), method)(SOUND, extra_body={name: 0})
    assert [float(value) for value in server.posts[0].fields[name]] == [0]


@METHODS
def test_true_is_sent_in_json_s_word(talk, method) -> None:
    server = speech()
    getattr(talk(server), method)(SOUND, extra_body={"use_beam_search": True, "n": 3})
    fields = server.posts[0].fields
    assert (fields["use_beam_search"], fields["n"]) == (["true"], ["3"])


@METHODS
def test_a_list_is_one_part_an_item(talk, method) -> None:
    server = speech()
    extra = {"timestamp_granularities[]": ["segment", "word"]}
    getattr(talk(server), method)(SOUND, extra_body=extra)
    assert server.posts[0].fields["timestamp_granularities[]"] == ["segment", "word"]


@METHODS
@pytest.mark.parametrize("arguments", [{"a": 1, "b": [1, 2], "c": "d", "e": True}, {}], ids=str)
def test_arguments_of_a_logits_processor_are_one_json_text(talk, method, arguments) -> None:
    server = speech()
    getattr(talk(server), method)(SOUND, extra_body={"vllm_xargs": arguments})
    (text,) = server.posts[0].fields["vllm_xargs"]
    assert json.loads(text) == arguments


WRONG_ARGUMENTS = [{"a": None}, {"a": {"b": 1}}, {"a": [[1]]}, {1: 1}, [1], "a", 5]


@METHODS
@pytest.mark.parametrize("wrong", WRONG_ARGUMENTS, ids=str)
def test_arguments_that_the_server_cannot_read_are_refused(talk, method, wrong) -> None:
    server = speech()
    with pytest.raises(InvalidRequestError, match="vllm_xargs") as caught:
        getattr(talk(server), method)(SOUND, extra_body={"vllm_xargs": wrong})
    assert all(finding.field.startswith("vllm_xargs") for finding in caught.value.findings)
    assert server.posts == []


@METHODS
def test_the_text_loses_the_blanks_around_it_and_is_one_segment(talk, method) -> None:
    transcript = getattr(talk(speech(says=" Two words. \n")), method)(SOUND)
    assert transcript.text == "Two words."
    assert transcript.segments == (Segment(start=0.0, end=0.25, text="Two words."),)
    assert (transcript.duration, transcript.model) == (0.25, "listener")
    assert (transcript.warnings, transcript.raw) == ((), None)


@METHODS
def test_silence_has_no_segment(talk, method) -> None:
    transcript = getattr(talk(speech(says=" ")), method)(SOUND)
    assert (transcript.text, transcript.segments, transcript.duration) == ("", (), 0.25)


def test_the_language_is_the_server_s_or_the_one_that_was_given(talk) -> None:
    server = speech()
    client = talk(server)
    assert client.transcribe(SOUND).language is None
    assert client.transcribe(SOUND, language="de").language == "de"
    server.always(PATHS["transcribe"], body({"text": "ja", "language": "nl"}))
    assert client.transcribe(SOUND).language == "nl"


@pytest.mark.parametrize(("language", "sent"), [("en", None), ("de", ["de"])])
def test_english_is_what_is_written_where_no_language_is_sent(talk, language, sent) -> None:
    server = speech()
    transcript = talk(server).translate(SOUND, to_language=language, language="fr")
    assert transcript.language == language
    fields = server.posts[0].fields
    assert (fields.get("to_language"), fields["language"]) == (sent, ["fr"])


def test_a_language_that_the_model_cannot_write_is_refused(talk) -> None:
    server = speech("whisper-base")
    with pytest.raises(InvalidRequestError, match=r"to_language='de'.*writes only en") as caught:
        talk(server).translate(SOUND, to_language="de", language="fr")
    (finding,) = caught.value.findings
    assert finding.field == "to_language"
    assert finding.source
    assert server.posts == []
    assert talk(server).translate(SOUND, language="fr").language == "en"


@METHODS
@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        *(("", ""), ("e", ""), ("12", ""), ("Klingon", "")),
        *(("en-us", "did you mean 'en'?"), ("pt_BR", "did you mean 'pt'?")),
        *(("Germn", "'german'"), ("spanisch", "'spanish'"), ("Finish", "'finnish'")),
    ],
)
def test_what_is_no_language_is_refused_with_what_comes_near(talk, method, wrong, near) -> None:
    server = speech()
    with pytest.raises(InvalidRequestError, match="ISO 639") as caught:
        getattr(talk(server), method)(SOUND, language=wrong)
    assert near in str(caught.value)
    assert ("did you mean" in str(caught.value)) is bool(near)
    assert {finding.field for finding in caught.value.findings} == {"language"}
    assert server.posts == []


@METHODS
@pytest.mark.parametrize(
    ("given", "code"),
    [
        *(("German", "de"), ("french", "fr"), ("EN", "en"), (" Haitian  Creole ", "ht")),
        *(("mandarin", "zh"), ("Cantonese", "yue")),
    ],
)
def test_a_language_may_be_given_by_its_english_name(talk, method, given, code) -> None:
    server = speech()
    transcript = getattr(talk(server), method)(SOUND, language=given)
    assert server.posts[0].fields["language"] == [code]
    if method == "transcribe":
        assert transcript.language == code


def test_a_translation_s_language_may_be_given_by_its_english_name(talk) -> None:
    server = speech()
    assert talk(server).translate(SOUND, to_language="English").language == "en"
    assert talk(server).translate(SOUND, to_language="German").language == "de"
    assert [sent.fields.get("to_language") for sent in server.posts] == [None, ["de"]]


def test_every_code_is_given_by_one_name_at_least() -> None:
    assert {code_of("language", name) for name in CODES} == set(CODES.values())
    assert len(set(CODES.values())) == 100


@REQUESTS
@pytest.mark.parametrize("wrong", ["EN", "english", "", "en-us"])
def test_a_request_takes_codes_alone(kind, wrong) -> None:
    (finding,) = kind(file=b"fLaC", language=wrong).validate_for(ServerInfo())
    assert (finding.code, finding.severity) == ("language", "error")


@METHODS
def test_a_language_that_the_model_may_not_hear_is_told_and_sent(talk, method) -> None:
    server = speech("whisper-base")
    transcript = getattr(talk(server), method)(SOUND, language="tlh")
    (warning,) = transcript.warnings
    assert "Whisper is not known to hear language='tlh'" in warning
    assert server.posts[0].fields["language"] == ["tlh"]
    assert getattr(talk(speech()), method)(SOUND, language="tlh").warnings == ()


@METHODS
def test_samples_that_are_clipped_are_counted(talk, method) -> None:
    loud = np.array([0.5, 2.0, -1.5, 1.0], np.float32)
    transcript = getattr(talk(speech()), method)((loud, 16_000))
    assert transcript.warnings == ("2 samples were louder than full scale and are clipped",)


@METHODS
def test_what_is_doubtful_about_the_file_and_the_request_is_told(talk, method) -> None:
    file = io.BytesIO()
    noise = np.random.default_rng(0).normal(0, 0.1, 44_100)
    soundfile.write(file, noise, 44_100, format="MP3")
    half = file.getvalue()[: len(file.getvalue()) // 2]
    cut, unchecked = getattr(talk(speech()), method)(half, extra_body={"new": 1}).warnings
    assert "is cut" in cut
    assert "'new' is passed on unchecked" in unchecked


NO_SOUND = {
    "no file": ("no-such-file.wav", "no-such-file.wav"),
    "nothing": (b"", "empty"),
    "a text": (b"The quick brown fox.", "text"),
    "no samples": ((np.zeros(0, np.float32), 16_000), "no sound"),
}


@METHODS
@pytest.mark.parametrize(("source", "found"), NO_SOUND.values(), ids=NO_SOUND)
def test_what_holds_no_sound_is_an_error_before_any_request(talk, method, source, found) -> None:
    server = speech()
    with pytest.raises(MediaError, match=found):
        getattr(talk(server), method)(source)
    assert server.sent == []


@METHODS
def test_the_server_s_own_answer_is_kept_when_asked_for(talk, method) -> None:
    (raw,) = getattr(talk(speech(says="a"), keep_raw=True), method)(SOUND).raw
    assert json.loads(raw) == {"text": "a"}


@METHODS
@pytest.mark.parametrize("answer", [{}, {"text": None}, {"error": {"message": "no"}}], ids=str)
def test_an_answer_without_a_text_is_an_error_with_evidence(talk, method, answer) -> None:
    server = speech()
    server.always(PATHS[method], body(answer))
    with pytest.raises(ResponseError) as caught:
        getattr(talk(server), method)(SOUND)
    assert caught.value.server == URL


@METHODS
def test_a_setting_is_given_once(talk, method) -> None:
    server = speech()
    with pytest.raises(InvalidRequestError, match="'temperature' is given both"):
        getattr(talk(server), method)(SOUND, temperature=0.5, extra_body={"temperature": 1.0})
    assert server.posts == []


def test_a_server_mapped_to_transcription_translates_too() -> None:
    server = speech()
    Talker(BLOCKING, server, base_url={"transcribe": URL}).translate(SOUND)
    assert [post.path for post in server.posts] == [PATHS["translate"]]


@REQUESTS
@pytest.mark.parametrize(("version", "taken"), [("0.23.0", True), ("0.24.0", False)])
def test_more_than_600_s_are_refused_from_0_24_on(kind, version, taken) -> None:
    server = speech(version=version)
    request = kind(file=b"fLaC", duration=600.5, language="en")
    if taken:
        assert Play(server).call(send, request).status == 200
        return
    with pytest.raises(InvalidRequestError, match=r"600 s a file.*Cut the recording"):
        Play(server).call(send, request)
    assert server.posts == []
    limit = kind(file=b"fLaC", duration=600.0, language="en")
    assert Play(server).call(send, limit).status == 200


def test_a_long_recording_is_measured_before_it_is_sent() -> None:
    server = speech()
    with pytest.raises(InvalidRequestError, match=r"601\.0 seconds of audio"):
        Talker(BLOCKING, server).transcribe(
            (np.zeros(601_000, np.float32), 1_000), language="en", chunking="server"
        )
    assert server.posts == []


@REQUESTS
@pytest.mark.parametrize("version", ["0.16.0", "0.32.0"])
def test_more_than_25_mib_are_refused_by_every_release(kind, version) -> None:
    server = speech(version=version)
    with pytest.raises(InvalidRequestError, match="25 MiB"):
        Play(server).call(send, kind(file=bytes(25 * 1024**2 + 1), language="en"))
    assert server.posts == []
    assert Play(server).call(send, kind(file=bytes(25 * 1024**2), language="en")).status == 200


@REQUESTS
def test_validation_warn_sends_what_a_higher_limit_may_take(kind) -> None:
    server = speech()
    request = kind(file=b"fLaC", duration=700.0, language="en")
    with pytest.warns(VLLMModalitiesWarning, match="600 s"):
        response = Talker(BLOCKING, server, validation="warn").send(request)
    assert len(response.findings) == len(server.posts) == 1
    assert Talker(BLOCKING, server, validation="off").send(request).findings == ()


@REQUESTS
def test_a_file_of_the_caller_s_own_is_sent_as_it_is(kind) -> None:
    server = speech()
    Talker(BLOCKING, server).send(kind(file=b"RIFF....", duration=1.0))
    post = server.posts[0]
    assert post.fields == {"model": ["listener"]}
    assert post.parts[-1] == Part("file", b"RIFF....", "audio", "application/octet-stream")


@REQUESTS
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"duration": 30.0}, []),
        ({"duration": 30.5}, ["is_long"]),
        ({"response_format": "json", "duration": 31.0}, ["is_long"]),
        ({"response_format": "verbose_json"}, ["is_verbose", "is_verbose_without_language"]),
        ({"response_format": "verbose_json", "language": "en"}, ["is_verbose"]),
        (
            {"response_format": "verbose_json", "language": "en", "duration": 31.0},
            ["is_long", "is_verbose", "is_long_verbose"],
        ),
    ],
    ids=str,
)
def test_a_request_knows_what_it_is(kind, fields, expected) -> None:
    request = kind(file=b"abc", **fields)
    names = ("is_long", "is_verbose", "is_long_verbose", "is_verbose_without_language")
    assert [name for name in names if getattr(request, name)] == expected
    assert request.size == 3


@REQUESTS
@pytest.mark.parametrize(
    "wrong",
    [{"file": b""}, {"temperature": -0.1}, {"n": 0}, {"max_completion_tokens": 0}, {"nonsense": 1}],
    ids=str,
)
def test_a_field_out_of_its_range_is_named(kind, wrong) -> None:
    with pytest.raises(InvalidRequestError, match=next(iter(wrong))):
        kind(**({"file": b"a"} | wrong))


def test_speakers_are_told_apart_by_transcription_alone() -> None:
    assert TranscriptionRequest(file=b"a", response_format="diarized_json")
    with pytest.raises(InvalidRequestError, match="response_format"):
        TranslationRequest(file=b"a", response_format="diarized_json")


def test_other_formats_come_through_send_as_they_are() -> None:
    server = speech()
    request = TranscriptionRequest(file=b"fLaC", language="en", response_format="text")
    response = Talker(BLOCKING, server).send(request)
    assert response.json() == {"text": " A word."}
    assert server.posts[0].fields["response_format"] == ["text"]
