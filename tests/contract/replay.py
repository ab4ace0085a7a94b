"""A server made of the recordings of one release: it answers only what it was asked before."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx
import soundfile
from contract.case import KEY
from contract.record import body_of
from contract.seen import HTTP_ONLY
from PIL import Image, UnidentifiedImageError

from vllm_modalities import AsyncClient, Client
from vllm_modalities.simulator._recordings import Asked, Recordings, load

URL = "http://replay"


class Replay:
    """What one kind of server answered, of one release.

    Attributes:
        release: Which.
        seen: The keys of the requests so far.
        clients: One of each kind; they keep what they have learned of the server.
    """

    def __init__(self, recordings: Recordings, release: str) -> None:
        self.release, self.seen = release, set[str]()
        self._answers = {
            key_of_asked(case.asked): answer
            for case in reversed(recordings.cases.values())
            if (answer := case.of(release))
        }
        transport = httpx.MockTransport(self)
        # Before 0.21 a server does whatever its model can, which its routes do not tell.
        tasks = ("token_classify", "embed_tokens", "tokenize")
        url = dict.fromkeys(tasks, URL) if recordings.server == "token-classify" else URL
        key = KEY if recordings.server == "embed-matryoshka" else None
        self.clients = (
            Client(url, api_key=key, max_retries=0, http_client=httpx.Client(transport=transport)),
            AsyncClient(
                url, api_key=key, max_retries=0, http_client=httpx.AsyncClient(transport=transport)
            ),
        )

    def __call__(self, request: httpx.Request) -> httpx.Response:
        key = key_of(request)
        self.seen.add(key)
        if key not in self._answers:
            raise AssertionError(f"no case asks {self.release} this: {key[:2000]}")
        answer = self._answers[key]
        if answer.status == 0:
            raise httpx.ReadTimeout("as when it was recorded", request=request)
        headers = {n: v for n, v in answer.headers.items() if n not in HTTP_ONLY}
        return httpx.Response(answer.status, headers=headers, content=answer.content)


@cache
def replayed(server: str, release: str) -> Replay:
    return Replay(load(server), release)


def key_of_asked(asked: Asked) -> str:
    """The key of the request as the recorder sends it."""
    body = body_of(asked)
    return key_of(httpx.Request(asked.method, URL + asked.path, headers=asked.headers, **body))


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
    try:
        with Image.open(io.BytesIO(base64.b64decode(encoded, validate=True))) as image:
            return f"a picture of {image.size}"
    except (binascii.Error, UnidentifiedImageError, Image.DecompressionBombError):
        return None


def _parts(kind: str, content: bytes) -> list[tuple[str, str]]:
    """Name and value of each part; a file's value is what is heard in it."""
    boundary = b"--" + kind.partition("boundary=")[2].encode()
    found = []
    for part in content.split(boundary)[1:-1]:
        head, _, value = part[2:-2].partition(b"\r\n\r\n")
        name = re.search(rb'; name="([^"]*)"', head)
        assert name is not None
        text = _sound(value) if b"; filename=" in head else value.decode()
        found.append((name[1].decode(), text))
    return sorted(found)


def _sound(content: bytes) -> str:
    try:
        return f"{soundfile.info(io.BytesIO(content)).duration:.2f} s of sound"
    except soundfile.LibsndfileError:
        return hashlib.sha256(content).hexdigest()
