"""Answers of `/rerank` and `/score`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import _texts
from ._effects import without_effect
from ._evidence import Taken
from ._models import Model
from ._reply import JSON, Reply, dumps, fresh, now
from ._rows import spoken
from ._says import logit, relevance
from ._traits import FIRSTS, SECONDS
from ._wanted import Wanted


class Ranked:
    """Both routes: documents best first, or pairs in order."""

    def __init__(self, taken: Taken, server: str, model: Model) -> None:
        self._server, self._model = server, model
        self._deaf = without_effect(taken)
        self._like: dict[str, Any] = taken.like.answer.body

    def __call__(self, wanted: Wanted, *, nan: bool = False) -> Reply:
        fields = {k: v for k, v in wanted.fields.items() if k not in self._deaf}
        ranks = "results" in self._like
        names = (("query",), ("documents",)) if ranks else (FIRSTS, SECONDS)
        queries, documents = (_side(fields, side) for side in names)
        if len(queries) == 1:
            queries = queries * len(documents)
        raw = self._server == "rerank" and fields.get("use_activation") is False
        scores = [
            None
            if nan
            else _scaled(relevance(_words(q), _words(d), self._server, self._model), raw)
            for q, d in zip(queries, documents, strict=True)
        ]
        tokens = sum(map(_texts.count, map(_words, (*queries, *documents))))
        given = None if "X-Request-Id" in self._deaf else wanted.headers.get("x-request-id")
        prefix = self._like["id"].partition("-")[0]
        body = self._like | {
            "id": json.loads(fresh(prefix, given or fields.get("request_id"))),
            "model": self._model.name,
            "usage": self._like["usage"] | {"prompt_tokens": tokens, "total_tokens": tokens},
        }
        if ranks:
            order = sorted(range(len(documents)), key=lambda i: -(scores[i] or 0.0))
            found = [_ranked(i, documents[i], scores[i], self._like) for i in order]
            top = int(fields.get("top_n") or 0)  # a number in a text is one too
            body["results"] = found[:top] if top > 0 else found
        else:
            item = self._like["data"][0]
            body["data"] = [item | {"index": i, "score": s} for i, s in enumerate(scores)]
            body["created"] = int(now())
        return Reply(200, JSON, dumps(body), tokens)


def _side(fields: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    value = next(fields[name] for name in names if name in fields)
    return value if isinstance(value, list) else [value]


def _words(item: Any) -> str:
    return item if isinstance(item, str) else spoken([item])


def _scaled(score: float, raw: bool) -> float:
    return logit(score) if raw else score


def _ranked(index: int, document: Any, score: float | None, like: Mapping[str, Any]) -> Any:
    item = like["results"][0]
    held = item["document"]
    text = document if isinstance(document, str) else None
    parts = None if isinstance(document, str) else document["content"]
    return item | {
        "index": index,
        "document": held | {"text": text, "multi_modal": parts},
        "relevance_score": score,
    }
