"""A server made of the recordings of one release: it answers only what it was asked before."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping
from email import message_from_bytes
from typing import Any

import httpx
import soundfile
from contract.record import body_of
from contract.seen import HTTP_ONLY
from PIL import Image, UnidentifiedImageError

from vllm_modalities.simulator._recordings import Asked, Recordings

URL = "http://replay"


class Replay:
    """What one kind of server answered, of one release.

    Attributes:
        release: Which.
        seen: The keys of the requests so far.
    """

    def __init__(self, recordings: Recordings, release: str) -> None:
        self.release, self.seen = release, set[str]()
        self._answers = {
            key_of(asked(case.asked)): answer
            for case in reversed(recordings.cases.values())
            if (answer := case.of(release))
        }

    def __call__(self, request: httpx.Request) -> httpx.Response:
        key = key_of(request)
        self.seen.add(key)
        if key not in self._answers:
            raise AssertionError(f"no case asks {self.release} this: {key[:2000]}")
        answer = self._answers[key]
        headers = {n: v for n, v in answer.headers.items() if n not in HTTP_ONLY}
        return httpx.Response(answer.status, headers=headers, content=answer.content)


def asked(request: Asked) -> httpx.Request:
    """The request as the recorder sends it."""
    body = body_of(request)
    return httpx.Request(request.method, URL + request.path, headers=request.headers, **body)


def key_of(request: httpx.Request) -> str:
    """The same for requests that ask the same; media count by what is in them."""
    kind = request.headers.get("content-type", "")
    content: Any = request.read()
    if kind.startswith("multipart/"):
        content = _parts(kind, content)
    elif kind.startswith("application/json"):
        content = _json(content)
    told = {name: request.headers.get(name) for name in ("authorization", "x-request-id")}
    return json.dumps(
        [request.method, request.url.path, told, content], sort_keys=True, default=repr
    )


def _json(content: bytes) -> Any:
    try:
        return _media(json.loads(content))
    except ValueError:
        return content


def _media(value: Any) -> Any:
    """`value` with the pictures in data URLs replaced by their sizes."""
    if isinstance(value, Mapping):
        return {name: _media(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_media(each) for each in value]
    if isinstance(value, str) and (found := re.fullmatch("data:image/png;base64,(.+)", value)):
        return _picture(found[1]) or value
    return value


def _picture(encoded: str) -> str | None:
    import base64
    import binascii

    try:
        with Image.open(io.BytesIO(base64.b64decode(encoded, validate=True))) as image:
            return f"a picture of {image.size}"
    except (binascii.Error, UnidentifiedImageError, Image.DecompressionBombError):
        return None


def _parts(kind: str, content: bytes) -> list[tuple[str, str]]:
    message = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + content)
    parts = message.get_payload()
    assert isinstance(parts, list)
    found = []
    for part in parts:
        raw = part.get_payload(decode=True)
        name = part.get_param("name", header="content-disposition")
        file = part.get_filename()
        found.append((str(name), _sound(raw) if file is not None else raw.decode()))
    return sorted(found)


def _sound(content: bytes) -> str:
    try:
        return f"{soundfile.info(io.BytesIO(content)).duration:.2f} s of sound"
    except soundfile.LibsndfileError:
        return hashlib.sha256(content).hexdigest()
