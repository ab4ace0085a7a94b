"""Cases of `/v1/audio/transcriptions` and `/v1/audio/translations`, with Whisper base."""

from __future__ import annotations

from functools import partial

from contract import seen
from contract.assets import ASSETS
from contract.case import Case, get, upload

PATH, TRANSLATIONS = "/v1/audio/transcriptions", "/v1/audio/translations"
HEARD = "“The museum is open on Monday and Tuesday.”"

transcription = partial(upload, PATH)
translation = partial(upload, TRANSLATIONS, file="berlin.flac")


def fields(**given: object) -> dict[str, object]:
    return {"model": "whisper-base", "language": "en", **given}


def brief(**given: object) -> dict[str, object]:
    """The first two words are enough."""
    return fields(max_completion_tokens=2, **given)


def german(**given: object) -> dict[str, object]:
    return {"model": "whisper-base", "language": "de", "max_completion_tokens": 2, **given}


ANSWERS = [
    transcription(
        "heard",
        fields(response_format="json"),
        call=lambda c: c.transcribe(ASSETS["museum.flac"](), language="en", chunking="server"),
        observe=seen.text,
    ),
    *(
        transcription(f"response_format={kind}", brief(response_format=kind), observe=seen.members)
        for kind in ("json", "text", "srt", "vtt", "xml")
    ),
    transcription(
        "response_format=verbose_json", fields(response_format="verbose_json"), observe=seen.members
    ),
    transcription(
        "response_format=diarized_json",
        brief(response_format="diarized_json"),
        observe=seen.members,
        # "BadRequestError" is what the model says, where the release knows the format.
        gates={"transcription-diarized": "400 Bad Request"},
    ),
    transcription(
        "duration of verbose_json", brief(response_format="verbose_json"), observe=seen.duration
    ),
    transcription(
        "verbose_json without a language",
        {"model": "whisper-base", "response_format": "verbose_json"},
        observe=seen.text,
        gates={"speech-verbose-language": "400 .*"},
    ),
    transcription("stream", fields(stream=True), observe=seen.text),
    transcription("ends of a stream", brief(stream=True), observe=seen.stream),
    transcription(
        "stream_include_usage",
        brief(stream=True, stream_include_usage=True),
        call=None,
        observe=seen.stream,
    ),
    transcription(
        "stream_include_usage without stream", brief(stream_include_usage=True), call=None
    ),
    transcription(
        "stream_include_usage=false without stream", brief(stream_include_usage=False), call=None
    ),
    transcription(
        "stream of verbose_json",
        brief(stream=True, response_format="verbose_json"),
        gates={"speech-stream-format": "400 .*"},
    ),
    transcription(
        "stream without a model",
        {"language": "en", "stream": True, "max_completion_tokens": 2},
        call=None,
        observe=seen.stream,
    ),
    transcription(
        "granularity=word",
        brief(response_format="verbose_json", **{"timestamp_granularities[]": ["word"]}),
        call=None,
        observe=seen.members,
    ),
]

SOUNDS = [
    *(
        transcription(f"a file: {name}", brief(), file=name, call=None, observe=seen.text)
        for name in ("museum.wav", "museum.mp3", "museum.ogg")
    ),
    *(
        transcription(f"no sound: {name}", brief(), file=name, call=None, observe=seen.text)
        for name in ("text.wav", "header.wav", "empty.wav")
    ),
    transcription(
        "a file above 25 MiB",
        brief(),
        file="zeros-26MiB.wav",
        observe=seen.text,
        gates={"audio-size": "400 .*"},
    ),
    transcription(
        "601 s of silence",
        brief(),
        file="silence-601s.flac",
        observe=seen.text,
        gates={"audio-duration": "400 .*"},
    ),
    transcription(
        "two chunks",
        fields(),
        file="twice-34s.flac",
        observe=seen.text,
        gates={"speech-long-glued": ".*Tuesday.The.*"},
    ),
    transcription(
        "the second chunk's time",
        fields(response_format="verbose_json"),
        file="twice-34s.flac",
        observe=seen.last_start,
        gates={"speech-long-verbose-times": "last segment at 30.0 s"},
    ),
    transcription("two sentences", fields(), file="twice-29s.flac", observe=seen.sentences),
    transcription(
        "two sentences by verbose_json",
        fields(response_format="verbose_json"),
        file="twice-29s.flac",
        observe=seen.sentences,
        gates={"speech-verbose-loses-text": "1 sentence"},
    ),
    Case(
        name="a text in place of a file",
        server="transcribe",
        asked=seen.Asked("POST", PATH, form={"model": "whisper-base", "file": "museum.flac"}),
    ),
    Case(
        name="no file",
        server="transcribe",
        asked=seen.Asked("POST", PATH, form={"model": "whisper-base"}, files={"other": "text.wav"}),
    ),
    get("transcribe", PATH, "GET where a recording is meant"),
    get(
        "transcribe",
        PATH,
        "JSON where a form is meant",
        method="POST",
        headers={"Content-Type": "application/json"},
        text='{"model": "whisper-base"}',
    ),
]

OPTIONS = [
    transcription(
        "no language",
        {"model": "whisper-base", "max_completion_tokens": 2},
        observe=seen.text,
    ),
    *(
        transcription(
            f"language={code}",
            {"model": "whisper-base", "language": code, "max_completion_tokens": 2},
            observe=seen.text,
        )
        for code in ("EN", "english", "xx", "auto", "zh-CN", "fr")
    ),
    transcription(
        "an empty language",
        {"model": "whisper-base", "language": "", "max_completion_tokens": 2},
        call=None,
        observe=seen.text,
    ),
    transcription(
        "no model, heard",
        {"language": "en", "max_completion_tokens": 2},
        call=None,
        observe=seen.text,
    ),
    transcription("an unknown model, heard", brief() | {"model": "nobody"}),
    transcription(
        "prompt",
        fields(prompt="The museum, the museum, the museum.", max_completion_tokens=24),
        observe=seen.text,
        gates={"speech-whisper-prompt": f"(?!{HEARD}).*"},
    ),
    transcription("a prompt beyond the context", brief(prompt="museum " * 500), observe=seen.text),
    transcription("temperature=-1", brief(temperature=-1), observe=seen.text),
    transcription("temperature that is no number", brief(temperature="warm"), observe=seen.text),
    transcription("an empty top_k", brief(top_k=""), call=None, observe=seen.text),
    transcription("seed", brief(seed=1), observe=seen.text),
    transcription("max_completion_tokens=2", brief(), observe=seen.text),
    transcription("max_completion_tokens=0", fields(max_completion_tokens=0), observe=seen.text),
    transcription(
        "an unknown field, heard", brief(chunking_strategy="auto"), observe=seen.text, ignored=True
    ),
    transcription(
        "hotwords",
        brief(hotwords="Museum"),
        observe=seen.text,
        ignored=True,
    ),
    transcription(
        "n without beam search",
        brief(n=2),
        observe=seen.text,
        gates={"speech-n-without-beams": "“The museum”"},
    ),
    transcription("beam search", brief(use_beam_search=True, n=2), observe=seen.text),
    transcription(
        "beam search in a stream",
        brief(use_beam_search=True, stream=True),
        observe=seen.stream,
        gates={"speech-beam-search": "1 × .*", "speech-stream-beams": "400 .*"},
    ),
    transcription(
        "vllm_xargs",
        brief(vllm_xargs={"a": 1}),
        observe=seen.text,
        gates={"transcription-xargs": "400 .*"},
    ),
    transcription(
        "vllm_xargs with a list",
        brief(vllm_xargs={"a": [1, 2]}),
        observe=seen.text,
        gates={"transcription-xargs": "400 .*", "transcription-xargs-lists": "400 .*"},
    ),
    transcription(
        "vllm_xargs that is no JSON", brief(vllm_xargs="{bad"), call=None, observe=seen.text
    ),
]

# Values out of range: refused where the field is known, and no matter where it is not.
WRONG = {
    "top_p": 7,
    "top_k": -5,
    "min_p": 7,
    "frequency_penalty": 7,
    "presence_penalty": 7,
    "repetition_penalty": -1,
    "vllm_xargs": "{bad",
}
RIGHT = {
    "top_p": 0.5,
    "top_k": 5,
    "min_p": 0.5,
    "frequency_penalty": 0.5,
    "presence_penalty": 0.5,
    "repetition_penalty": 1.5,
    "vllm_xargs": {"a": 1},
}

TRANSLATING = [
    translation(
        "translated",
        {"model": "whisper-base", "language": "de", "response_format": "json"},
        call=lambda c: c.translate(ASSETS["berlin.flac"](), language="de", chunking="server"),
        observe=seen.text,
    ),
    translation("members of a translation", german(), observe=seen.members),
    *(
        translation(
            f"response_format={kind}, translated",
            german(response_format=kind),
            observe=seen.members,
        )
        for kind in ("text", "verbose_json", "srt", "diarized_json")
    ),
    translation("stream, translated", german(stream=True), observe=seen.stream),
    translation(
        "no language, translated",
        {"model": "whisper-base", "max_completion_tokens": 2},
        observe=seen.text,
    ),
    translation("to_language=fr", german(to_language="fr"), observe=seen.text, ignored=True),
    translation("no file to translate", german(), file="text.wav", call=None),
    *(
        translation(
            f"a wrong {name}, translated",
            german(**{name: wrong}),
            call=None,
            observe=seen.text,
            gates={f"translation-{name.replace('_', '-')}": "“.*”"},
        )
        for name, wrong in WRONG.items()
    ),
    *(
        translation(f"{name}, translated", german(**{name: right}), observe=seen.text, ignored=True)
        for name, right in RIGHT.items()
    ),
]

SPEECH_CASES: list[Case] = [*ANSWERS, *SOUNDS, *OPTIONS, *TRANSLATING]
