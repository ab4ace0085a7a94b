"""How a model is asked to write speech down, by what its profile knows of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from .._context import Target
from .._flow import Flow, Together
from .._inputs import invalid
from ..errors import Finding
from ..profiles import Profile
from ._shortened import shortened


def unread(profile: Profile, prompt: str | None, hotwords: str | None) -> Iterator[Finding]:
    """What a model makes of a prompt and of hotwords, other than reading them."""
    speech = profile.speech
    if speech is None:
        return
    if prompt and speech.prompt == "replaces":
        message = (
            f"{profile.name} takes a prompt instead of its own instruction, and then writes in"
            " another form than the one that is read here. Leave `prompt` out"
        )
        yield _finding("error", "prompt", message, speech.sources["prompt"])
    if prompt and speech.prompt == "ignored":
        message = f"{profile.name} reads no prompt. Leave it out"
        yield _finding("warning", "prompt", message, speech.sources["prompt"])
    if hotwords and speech.hotwords is False:
        cure = "Put them into `prompt`" if speech.prompt == "context" else "Leave them out"
        message = f"{profile.name} reads no hotwords. {cure}"
        yield _finding("warning", "hotwords", message, speech.sources["hotwords"])


def fitted(target: Target, prompt: str | None) -> Flow[tuple[str | None, tuple[Finding, ...]]]:
    """The prompt, or as much of its end as the model holds, and whether some was taken off.

    A token has at least one byte, so only what has more bytes than that is counted, by a server;
    where none counts, so many bytes are kept.
    """
    speech = target.profile.speech
    most = speech.prompt_tokens if speech else None
    if not prompt or most is None or len(prompt.encode()) <= most:
        return prompt, ()
    end = shortened(target.context, target.model, prompt, most, end=True)
    (kept,) = yield from Together([end])
    if kept is None:
        return prompt, ()
    if not isinstance(kept, str):
        kept = prompt.encode()[-most:].decode("utf-8", "ignore")
    message = (
        f"prompt: {target.profile.name} holds {most} tokens of it, so the last {len(kept)} of"
        f" {len(prompt)} characters are sent"
    )
    return kept, (_finding("warning", "prompt", message, "openai/whisper decoding.py"),)


def format_of(target: Target, diarize: bool) -> Literal["json", "diarized_json"]:
    """The response format that tells speakers apart, or does not.

    A model that is known to write times and speakers into its text is asked for that: the server's
    own `diarized_json` is a 400 where one segment lacks its end.

    Raises:
        InvalidRequestError: The model is known to tell no speakers apart.
    """
    speech = target.profile.speech
    if not diarize or (speech is not None and speech.grammar == "diarized"):
        return "json"
    if speech is not None:
        raise invalid(
            "diarize",
            f"diarize=True: {target.model!r} is a {target.profile.name}, which tells no speakers"
            " apart; serve MOSS-Transcribe-Diarize for that",
            source="vLLM 0.32.0 vllm/model_executor/models, `supports_diarized_transcription`",
        )
    return "diarized_json"


def _finding(
    severity: Literal["error", "warning"], field: str, message: str, source: str
) -> Finding:
    return Finding(
        code=f"speech-{field}",
        severity=severity,
        field=field,
        message=message,
        source=source.partition(": ")[2] or source,
    )
