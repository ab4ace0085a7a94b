"""Answers of models that write: transcripts, translations and pages."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._evidence import Seen, Taken
from ._models import Model
from ._reply import JSON, Reply, dumps, fresh, now
from ._says import Script, sentences
from ._streams import streamed
from ._wanted import Sound, Wanted

PIECE = re.compile(r"<\|[^|\s]+\|>|\s*\w+|\s*[^\w\s]|\s+\Z")
MARKER = re.compile(r"<\|[^|\s]+\|>")
AHEAD = 4  # tokens that stand before what Whisper writes
LOOP, LONG_LOOP = " and so on", 2000  # what a model in a loop says, and for how many tokens


def pieces_of(text: str, limit: int | None) -> tuple[list[str], str]:
    """A text token by token, as many as are allowed; and why it ends."""
    pieces = PIECE.findall(text)
    if limit is not None and limit < len(pieces):
        return pieces[:limit], "length"
    return pieces, "stop"


class Heard:
    """`/v1/audio/transcriptions` and `/v1/audio/translations`."""

    def __init__(self, taken: Taken, script: Script, model: Model, seen: Iterable[Seen]) -> None:
        self._script, self._model = script, model
        self._like: Any = taken.like.answer.body
        self._headers = dict(taken.like.answer.headers)
        self._segment: Mapping[str, Any] = next(
            (
                one.answer.body["segments"][0]
                for one in (taken.like, *seen)
                if isinstance(one.answer.body, Mapping) and one.answer.body.get("segments")
            ),
            {},
        )

    def __call__(self, wanted: Wanted, *, loop: bool = False) -> Reply:
        sound = wanted.file
        assert sound is not None
        text = LOOP * LONG_LOOP if loop else f" {self._script.heard(sound)}"
        limit = wanted.fields.get("max_completion_tokens")
        pieces, finish = pieces_of(text, limit or self._model.context)
        if isinstance(self._like, str):
            return self._stream(wanted, pieces, finish)
        body = dict(self._like)
        text = "".join(pieces)
        body["text"] = text
        if "usage" in body:
            body["usage"] = body["usage"] | {"seconds": math.ceil(sound.seconds or 0)}
        if "segments" in body:
            body |= self._verbose(body, wanted.fields, sound, text)
        return Reply(200, JSON, dumps(body), len(pieces))

    def _verbose(
        self, like: Mapping[str, Any], fields: Mapping[str, Any], sound: Sound, text: str
    ) -> dict[str, Any]:
        """Sentences, each with its share of the time."""
        parts = sentences(text)
        total, at, segments = sum(map(len, parts)) or 1, 0.0, []
        for number, part in enumerate(parts):
            ends = at + (sound.seconds or 0) * len(part) / total
            times = {"id": number, "start": round(at, 2), "end": round(ends, 2)}
            segments.append({**self._segment, **times, "text": f" {part}"})
            at = ends
        kind = type(like["duration"])  # a text or a number, by release
        language = fields.get("language") or like["language"]
        return {"segments": segments, "duration": kind(sound.seconds or 0), "language": language}

    def _stream(self, wanted: Wanted, pieces: Sequence[str], finish: str) -> Reply:
        prefix = re.search(r'"id":\s*"(\w+)-', self._like)
        told = {
            "id": json.loads(fresh(prefix[1] if prefix else "transcribe", None)),
            "created": int(now()),
            "model": self._model.name,
        }
        lines = streamed(self._like, pieces, told=told, prompt=AHEAD, finish=finish)
        return Reply(200, self._headers, list(lines), len(pieces))


class Read:
    """`/v1/chat/completions` of a model that reads pages."""

    def __init__(self, taken: Taken, script: Script, model: Model) -> None:
        self._script, self._model = script, model
        self._like: Any = taken.like.answer.body
        self._headers = dict(taken.like.answer.headers)

    def __call__(self, wanted: Wanted, *, loop: bool = False) -> Reply:
        fields = wanted.fields
        text = "\n".join(self._script.read(image) for image in _images(fields["messages"]))
        if fields.get("skip_special_tokens") is not False:
            text = MARKER.sub("", text)
        limit = fields.get("max_completion_tokens") or fields.get("max_tokens")
        limit = min(limit or self._model.context, self._model.context)
        pieces, finish = pieces_of(text + LOOP * LONG_LOOP if loop else text, limit)
        told = {"created": int(now()), "model": self._model.name}
        if isinstance(self._like, str):
            told["id"] = json.loads(fresh("chatcmpl", None))
            lines = streamed(self._like, pieces, told=told, prompt=AHEAD, finish=finish)
            return Reply(200, self._headers, list(lines), len(pieces))
        given = fields.get("request_id") or wanted.headers.get("x-request-id")
        told["id"] = json.loads(fresh("chatcmpl", given))
        choice = self._like["choices"][0]
        message = choice["message"] | {"content": "".join(pieces)}
        prompt = self._like["usage"]["prompt_tokens"]
        usage = {"completion_tokens": len(pieces), "total_tokens": prompt + len(pieces)}
        body = self._like | told
        body["choices"] = [choice | {"message": message, "finish_reason": finish}]
        body["usage"] = self._like["usage"] | usage
        return Reply(200, JSON, dumps(body), len(pieces))


def _images(messages: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """The pictures in a conversation; an empty one where there is none."""
    urls = [
        part["image_url"]["url"]
        for message in messages
        for part in message["content"]
        if isinstance(part, dict) and part.get("type") == "image_url"
    ]
    return [base64.b64decode(url.partition(",")[2]) for url in urls] or [b""]
