"""Answers of `/v2/embed`: the vectors of all texts, kind by kind."""

from __future__ import annotations

import json
from typing import Any

from ._effects import length, without_effect
from ._evidence import Taken
from ._models import Model
from ._reply import JSON, Form, Reply, fresh, hole
from ._rows import Row, Rows, Way, cut_of, texts_in
from ._wanted import Wanted


class Cohere:
    """`/v2/embed`: the vectors of all texts by kind."""

    def __init__(self, taken: Taken, rows: Rows, model: Model) -> None:
        self._rows, self._model = rows, model
        self._deaf, self._scale = without_effect(taken), length(taken)
        self._body: dict[str, Any] = taken.like.answer.body
        self._kinds = list(self._body["embeddings"])

    def __call__(self, wanted: Wanted, *, nan: bool = False) -> Reply:
        fields = {k: v for k, v in wanted.fields.items() if k not in self._deaf}
        texts, cut = texts_in(fields), cut_of(fields, self._model)
        found: dict[str, list[Row]] = {}
        for kind in self._kinds:
            way = Way(kind, size=fields.get("output_dimension"), scale=self._scale, cut=cut)
            found[kind] = [self._rows.row(text, way, nan=nan) for text in texts]
        tokens = sum(row.tokens for row in found[self._kinds[0]])
        prefix = self._body["id"].partition("-")[0]
        units = self._body["meta"]["billed_units"]
        billed = {name: tokens if count else 0 for name, count in units.items()}
        body = self._body | {
            "id": json.loads(fresh(prefix, None)),
            "embeddings": hole("embeddings"),
            "meta": self._body["meta"] | {"billed_units": billed},
        }
        if "texts" in body:
            body["texts"] = fields["texts"]
        vectors = b",".join(
            b'"%s":[%s]' % (kind.encode(), b",".join(row.written for row in rows))
            for kind, rows in found.items()
        )
        filled = Form(body).filled({"embeddings": b"{" + vectors + b"}"})
        return Reply(200, JSON, b"".join(filled), tokens)
