"""Odd and damaged sound files give a transcript, or say what is wrong."""

from __future__ import annotations

import pytest
from _script import BLOCKING, Talker
from _sounds import KINDS, made
from _words import Hearing

from vllm_modalities import MediaError, PartialFailureError, Transcript


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_each_kind_is_heard_or_named(kind) -> None:
    source = made(kind, seed=0)
    talker = Talker(BLOCKING, Hearing())
    try:
        transcript = talker.transcribe(source, language="en")
    except (MediaError, PartialFailureError):
        return
    assert isinstance(transcript, Transcript)
    assert transcript.duration > 0
