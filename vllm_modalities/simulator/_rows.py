"""Answers with a vector, a matrix or probabilities for each text."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from . import _texts
from ._effects import length, without_effect
from ._encoding import packed, raw
from ._evidence import Taken
from ._models import Model
from ._reply import JSON, Form, Reply, dumps, fresh, hole, now
from ._says import array_of, logit
from ._vectors import Vector, unit
from ._wanted import Wanted

BINARY = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Cut:
    """How much of a text is read: `limit` tokens at most, of its end if `left` is dropped."""

    limit: int | None = None
    left: bool = False

    def __call__(self, text: str) -> tuple[str, int]:
        """What is read of a text, and how many tokens that is."""
        count = _texts.count(text)
        if self.limit is None or count <= self.limit:
            return text, count
        kept = max(self.limit - 2, 0)
        words = _texts.words(text)
        return " ".join(words[len(words) - kept :] if self.left else words[:kept]), self.limit


@dataclass(frozen=True, slots=True)
class Way:
    """How the numbers of a text are made and written; equal ways write equal bytes."""

    form: str
    kind: str = "float32"
    big: bool = False
    size: int | None = None
    scale: float = 1.0
    activated: bool = True
    by_token: bool = False
    cut: Cut = Cut()


@dataclass(frozen=True, slots=True)
class Row:
    """The numbers of one text, written; `label` is the most probable class."""

    written: bytes
    tokens: int
    shape: tuple[int, ...]
    label: int = 0


class Rows:
    """What a kind of server makes of texts."""

    def __init__(self, server: str, model: Model) -> None:
        self._array, self._model = array_of(server), model
        self._probable = server in ("rerank", "classify")

    def row(self, text: str, way: Way, *, nan: bool = False) -> Row:
        """The numbers of a text."""
        read, tokens = way.cut(text)
        numbers = self._array(read, self._model)
        if way.by_token and numbers.ndim == 1:
            words = ["[CLS]", *_texts.words(read), "[SEP]"]
            numbers = np.stack([self._array(word, self._model) for word in words])
        label = int(numbers.argmax()) if numbers.ndim == 1 else 0
        if self._probable:
            numbers = numbers if way.activated else np.vectorize(logit)(numbers)
        elif numbers.ndim == 1:
            numbers = unit(numbers[: way.size]) * np.float32(way.scale)
        else:
            numbers = numbers * np.float32(1 if way.activated else 2)
            numbers = numbers[:, 0] if numbers.shape[1] == 1 else numbers  # weights, as written
        if nan:
            numbers = np.full_like(numbers, np.nan, dtype=np.float32)
        return Row(written(numbers.astype(np.float32), way), tokens, numbers.shape, label)


def written(numbers: Vector, way: Way) -> bytes:
    """Numbers as JSON, or as bytes."""
    match way.form:
        case "float":
            return dumps(numbers.tolist()).replace(b"NaN", b"null")
        case "base64":
            return b'"' + base64.b64encode(raw(numbers, way.kind, big=way.big)) + b'"'
        case "binary" | "ubinary":
            offset = 128 if way.form == "binary" else 0
            return dumps((packed(numbers).astype(int) - offset).tolist())
    return raw(numbers, way.kind, big=way.big)


def texts_in(fields: Mapping[str, Any]) -> list[str]:
    """The texts of an embedding, pooling or classify request; other inputs as if they were text."""
    names = ("messages", "input", "texts", "inputs", "images")
    name = next(name for name in names if fields.get(name) is not None)
    value = fields[name]
    if isinstance(value, str):
        return [value]
    if name == "messages" or (name == "input" and value and isinstance(value[0], dict)):
        return list(map(spoken, value if isinstance(value[0], list) else [value]))
    if value and isinstance(value[0], int):
        return [_ids(value)]
    return [_text(one) for one in value]


def _text(item: Any) -> str:
    if isinstance(item, list):
        return _ids(item) if isinstance(item[0], int) else spoken(item)
    return spoken([item]) if isinstance(item, dict) else str(item)


def _ids(ids: Sequence[int]) -> str:
    return " ".join(map(str, ids[1:-1] if ids[0] == _texts.SPECIAL[0] else ids))


def spoken(messages: Sequence[Mapping[str, Any]]) -> str:
    """The words of a conversation."""
    return "\n".join(part for message in messages for part in _parts(message["content"]))


def _parts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        yield from (part["text"] for part in content if part.get("type") == "text")


def cut_of(fields: Mapping[str, Any], model: Model) -> Cut:
    """How a request has its texts cut."""
    limit, left = fields.get("truncate_prompt_tokens"), fields.get("truncation_side") == "left"
    if "texts" in fields or "inputs" in fields:
        how = fields.get("truncate", "END")
        limit = None if how == "NONE" else fields.get("max_tokens") or -1
        left = how == "START"
    return Cut(model.context if limit == -1 else limit, left)


@dataclass(frozen=True, slots=True)
class Item:
    """A text's part of an answer: what stands before its place in the list, and after."""

    row: Row
    before: bytes = b""
    after: bytes = b""


SPLIT = b"\0"  # where the place goes; no JSON has it


class Pooled:
    """`/v1/embeddings`, `/pooling` and `/classify`: one item a text."""

    def __init__(self, taken: Taken, rows: Rows, model: Model) -> None:
        self._model, self._rows = model, rows
        self._like = taken.like
        self._deaf = without_effect(taken)
        self._scale = length(taken)
        self._makers: dict[Way, Callable[[str], Item]] = {}
        self._headers = dict(taken.like.answer.headers)
        body = taken.like.answer.body
        self._binary = isinstance(body, bytes)
        if isinstance(body, bytes):
            self._meta = json.loads(self._headers.pop("metadata", "null"))
            self._prefix = self._meta["id"].partition("-")[0] if self._meta else ""
            return
        self._prefix = body["id"].partition("-")[0]
        item = body["data"][0]
        self._numbers = next(k for k in ("embedding", "data", "probs") if k in item)
        self._written = "base64" if isinstance(item[self._numbers], str) else "float"
        self._item = Form(
            item
            | {name: hole(name) for name in ("index", "label", "num_classes") if name in item}
            | {self._numbers: hole("numbers")}
        )
        usage = body["usage"] | {"prompt_tokens": hole("tokens"), "total_tokens": hole("tokens")}
        holes = {name: hole(name) for name in ("id", "created")}
        self._body = Form(
            body | holes | {"model": model.name, "data": hole("data"), "usage": usage}
        )

    def __call__(self, wanted: Wanted, *, nan: bool = False) -> Reply:
        fields = {k: v for k, v in wanted.fields.items() if k not in self._deaf}
        way = Way(
            form=fields["encoding_format"] if self._binary else self._written,
            kind=fields.get("embed_dtype") or "float32",
            big=fields.get("endianness") == "big",
            size=None if fields.get("dimensions") is None else int(fields["dimensions"]),
            scale=self._scale,
            activated=fields.get("use_activation") is not False,
            by_token=str(fields.get("task")).startswith("token_"),
            cut=cut_of(fields, self._model),
        )
        items = list(map(self._maker(way, nan), texts_in(fields)))
        given = None if "X-Request-Id" in self._deaf else wanted.headers.get("x-request-id")
        name = fresh(self._prefix, given or fields.get("request_id"))
        tokens = sum(item.row.tokens for item in items)
        if self._binary:
            return self._bytes([item.row for item in items], name, tokens, way)
        pieces = [b"["]
        for index, item in enumerate(items):
            pieces += (item.before, b"%d" % index, item.after)
        pieces[-1] = pieces[-1][:-1]  # no comma behind the last
        pieces.append(b"]")
        values = {
            "data": b"".join(pieces),
            "id": name,
            "created": now(),
            "tokens": b"%d" % tokens,
        }
        return Reply(200, JSON, b"".join(self._body.filled(values)), tokens)

    def _maker(self, way: Way, nan: bool) -> Callable[[str], Item]:
        """What makes the item of a text, remembered by text."""
        if nan:
            return lambda text: self._made(text, way, nan=True)
        if way not in self._makers:
            self._makers[way] = lru_cache(maxsize=4096)(partial(self._made, way=way))
        return self._makers[way]

    def _made(self, text: str, way: Way, *, nan: bool = False) -> Item:
        row = self._rows.row(text, way, nan=nan)
        if self._binary:
            return Item(row)
        label = dumps(self._model.labels[row.label]) if "label" in self._item.names else b""
        written = self._item.filled(
            {
                "index": SPLIT,
                "numbers": row.written,
                "label": label,
                "num_classes": b"%d" % len(self._model.labels),
            }
        )
        before, _, after = b"".join(written).partition(SPLIT)
        return Item(row, before, after + b",")

    def _bytes(self, rows: Sequence[Row], name: bytes, tokens: int, way: Way) -> Reply:
        headers = dict(self._headers)
        if self._meta is not None:
            at = 0
            data = []
            for index, row in enumerate(rows):
                ends = at + len(row.written)
                like = self._meta["data"][0] | {"embed_dtype": way.kind, "shape": row.shape}
                data.append(like | {"index": index, "start": at, "end": ends})
                at = ends
            usage = self._meta["usage"] | {"prompt_tokens": tokens, "total_tokens": tokens}
            told = {"id": json.loads(name), "created": int(now()), "model": self._model.name}
            headers["metadata"] = json.dumps(self._meta | told | {"data": data, "usage": usage})
        return Reply(200, headers, [b"".join(row.written for row in rows)], tokens)
