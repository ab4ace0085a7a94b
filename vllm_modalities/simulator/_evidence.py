"""What a release does with a request, judged by what it did with recorded ones.

Two rules, and no guess beyond them:

* A request is refused, in the same words, if it has all traits of one that was refused; but how
  that one wrote its texts, and how it wanted its answer written, counts only if no request that
  was taken did so.
* A request is taken if each of its traits was seen in one that was taken. A field that was seen
  without effect has none.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ._contents import TEXTS
from ._models import FACTS, Model, like
from ._recordings import Answer, Case, Recordings
from ._traits import traits
from ._wanted import Sound, Wanted, from_recording

SHAPING = (
    *("encoding_format", "embedding_types", "response_format", "stream", "stream_include_usage"),
    *("stream_continuous_usage_stats", "return_token_strs", "task"),
)
"""Fields on which the shape of an answer depends, so that they are not combined freely."""

CARRYING = TEXTS | frozenset(
    """encoding_format embed_dtype endianness embedding_types language temperature
    max_completion_tokens""".split()
)
"""Fields that a recorded request often has beside what it is about."""

ANYWHERE = frozenset({"/version", "/health", "/tokenize", "/detokenize", "/metrics"})
"""Routes whose answers do not depend on what a model does."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A recorded request, its traits, and what came of it."""

    name: str
    model: Model
    wanted: Wanted
    traits: frozenset[str]
    answer: Answer

    @property
    def refused(self) -> bool:
        """Whether the answer is an error, also one that a stream begins with."""
        body = self.answer.body
        begins = body.startswith('data: {"error"') if isinstance(body, str) else False
        return self.answer.status >= 400 or begins

    @property
    def is_validation(self) -> bool:
        """Whether it was refused before any model was looked at."""
        return self.answer.status == 401 or (
            isinstance(self.answer.body, Mapping)
            and isinstance(self.answer.body.get("error"), Mapping)
            and self.answer.body["error"].get("type") == "Bad Request"
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """A request that is answered.

    Attributes:
        like: The recorded one whose answer has the shape.
        shown: For each trait, a recorded request that has it and was taken.
    """

    like: Seen
    shown: Mapping[str, Seen]


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that is refused, as the recorded ones were, which have the same traits."""

    likes: tuple[Seen, ...]

    def nearest(self, wanted: Wanted) -> Seen:
        """The one that says most of what a request says."""
        items = list(wanted.fields.items())
        return max(
            self.likes,
            key=lambda one: sum(one.wanted.fields.get(name) == value for name, value in items),
        )


@dataclass(frozen=True, slots=True)
class Unknown:
    """A request of which nobody has seen what comes of it."""

    what: str


Verdict = Taken | Refused | Unknown


class Release:
    """What one kind of server of one release was seen to do."""

    def __init__(
        self,
        release: str,
        server: str,
        recordings: Iterable[Recordings],
        sounds: Mapping[str, Sound],
    ) -> None:
        self.release, self.server = release, server
        self._pool = like(server)
        self._sounds = sounds
        self._recordings = [one for one in recordings if release in one.recorded]
        self._seen: dict[tuple[str, str], list[Seen]] = {}
        self._verdicts: dict[tuple[str, str, frozenset[str]], Verdict] = {}
        self._models: dict[str, Model] = {}

    @cached_property
    def paths(self) -> Mapping[str, Mapping[str, Any]]:
        """The release's own list of its routes, and their methods."""
        for recordings in self._ours():
            for case in recordings.cases.values():
                answer = case.of(self.release)
                if case.asked.path == "/openapi.json" and answer and answer.status == 200:
                    paths: Mapping[str, Mapping[str, Any]] = answer.body["paths"]
                    return paths
        raise LookupError(f"no /openapi.json of {self.server!r} was recorded on {self.release}")

    def _ours(self) -> Iterator[Recordings]:
        """The recordings of this kind first, then of its like."""
        yield from sorted(
            (one for one in self._recordings if one.server in self._pool),
            key=lambda one: one.server != self.server,
        )

    def model(self, recordings: Recordings) -> Model:
        """The recorded model: its facts, and the numbers that its answers tell."""
        if recordings.server not in self._models:
            told: dict[str, Any] = dict(FACTS.get(recordings.server, {}))
            for case in recordings.cases.values():
                answer = case.of(self.release)
                if answer is not None:
                    told |= _told(case, answer)
            self._models[recordings.server] = Model(recordings.model, **told)
        return self._models[recordings.server]

    def seen(self, method: str, operation: str) -> list[Seen]:
        """The recorded requests of a route, those of this kind of server first."""
        key = (method, operation)
        if key not in self._seen:
            ours = {one.server for one in self._ours()}
            order = [*self._ours(), *(one for one in self._recordings if one.server not in ours)]
            self._seen[key] = [
                one
                for recordings in order
                for one in self._of(recordings, method, operation)
                if recordings.server in ours or operation in ANYWHERE or one.is_validation
            ]
        return self._seen[key]

    def _of(self, recordings: Recordings, method: str, operation: str) -> Iterator[Seen]:
        model = self.model(recordings)
        for name, case in recordings.cases.items():
            answer = case.of(self.release)
            if answer is None or not answer.status:
                continue
            wanted = from_recording(case.asked, self._sounds)
            if (wanted.method, wanted.operation) == (method, operation):
                yield Seen(name, model, wanted, traits(wanted, model), answer)

    def judge(self, wanted: Wanted, model: Model) -> Verdict:
        """What comes of a request to a server of `model`."""
        found = traits(wanted, model)
        key = (wanted.method, wanted.operation, found)
        if key not in self._verdicts:
            self._verdicts[key] = judge(found, self.seen(wanted.method, wanted.operation))
        return self._verdicts[key]


def judge(found: frozenset[str], seen: Sequence[Seen]) -> Verdict:
    """The two rules."""
    taken = [one for one in seen if not one.refused]
    fine = frozenset().union(*(one.traits for one in taken))
    refusals = [one for one in seen if one.refused and _strikes(one, found, fine)]
    if refusals and not any(one.traits == found for one in taken):
        best = min(_place(one, found) for one in refusals)
        return Refused(tuple(one for one in refusals if _place(one, found) == best))
    shown = {trait: _shown(trait, taken) for trait in found}
    missing = sorted(trait for trait, one in shown.items() if one is None)
    if missing:
        return Unknown(", ".join(missing))
    shape = shaping(found)
    likes = [one for one in taken if shaping(one.traits) == shape]
    if not likes:
        return Unknown(" with ".join(sorted(shape)) or "a plain request")
    like = min(likes, key=lambda one: len(one.traits ^ found))
    return Taken(like, {trait: one for trait, one in shown.items() if one is not None})


def _shown(trait: str, taken: Sequence[Seen]) -> Seen | None:
    """The plainest request with a trait."""
    having = (one for one in taken if trait in one.traits)
    return min(having, key=lambda one: len(one.traits), default=None)


def shaping(found: Iterable[str]) -> frozenset[str]:
    """Those of the traits that shape an answer."""
    return frozenset(one for one in found if one.partition(":")[0] in SHAPING)


def _strikes(one: Seen, found: frozenset[str], fine: frozenset[str]) -> bool:
    """Whether a request is refused like `one`; an error within a stream needs a stream."""
    alike = one.answer.status >= 400 or shaping(one.traits) == shaping(found)
    carried = {t for t in one.traits & fine if t.partition(":")[0] in CARRYING}
    return alike and (one.traits - carried or one.traits) <= found


def _place(one: Seen, found: frozenset[str]) -> tuple[bool, bool, bool, int]:
    """The same request; else servers look for the key, then at the fields, then at their values."""
    same = one.traits == found
    return not same, one.answer.status != 401, not one.is_validation, -len(one.traits & found)


def _told(case: Case, answer: Answer) -> dict[str, Any]:
    """Facts of a model that an answer shows."""
    body = answer.body
    if not isinstance(body, Mapping):
        return {}
    said = LANGUAGES.search(str(body.get("error")))
    if said is not None:
        return {"languages": tuple(re.findall(r"\w+", said[1]))}
    if answer.status == 200 and case.asked.path == "/v1/models":
        return {"context": body["data"][0]["max_model_len"]}
    rows = body.get("data")
    is_whole = "dimensions" not in (case.asked.json or {})
    if case.asked.path in VECTORS and is_whole and isinstance(rows, list):
        row = rows[0]
        return _width(case.asked.json, row.get("embedding", row.get("data")), "embedding" in row)
    return {}


VECTORS = ("/v1/embeddings", "/pooling")


def _width(fields: Mapping[str, Any], numbers: Any, is_one: bool) -> dict[str, int]:
    """How wide a vector is; base64 of what may be one a token does not tell."""
    if isinstance(numbers, list):
        return {"width": len(numbers[0] if isinstance(numbers[0], list) else numbers)}
    if not is_one:
        return {}
    size = SIZES.get(fields.get("embed_dtype", "float32"), 1)
    return {"width": len(base64.b64decode(numbers)) // size}


SIZES = {"float32": 4, "float16": 2, "bfloat16": 2}  # bytes of a number


LANGUAGES = re.compile(r"Unsupported language: .*Must be one of \[(.*?)\]")
