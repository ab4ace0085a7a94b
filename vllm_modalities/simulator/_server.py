"""One simulated server, without a network: a request in, an answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import _texts
from ._evidence import Refused, Release, Taken, Unknown
from ._models import Model
from ._ranking import Ranked
from ._reply import JSON, Reply, dumps
from ._retold import retold
from ._rows import Cohere, Pooled, Rows
from ._says import Script
from ._wanted import Wanted
from ._written import Heard, Read

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
        match taken.like.wanted.operation:
            case "/v1/embeddings" | "/pooling" | "/classify":
                return Pooled(taken, self._rows, self.model)
            case "/v2/embed":
                return Cohere(taken, self._rows, self.model)
            case "/v1/rerank" | "/v1/score":
                return Ranked(taken, self.release.server, self.model)
            case "/v1/audio/transcriptions" | "/v1/audio/translations":
                return Heard(taken, self._script, self.model)
            case "/v1/chat/completions":
                return Read(taken, self._script, self.model)
            case "/tokenize":
                return self._tokens(taken.like.answer.body)
            case "/detokenize":
                return lambda wanted, **_: Reply(200, JSON, dumps({"prompt": self._words(wanted)}))
        return self._as_recorded(taken)

    def _tokens(self, like: Mapping[str, Any]) -> Composer:
        def compose(wanted: Wanted, **_: bool) -> Reply:
            fields = wanted.fields
            text = fields.get("prompt") or ""
            words = ["[CLS]", *_texts.words(text), "[SEP]"]
            if fields.get("add_special_tokens") is False:
                words = words[1:-1]
            ids = list(map(_texts.token_id, words))
            strings = words if like.get("token_strs") else None
            told = {"count": len(ids), "max_model_len": self.model.context, "tokens": ids}
            body = {**like, **told} | ({"token_strs": strings} if "token_strs" in like else {})
            return Reply(200, JSON, dumps(body), len(ids))

        return compose

    def _words(self, wanted: Wanted) -> str:
        return " ".join(f"word{number}" for number in wanted.fields["tokens"])

    def _as_recorded(self, taken: Taken) -> Composer:
        like = taken.like
        model = {"id": self.model.name, "root": self.model.name, "max_model_len": self.model.context}
        body = like.answer.body
        if like.wanted.operation == "/v1/models":
            body = {**body, "data": [{**body["data"][0], **model}]}
        content = body if isinstance(body, bytes) else (body or "").encode() if isinstance(body, str | None) else dumps(body)
        reply = Reply(200, _headers(like.answer.headers), content)
        return lambda wanted, **_: reply


def _headers(recorded: Mapping[str, str]) -> dict[str, str]:
    """Those of a recorded answer that do not belong to that one answer alone."""
    return {name: value for name, value in recorded.items() if name != "x-request-id"}
