"""Server-sent events in the shape of recorded ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ._reply import dumps

Event = dict[str, Any]


def events_of(text: str) -> list[Event]:
    """The events of a recorded stream, without its end."""
    lines = [line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def _said(event: Event) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in event["choices"])


def _ends(event: Event) -> bool:
    return any(choice.get("finish_reason") for choice in event["choices"])


def streamed(
    like: str, pieces: Sequence[str], *, told: Event, prompt: int, finish: str
) -> Iterator[bytes]:
    """One event a piece, with those before and after that the recorded stream has.

    Args:
        like: The recorded stream.
        pieces: What is said, piece by piece.
        told: Members that every event has anew, such as the id.
        prompt: Tokens that were read.
        finish: Why the model ends.
    """
    events = events_of(like)
    first = next(at for at, event in enumerate(events) if _said(event))
    yield from (_line(event | told) for event in events[:first])
    saying = events[first]
    for count, piece in enumerate(pieces, 1):
        choice = saying["choices"][0]
        delta = choice["delta"] | {"content": piece}
        ended = {k: None for k in ("finish_reason", "stop_reason") if k in choice}
        event = saying | told | {"choices": [choice | {"delta": delta} | ended]}
        yield _line(_counted(event, prompt, count))
    last = next(event for event in events if _ends(event))
    choice = last["choices"][0]
    ended = choice | {"delta": choice["delta"] | {"content": ""}, "finish_reason": finish}
    yield _line(_counted(last | told | {"choices": [ended]}, prompt, len(pieces)))
    yield from (
        _line(_counted(event | told, prompt, len(pieces)))
        for event in events
        if not event["choices"]
    )
    yield b"data: [DONE]\n\n"


def _counted(event: Event, prompt: int, written: int) -> Event:
    if not event.get("usage"):
        return event
    counts = {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
    }
    return {**event, "usage": event["usage"] | counts}


def _line(event: Event) -> bytes:
    return b"data: " + dumps(event) + b"\n\n"
