"""What every framework may ask, and is told of a recording."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import pytest

from vllm_modalities import Client, ResponseError, Segment, Transcript
from vllm_modalities.integrations import haystack, langchain, llama_index
from vllm_modalities.integrations._files import File, OCROptions, Part, SpeechOptions, _spoken

FILE = File("talk.wav", {"source": "talk.wav"})
SEGMENTS = (Segment(0, 2.5, "Hello."), Segment(2.5, 4, "Hi.", speaker="S02"))


def test_a_segment_has_its_times_and_its_speaker_where_there_is_one() -> None:
    heard = Transcript("Hello. Hi.", SEGMENTS, language="en", warnings=("a loop at 3 s",))
    whole = {"source": "talk.wav", "language": "en", "warnings": "a loop at 3 s"}
    assert list(_spoken(FILE, heard, "segment")) == [
        Part(FILE, "Hello.", {**whole, "start": 0, "end": 2.5}),
        Part(FILE, "Hi.", {**whole, "start": 2.5, "end": 4, "speaker": "S02"}),
    ]


def test_a_piece_that_failed_is_a_warning() -> None:
    failures = ((3, ResponseError("cut", body=b"")),)
    (part,) = _spoken(FILE, Transcript("Hello.", failures=failures), "recording")
    assert part.facts == {"source": "talk.wav", "warnings": "piece 3: cut"}


@pytest.mark.parametrize(
    "made",
    [
        haystack.VLLMOCRConverter,
        haystack.VLLMTranscriber,
        partial(langchain.VLLMAudioLoader, "talk.wav"),
        partial(langchain.VLLMOCRLoader, "page.png"),
        llama_index.VLLMAudioReader,
        llama_index.VLLMOCRReader,
    ],
)
def test_an_option_by_a_wrong_name_is_an_error_before_anything_is_read(made: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'page'"):
        made(page=3)


@pytest.mark.parametrize(
    ("options", "method"), [(OCROptions, Client.ocr_iter), (SpeechOptions, Client.transcribe)]
)
def test_options_are_arguments_of_the_client_s_method(options, method) -> None:
    assert options.__annotations__.keys() <= inspect.signature(method).parameters.keys()
