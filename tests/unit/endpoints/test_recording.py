"""Recordings of any length: every word once and in order, whatever single pieces come back as."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from _script import ASYNCIO, BLOCKING, Answer, FakeVLLM, Talker, body, status
from _words import RATE, WORDS, Hearing, names, said, silence, spoken
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_modalities import (
    APIStatusError,
    BadRequestError,
    InvalidRequestError,
    MediaError,
    PartialFailureError,
    Profile,
    Transcript,
)
from vllm_modalities.profiles import SpeechProfile

SENTENCES = [range(start, start + 10) for start in range(0, 180, 10)]  # 18 of 5.6 s
LONG = spoken(*SENTENCES)
ALL = names(range(180))


def hear(
    server: FakeVLLM,
    sound: Any = LONG,
    method: str = "transcribe",
    client: Any = None,
    **options: Any,
) -> Transcript:
    options = {"language": "en"} | options
    talker = Talker(BLOCKING, server, **(client or {"max_retries": 0}))
    found = getattr(talker, method)((sound, RATE), **options)
    assert isinstance(found, Transcript)
    return found


def test_a_long_recording_is_heard_whole_in_order_and_in_pieces_of_less_than_30_s(talk) -> None:
    server = Hearing()
    transcript = talk(server).transcribe((LONG, RATE), language="en")
    assert transcript.text.split() == ALL
    sent = sorted((words for _, words in server.forms), key=lambda words: ALL.index(words[0]))
    assert [segment.text.split() for segment in transcript.segments] == sent
    assert 4 <= len(server.forms) <= 6
    assert transcript.duration == pytest.approx(len(LONG) / RATE)
    assert transcript.warnings == ()
    starts = [segment.start for segment in transcript.segments]
    wanted = [ALL.index(words[0]) // 10 * 5.6 for words in sent]
    assert starts == pytest.approx(wanted, abs=0.5)


@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, 120), min_size=1, max_size=5),
    pause=st.sampled_from([0.3, 0.6, 2.0, 5.0]),
    timestamps=st.sampled_from([None, "segment"]),
    lost=st.integers(0, 3),
)
def test_no_word_is_lost_or_repeated_however_it_is_spoken(lengths, pause, timestamps, lost) -> None:
    words = list(range(sum(lengths)))
    sentences, place = [], 0
    for length in lengths:
        sentences.append([number % 250 for number in words[place : place + length]])
        place += length
    server = Hearing(lost=lost)
    transcript = hear(server, spoken(*sentences, pause=pause), timestamps=timestamps)
    assert transcript.text.split() == names([one for some in sentences for one in some])
    ends = [time for one in transcript.segments for time in (one.start, one.end)]
    assert ends == pytest.approx(sorted(ends), abs=2.1)  # pieces may overlap by two seconds
    assert min(ends) >= 0
    assert max(ends) <= transcript.duration + 1e-6


def test_silence_is_not_sent_and_times_are_those_of_the_recording() -> None:
    server = Hearing()
    sound = np.concatenate([silence(20), spoken(range(5)), silence(60), spoken(range(5, 9))])
    transcript = hear(server, sound)
    assert sorted(words for _, words in server.forms) == sorted(
        [names(range(5)), names(range(5, 9))]
    )
    first, second = transcript.segments
    assert (first.start, second.start) == pytest.approx((19.7, 82.8), abs=0.1)
    assert any("s of silence were not sent" in warning for warning in transcript.warnings)


def test_nothing_but_silence_is_no_request() -> None:
    server = Hearing()
    transcript = hear(server, silence(100))
    assert (transcript.text, transcript.segments, server.forms) == ("", (), [])
    assert "nothing was sent" in transcript.warnings[0]
    assert transcript.duration == 100


def test_segments_are_timed_by_the_model_where_that_is_asked_for() -> None:
    transcript = hear(Hearing(), timestamps="segment")
    assert [segment.text for segment in transcript.segments] == ALL
    starts = [number // 10 * 5.6 + number % 10 * 0.5 for number in range(180)]
    assert [segment.start for segment in transcript.segments] == pytest.approx(starts, abs=0.02)
    assert transcript.words == ()
    assert transcript.warnings == ()


def test_words_that_verbose_json_loses_come_back_with_estimated_times() -> None:
    transcript = hear(Hearing(lost=3), timestamps="segment")
    assert transcript.text.split() == ALL
    repaired = [warning for warning in transcript.warnings if "verbose_json lost" in warning]
    assert len(repaired) == sum(len(segment.text.split()) == 3 for segment in transcript.segments)
    assert repaired


def test_a_piece_without_any_timed_word_is_asked_for_as_json() -> None:
    def broken(fields: dict[str, Any], words: list[str], answer: Answer) -> Answer:
        if fields["response_format"] == "verbose_json" and WORDS[0] in words:
            return status(500, "list index out of range")(answer)
        return answer

    transcript = hear(Hearing(hears=broken), timestamps="segment")
    assert transcript.text.split() == ALL
    assert len(transcript.segments[0].text.split()) > 1


def test_times_that_end_too_early_cost_a_request_and_no_word_is_doubled() -> None:
    def early(fields: dict[str, Any], _: list[str], answer: Answer) -> Answer:
        found = json.loads(answer.content)
        for segment in found.get("segments", [])[-1:]:
            segment["end"] = segment["start"]
        if fields["response_format"] == "verbose_json":
            found["segments"].insert(0, {"start": 0, "end": 1, "text": " "})
        return body(found)(answer)

    server = Hearing(hears=early)
    transcript = hear(server, spoken(range(9), pause=0.1), timestamps="segment")
    assert transcript.text.split() == names(range(9))
    assert [fields["response_format"] for fields, _ in server.forms] == ["verbose_json", "json"]
    assert transcript.warnings == ()


def test_pieces_without_a_word_in_common_keep_all_words_and_say_where() -> None:
    texts = iter(["one two three", "four five six", "seven eight nine"])
    server = Hearing(hears=lambda *_: said(next(texts)))
    transcript = hear(server, spoken(range(120)), client={"max_concurrency": 1})
    assert transcript.text == "one two three four five six seven eight nine"
    assert sum("may stand there twice" in one for one in transcript.warnings) == 2


UNTIMED = "Currently do not support verbose_json for m"


@pytest.mark.parametrize("code", [400, 503])
def test_a_model_that_times_no_segments_gives_its_pieces(code) -> None:
    def plain(fields: dict[str, Any], _: list[str], answer: Answer) -> Answer:
        untimed = fields["response_format"] == "verbose_json"
        return status(code, UNTIMED)(answer) if untimed else answer

    server = Hearing(hears=plain, model="m")
    if code == 400:
        transcript = hear(server, timestamps="segment")
        assert transcript.text.split() == ALL
        assert any("times no segments" in warning for warning in transcript.warnings)
    else:
        with pytest.raises(APIStatusError, match=UNTIMED):
            hear(server, timestamps="segment")


def test_a_model_that_is_known_to_time_nothing_is_not_asked_to() -> None:
    profile = Profile(
        name="mine", pattern="^m$", speech=SpeechProfile(timestamps=False, sources={})
    )
    server = Hearing(model="m")
    transcript = hear(server, client={"profiles": (profile,)}, timestamps="segment")
    assert {fields["response_format"] for fields, _ in server.forms} == {"json"}
    assert any("times no segments" in warning for warning in transcript.warnings)


@pytest.mark.parametrize("method", ["transcribe", "translate"])
def test_the_language_is_found_out_once_on_speech_and_sent_with_every_piece(method) -> None:
    hum = 0.3 * np.sin(np.arange(25 * RATE) / 10).astype(np.float32)
    server = Hearing(language="de")
    transcript = hear(server, np.concatenate([hum, LONG]), method, language=None)
    assert server.posts[0].path == "/v1/audio/transcriptions"
    asked = [(fields.get("language"), fields["response_format"]) for fields, _ in server.forms]
    assert asked[0] == (None, "verbose_json")
    assert set(asked[1:]) == {("de", "json")}
    assert len(server.forms[0][1]) > 20  # words, not the hum
    assert transcript.language == ("de" if method == "transcribe" else "en")
    assert any("language='de' was heard in" in warning for warning in transcript.warnings)


@pytest.mark.parametrize("given", [{"model": "m"}, {"version": "0.16.0"}])
def test_a_language_that_the_server_cannot_tell_is_left_alone(given) -> None:
    server = Hearing(**given)
    transcript = hear(server, client={"validation": "off"}, language=None)
    assert transcript.text.split() == ALL
    sent = {fields.get("language") for fields, _ in server.forms[1:]}
    assert sent == ({None} if "model" in given else {"en"})


def test_on_a_release_that_refuses_to_tell_the_language_nothing_is_guessed() -> None:
    server = Hearing(version="0.16.0")
    with pytest.warns(match="takes the speech for English"):
        transcript = hear(server, language=None)
    assert {fields.get("language") for fields, _ in server.forms} == {None}
    assert transcript.language is None


def test_a_server_that_does_not_say_what_it_heard_is_sent_no_language() -> None:
    server = Hearing(language=None)
    transcript = hear(server, language=None)
    assert {fields.get("language") for fields, _ in server.forms} == {None}
    assert (transcript.language, transcript.warnings) == (None, ())


def test_a_language_that_could_not_be_asked_for_is_told_and_asked_for_when_it_goes_on(
    tmp_path, talk
) -> None:
    journal = tmp_path / "journal"

    def breaks(fields: dict[str, Any], _: list[str], answer: Answer) -> Answer:
        return status(500, "no")(answer) if fields["response_format"] != "json" else answer

    first, second = Hearing(hears=breaks), Hearing(language="de")
    transcript = talk(first).transcribe((LONG, RATE), journal=journal)
    assert transcript.text.split() == ALL
    assert {fields.get("language") for fields, _ in first.forms} == {None}
    assert any("no language was heard in" in warning for warning in transcript.warnings)
    transcript = talk(second).transcribe((LONG, RATE), journal=journal)
    assert transcript.language == "de"
    forms = [fields["response_format"] for fields, _ in second.forms]
    assert forms.count("verbose_json") == 1
    again = talk(second).transcribe((LONG, RATE), journal=journal)
    assert (again.text, len(second.forms)) == (transcript.text, len(forms))


def looping(times: int) -> Any:
    """The first piece is a loop, in its first so many answers."""
    left = [times]

    def hears(fields: dict[str, Any], words: list[str], answer: Answer) -> Answer:
        if WORDS[0] in words and left[0]:
            left[0] -= 1
            return said("and so on " * 60, verbose=fields["response_format"] == "verbose_json")
        return answer

    return hears


@pytest.mark.parametrize(
    ("times", "how"),
    [(1, "at temperature 0.2"), (3, "at temperature 0.6"), (4, "cut in two")],
)
@pytest.mark.parametrize("timestamps", [None, "segment"])
def test_a_loop_is_asked_for_again_and_told_with_its_times(times, how, timestamps) -> None:
    transcript = hear(Hearing(hears=looping(times)), timestamps=timestamps)
    assert transcript.text.split() == ALL
    (warning,) = [one for one in transcript.warnings if "again and again" in one]
    assert how in warning
    assert warning.startswith("0.0 to ")


def test_what_stays_doubtful_is_kept_and_told() -> None:
    transcript = hear(Hearing(hears=looping(99)))
    assert transcript.text.endswith(" ".join(ALL[-10:]))
    assert "and so on" in transcript.text
    assert any("stays so" in warning for warning in transcript.warnings)


def test_a_temperature_of_one_s_own_is_never_replaced() -> None:
    server = Hearing(hears=looping(99))
    hear(server, temperature=0.5)
    assert {fields["temperature"] for fields, _ in server.forms} == {"0.5"}


def test_a_try_that_fails_costs_nothing() -> None:
    def hears(fields: dict[str, Any], words: list[str], answer: Answer) -> Answer:
        if WORDS[0] in words:
            return said("loop " * 60) if "temperature" not in fields else status(400)(answer)
        return answer

    transcript = hear(Hearing(hears=hears))
    assert "loop loop" in transcript.text
    assert transcript.text.endswith(WORDS[179])


def test_halves_that_fail_leave_the_doubtful_answer() -> None:
    calls: list[int] = []

    def hears(_: dict[str, Any], words: list[str], answer: Answer) -> Answer:
        if WORDS[3] in words:
            calls.append(len(words))
            return said("loop " * 60) if len(calls) <= 4 else status(400)(answer)
        return answer

    transcript = hear(Hearing(hears=hears))
    assert "loop loop" in transcript.text
    assert len(calls) == 5


def test_no_words_where_somebody_speaks_is_asked_for_again() -> None:
    def hears(fields: dict[str, Any], words: list[str], answer: Answer) -> Answer:
        return said(" ") if WORDS[0] in words and "temperature" not in fields else answer

    transcript = hear(Hearing(hears=hears))
    assert transcript.text.split() == ALL
    assert any("no words" in warning for warning in transcript.warnings)


def test_a_short_piece_is_not_cut_in_two() -> None:
    server = Hearing(hears=lambda *_: said("loop " * 60))
    hear(server, spoken(range(4)))
    assert len(server.forms) == 4


def test_what_models_write_on_near_silence_is_left_out_and_told() -> None:
    click = 0.3 * np.sin(np.arange(int(0.2 * RATE))).astype(np.float32)
    server = Hearing(hears=lambda *_: said(" Thank you."))
    transcript = hear(server, np.concatenate([silence(5), click, silence(5)]))
    assert transcript.text == ""
    assert any("'Thank you.' is left out" in warning for warning in transcript.warnings)
    assert hear(server, spoken(range(4))).text == "Thank you."


def failing(*words: str, code: int = 400) -> Any:
    def hears(_: dict[str, Any], found: list[str], answer: Answer) -> Answer:
        return status(code, "no")(answer) if set(words) & set(found) else answer

    return hears


def test_a_piece_that_fails_costs_no_other_piece(talk) -> None:
    talker = talk(Hearing(hears=failing(WORDS[70])))
    with pytest.raises(PartialFailureError) as caught:
        talker.transcribe((LONG, RATE), language="en")
    transcript, failures = caught.value.results, caught.value.failures
    assert [number for number, _ in failures] == [1] or len(failures) == 1
    lost = set(ALL) - set(transcript.text.split())
    assert WORDS[70] in lost
    assert len(lost) <= 60
    assert transcript.text.split() == [word for word in ALL if word not in lost]
    assert any("was not heard: HTTP 400" in warning for warning in transcript.warnings)
    same = talker.transcribe((LONG, RATE), language="en", on_error="return")
    assert [number for number, _ in same.failures] == [number for number, _ in failures]
    assert same.text == transcript.text
    with pytest.raises(APIStatusError, match="HTTP 400"):
        talker.transcribe((LONG, RATE), language="en", on_error="raise")


def test_the_only_piece_raises_its_own_error() -> None:
    with pytest.raises(APIStatusError, match="HTTP 400"):
        hear(Hearing(hears=failing(WORDS[1])), spoken(range(4)))


def test_what_all_pieces_share_ends_the_whole() -> None:
    sound = np.concatenate([LONG, LONG, LONG])
    server = Hearing(hears=failing(WORDS[1], code=401))
    with pytest.raises(PartialFailureError, match="401") as caught:
        hear(server, sound, client={"max_concurrency": 1})
    assert "nothing was sent after that" in caught.value.results.warnings[-1]
    assert len(server.forms) == 1


def test_a_fault_far_inside_the_file_leaves_what_was_heard_before() -> None:
    sound = np.concatenate([LONG, LONG, LONG])
    sound[-1] = np.nan
    server = Hearing()
    with pytest.raises(PartialFailureError) as caught:
        hear(server, sound)
    ((number, error),) = caught.value.failures
    assert isinstance(error, MediaError)
    assert number == len(server.forms)
    assert caught.value.results.text.split()[:180] == ALL
    assert "s was not heard: the array holds" in caught.value.results.warnings[-1]


def test_a_fault_behind_the_only_piece_does_not_cost_that_piece() -> None:
    sound = np.concatenate([spoken(range(40)), silence(50)])
    sound[-1] = np.nan
    with pytest.raises(PartialFailureError, match="1 of 2 items") as caught:
        hear(Hearing(), sound)
    assert caught.value.results.text.split() == names(range(40))


def test_a_fault_before_the_first_piece_is_raised_as_itself_and_nothing_is_sent() -> None:
    sound, server = spoken(range(40)), Hearing()
    sound[-1] = np.inf
    with pytest.raises(MediaError, match="not a finite number"):
        hear(server, sound)
    assert server.posts == []


def test_segments_are_told_in_order_while_it_is_heard(talk) -> None:
    told: list[str] = []
    done: list[tuple[int, int | None]] = []
    talker = talk(Hearing())
    transcript = talker.transcribe(
        (spoken(range(100), range(100, 180)), RATE),
        language="en",
        on_segment=lambda segment: told.append(segment.text),
        progress=lambda *counts: done.append(counts),
    )
    assert told == [segment.text for segment in transcript.segments]
    assert " ".join(told).split() == ALL
    assert [count for count, _ in done] == sorted(count for count, _ in done)
    assert done[-1] == (91, 91)


@pytest.mark.parametrize("on_error", ["collect", "raise", "return"])
@pytest.mark.parametrize("name", ["on_segment", "progress"])
def test_an_error_of_ours_that_a_function_of_the_caller_s_raises_ends_the_call(
    talk, name, on_error
) -> None:
    error = BadRequestError(400, "of a call that it made", server="elsewhere", body=b"")

    def fail(*_: object) -> None:
        raise error

    sound = (spoken(range(100), range(100, 180)), RATE)
    with pytest.raises(BadRequestError) as caught:
        talk(Hearing()).transcribe(sound, language="en", on_error=on_error, **{name: fail})
    assert caught.value is error


def test_a_whole_recording_goes_out_at_once_where_the_server_is_to_cut_it() -> None:
    server = Hearing()
    transcript = hear(server, chunking="server")
    assert [words for _, words in server.forms] == [ALL]
    assert transcript.text.split() == ALL
    hear(server, silence(1), chunking="server")
    assert len(server.forms) == 2


def test_a_loop_in_a_whole_recording_is_asked_for_again() -> None:
    transcript = hear(Hearing(hears=looping(1)), chunking="server")
    assert transcript.text.split() == ALL


@pytest.mark.parametrize(
    "wrong", [{"chunking": "none"}, {"timestamps": "word"}, {"on_error": "ignore"}]
)
def test_an_unknown_way_is_refused_before_anything_is_read(wrong) -> None:
    with pytest.raises(InvalidRequestError, match=next(iter(wrong))):
        Talker(BLOCKING, Hearing()).transcribe("no-such-file.wav", **wrong)


def test_a_finished_piece_is_not_sent_again(tmp_path, talk) -> None:
    journal = tmp_path / "journal"
    first = Hearing(hears=failing(WORDS[70]), language="de")
    with pytest.raises(PartialFailureError):
        talk(first).transcribe((LONG, RATE), journal=journal, timestamps="segment")
    second = Hearing(language="en")
    transcript = talk(second).transcribe((LONG, RATE), journal=journal, timestamps="segment")
    assert len(second.forms) == 1
    assert second.forms[0][0]["language"] == "de"
    assert WORDS[70] in second.forms[0][1]
    assert transcript.text.split() == ALL
    again = talk(second).transcribe((LONG, RATE), journal=journal, timestamps="segment")
    assert len(second.forms) == 1
    assert again.segments == transcript.segments


def test_what_is_asked_otherwise_is_not_taken_from_the_journal(tmp_path) -> None:
    server = Hearing()
    for options in ({}, {"language": "de"}, {"timestamps": "segment"}, {"temperature": 0.1}):
        before = len(server.forms)
        hear(server, journal=tmp_path / "j", **options)
        assert len(server.forms) > before
    lines = (tmp_path / "j").read_text().splitlines()
    assert all(json.loads(line) for line in lines)


def test_a_file_that_is_no_journal_is_left_alone_and_nothing_is_sent(tmp_path) -> None:
    server = Hearing()
    (tmp_path / "notes").write_text("my notes\n")
    with pytest.raises(InvalidRequestError, match="of another kind"):
        hear(server, journal=tmp_path / "notes")
    assert server.posts == []


def test_two_replicas_share_the_pieces() -> None:
    servers = {"http://one": Hearing(), "http://two": Hearing()}
    sound = np.concatenate([LONG, LONG])
    transcript = Talker(ASYNCIO, servers).transcribe((sound, RATE), language="en")
    assert transcript.text.split() == ALL + ALL
    assert all(server.forms for server in servers.values())


def test_speakers_of_several_pieces_are_said_to_be_numbered_anew() -> None:
    texts = iter(["[0.5][S01] one two [4.0]", "[0.2][S01] three [1.0]"])
    profile = Profile(
        name="mine", pattern="^m$", speech=SpeechProfile(clip=30, grammar="diarized", sources={})
    )
    sound = np.concatenate([spoken(range(9)), silence(9), spoken(range(9))])
    options = {"profiles": (profile,), "max_concurrency": 1}
    server = Hearing(model="m", hears=lambda *_: said(next(texts)))
    transcript = hear(server, sound, client=options, diarize=True, timestamps="segment")
    assert [(one.speaker, one.text) for one in transcript.segments] == [
        ("S01", "one two"),
        ("S01", "three"),
    ]
    assert [one.start for one in transcript.segments] == pytest.approx([0.5, 14.0], abs=0.1)
    assert "speakers are numbered anew in each of 2 pieces" in transcript.warnings


def test_a_model_that_hears_in_chats_gets_the_pieces_there() -> None:
    profile = Profile(name="mine", pattern="^m$", speech=SpeechProfile(chat=True, sources={}))
    server = FakeVLLM("chat", model="m", says="Words.")
    transcript = hear(
        server, np.concatenate([LONG, LONG]), client={"profiles": (profile,)}, timestamps="segment"
    )
    assert len(server.posts) == len(transcript.segments) > 6
    assert {post.path for post in server.posts} == {"/v1/chat/completions"}
    assert any("times no segments" in warning for warning in transcript.warnings)
