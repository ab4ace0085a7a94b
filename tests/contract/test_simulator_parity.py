"""The simulator answers every recorded request as that release did: no difference unexplained.

Compared are the status, the headers, the words of an error, names and types of all others, and what
the cases look at in an answer: numbers and length of vectors, results, ids, members, endings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from contract import cases, seen
from contract.assets import ASSETS, seconds
from contract.seen import Seen

from vllm_modalities.simulator._evidence import Release
from vllm_modalities.simulator._models import SOUNDS
from vllm_modalities.simulator._recordings import Answer, load, servers
from vllm_modalities.simulator._reply import Reply
from vllm_modalities.simulator._says import Script
from vllm_modalities.simulator._server import Server
from vllm_modalities.simulator._simulate import recorded
from vllm_modalities.simulator._streams import events_of
from vllm_modalities.simulator._wanted import Wanted, from_recording

CASES = {(case.server, case.name): case for case in cases.CASES}
RELEASES = [(server, release) for server in servers() for release in load(server).recorded]

PROBABILITIES = "how probable a class is, the simulator says by itself"
EXPLAINED: Mapping[tuple[str, Any], str] = {
    ("classify", seen.vectors): PROBABILITIES,
    ("rerank", seen.vectors): PROBABILITIES,
    ("token-classify", seen.vectors): "how much a token weighs, it says by itself",
}
"""By kind of server and what is looked at: why the simulator's answer is another."""

OWN = (
    *(seen.tokens, seen.text, seen.sentences, seen.last_start, seen.order, seen.relevance),
    *(seen.scores, seen.classes, seen.ids, seen.strings, seen.prompt),
)
"""What is looked at in answers that is the simulator's own: words, scores, and their counts."""


def shape(value: Any) -> Any:
    """Names and types; of a list, the shape of its first item, and nothing of an empty one."""
    match value:
        case Mapping():
            return {name: shape(each) for name, each in value.items()}
        case list():
            return [shape(each) for each in value[:1]]
    return type(value).__name__


def fits(ours: Any, theirs: Any) -> bool:
    """Whether two shapes are the same, where an empty list is like any other."""
    match ours, theirs:
        case dict(), dict():
            return ours.keys() == theirs.keys() and all(fits(ours[n], theirs[n]) for n in ours)
        case list(), list():
            return not (ours and theirs) or fits(ours[0], theirs[0])
    return bool(ours == theirs)


def told(status: int, headers: Mapping[str, str], content: bytes) -> Any:
    """What two answers are compared by: an error by its words, any other by its shape."""
    kind = headers.get("content-type", "").partition(";")[0]
    names = sorted(headers.keys() - {"x-request-id"})
    if kind == "application/octet-stream":
        return [status, names, shape(json.loads(headers.get("metadata", "null")))]
    if kind == "text/event-stream":
        events = events_of(content.decode())
        ends = [events[0], events[-1]]
        return [status, names, {str(n): _event(event) for n, event in enumerate(ends)}]
    if kind != "application/json":
        return [status, names, content]
    body = json.loads(content)
    is_error = status >= 400 or "version" in body
    return [status, names, json.dumps(body) if is_error else shape(body)]


def _event(event: Any) -> Any:
    return json.dumps(event) if "error" in event else shape(event)


def of_recording(answer: Answer) -> Any:
    return told(answer.status, answer.headers, answer.content)


def of_simulator(reply: Reply) -> Any:
    return told(reply.status, reply.headers, content_of(reply))


def content_of(reply: Reply) -> bytes:
    return reply.body if isinstance(reply.body, bytes) else b"".join(reply.body)


def routed(wanted: Wanted, release: Release) -> bool:
    """Whether a request reaches a handler; elsewhere the router answers, by the same list."""
    ways = release.paths.get(wanted.path, {"get": {}} if wanted.path == "/openapi.json" else {})
    return wanted.method.lower() in ways


def compared(server: str, release: str) -> dict[str, tuple[Any, Any]]:
    """The cases that are answered otherwise, with both answers or what is seen in them."""
    recordings = load(server)
    known = Release(release, server, recorded(), SOUNDS)
    simulated = Server(known, known.model(recordings), Script())
    found = {}
    for name, case in recordings.cases.items():
        answer, wanted = case.of(release), from_recording(case.asked, SOUNDS)
        if answer is None or answer.status == 0 or not routed(wanted, known):
            continue
        reply = simulated.answer(wanted)
        ours, theirs = of_simulator(reply), of_recording(answer)
        if ours[:2] != theirs[:2] or not fits(ours[2], theirs[2]):
            found[name] = (ours, theirs)
            continue
        looked = CASES[server, name]
        ours = looked.observed(Seen(case.asked, reply.status, reply.headers, content_of(reply)))
        theirs = looked.observed(Seen.of(case.asked, answer))
        if ours != theirs and looked.observe not in OWN and "x-request-id" not in theirs:
            found[name] = (ours, theirs)
    return found


def reason(server: str, name: str) -> tuple[str, Any]:
    return server, CASES[server, name].observe


@pytest.mark.parametrize(("server", "release"), RELEASES)
def test_recorded_requests_are_answered_as_they_were(server: str, release: str) -> None:
    found = compared(server, release)
    assert {name: found[name] for name in found if reason(server, name) not in EXPLAINED} == {}


def test_every_explanation_is_needed() -> None:
    explained = {server for server, _ in EXPLAINED}
    differences = {
        reason(server, name)
        for server, release in RELEASES
        if server in explained
        for name in compared(server, release)
    }
    assert EXPLAINED.keys() == differences


def test_what_is_kept_of_recorded_uploads_is_so() -> None:
    assert SOUNDS.keys() == ASSETS.keys()
    for name, sound in SOUNDS.items():
        assert sound.seconds == pytest.approx(seconds(name), abs=0.01)
        assert sound.size == pytest.approx(len(ASSETS[name]()), rel=0.05)  # by encoder


def test_a_difference_would_be_found() -> None:
    assert not fits(shape({"a": 1}), shape({"a": "1"}))
    assert not fits(shape({"a": [{"b": 1}]}), shape({"a": [{"c": 1}]}))
    assert told(400, {"content-type": "application/json"}, b'{"error": "a"}') != told(
        400, {"content-type": "application/json"}, b'{"error": "b"}'
    )
