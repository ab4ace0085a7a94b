"""One simulated server, without a network: a request in, an answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import _texts
from ._cohere import Cohere
from ._evidence import Refused, Release, Taken, Unknown
from ._models import Model
from ._ranking import Ranked
from ._reply import JSON, Reply, dumps
from ._retold import retold
from ._rows import Pooled, Rows, spoken
from ._says import Script
from ._wanted import Wanted
from ._written import Heard, Read

SPEECH = ("/v1/audio/transcriptions", "/v1/audio/translations")

Composer = Callable[..., Reply]


class Server:
    """What answers for one model on one release.

    Attributes:
        release: What the release was seen to do.
        model: What is served.
    """

    def __init__(self, release: Release, model: Model, script: Script) -> None:
        self.release, self.model, self._script = release, model, script
        self._rows = Rows(release.server, model)
        self._composers: dict[int, tuple[Taken, Composer]] = {}

    def answer(self, wanted: Wanted, **spoilt: bool) -> Reply:
        """What the release answers to a request.

        Args:
            wanted: The request.
            spoilt: `nan` or `loop`, for answers that are to go wrong so.
        """
        verdict = self.release.judge(wanted, self.model)
        match verdict:
            case Unknown(what):
                return self._not_recorded(wanted, what)
            case Refused():
                return self._refuse(verdict, wanted)
        key = id(verdict)
        if key not in self._composers:
            self._composers[key] = (verdict, self._composer(verdict))
        return self._composers[key][1](wanted, **spoilt)

    def _not_recorded(self, wanted: Wanted, what: str) -> Reply:
        place = f"{wanted.method} {wanted.path} on {self.release.release}"
        message = f"not recorded: {what} ({place}, {self.release.server})"
        error = {"message": message, "type": "NotRecorded", "param": None, "code": 501}
        return Reply(501, JSON, dumps({"error": error}))

    def _refuse(self, verdict: Refused, wanted: Wanted) -> Reply:
        like = verdict.nearest(wanted)
        body = retold(like.answer.body, (like.wanted, like.model), (wanted, self.model))
        content = body.encode() if isinstance(body, str) else dumps(body)
        return Reply(like.answer.status, _headers(like.answer.headers), content)

    def _composer(self, taken: Taken) -> Composer:
        makers: Mapping[str, Callable[[Taken], Composer]] = {
            "/v1/embeddings": self._pooled,
            "/pooling": self._pooled,
            "/classify": self._pooled,
            "/v2/embed": lambda taken: Cohere(taken, self._rows, self.model),
            "/v1/rerank": self._ranked,
            "/v1/score": self._ranked,
            "/v1/audio/transcriptions": self._heard,
            "/v1/audio/translations": self._heard,
            "/v1/chat/completions": lambda taken: Read(taken, self._script, self.model),
            "/tokenize": self._tokens,
            "/detokenize": self._words,
        }
        return makers.get(taken.like.wanted.operation, self._as_recorded)(taken)

    def _pooled(self, taken: Taken) -> Composer:
        return Pooled(taken, self._rows, self.model)

    def _ranked(self, taken: Taken) -> Composer:
        return Ranked(taken, self.release.server, self.model)

    def _heard(self, taken: Taken) -> Composer:
        seen = [one for path in SPEECH for one in self.release.seen("POST", path)]
        return Heard(taken, self._script, self.model, seen)

    def _tokens(self, taken: Taken) -> Composer:
        like: Mapping[str, Any] = taken.like.answer.body

        def compose(wanted: Wanted, **_: bool) -> Reply:
            words = ["[CLS]", *_texts.words(_prompt(wanted.fields)), "[SEP]"]
            if wanted.fields.get("add_special_tokens") is False:
                words = words[1:-1]
            ids = list(map(_texts.token_id, words))
            told = {"count": len(ids), "max_model_len": self.model.context, "tokens": ids}
            strings = {"token_strs": words if like["token_strs"] else None}
            return Reply(200, JSON, dumps({**like, **told, **strings}), len(ids))

        return compose

    def _words(self, taken: Taken) -> Composer:
        def compose(wanted: Wanted, **_: bool) -> Reply:
            words = " ".join(f"word{number}" for number in wanted.fields["tokens"])
            return Reply(200, JSON, dumps({"prompt": words}))

        return compose

    def _as_recorded(self, taken: Taken) -> Composer:
        like, body = taken.like, taken.like.answer.body
        if like.wanted.operation == "/v1/models":
            names = {"id": self.model.name, "root": self.model.name}
            told = {**names, "max_model_len": self.model.context}
            body = {**body, "data": [{**body["data"][0], **told}]}
        content = dumps(body) if isinstance(body, Mapping) else like.answer.content
        reply = Reply(200, _headers(like.answer.headers), content)
        return lambda wanted, **_: reply


def _prompt(fields: Mapping[str, Any]) -> str:
    return spoken(fields["messages"]) if "messages" in fields else str(fields["prompt"])


def _headers(recorded: Mapping[str, str]) -> dict[str, str]:
    """Those of a recorded answer that do not belong to that one answer alone."""
    return {name: recorded[name] for name in recorded.keys() - {"x-request-id"}}
