"""How a request is judged by recorded ones: refused like them, taken like them, or unknown."""

import re
from pathlib import Path

import pytest

from vllm_modalities import simulator
from vllm_modalities.simulator import _evidence
from vllm_modalities.simulator._evidence import Refused, Release, Seen, Taken, Unknown, judge
from vllm_modalities.simulator._models import Model
from vllm_modalities.simulator._recordings import Answer, Asked, Case, Recordings
from vllm_modalities.simulator._wanted import Wanted

MODEL = Model("m")
OK = {"id": "x-1"}


def seen(name: str, *traits: str, status: int = 200, body: object = OK, **fields: object) -> Seen:
    wanted = Wanted("POST", "/p", fields=fields)
    return Seen(name, MODEL, wanted, frozenset(traits), Answer(("1.0",), status, {}, body))


def error(kind: str = "BadRequestError") -> dict[str, object]:
    return {"error": {"message": "no", "type": kind, "param": None, "code": 400}}


def names(verdict: object) -> list[str]:
    assert isinstance(verdict, Refused)
    return [one.name for one in verdict.likes]


def test_a_request_with_all_traits_of_a_refused_one_is_refused() -> None:
    known = [seen("plain"), seen("bad", "a", status=400, body=error()), seen("fine", "b")]
    assert names(judge(frozenset({"a", "b"}), known)) == ["bad"]


def test_a_request_that_lacks_a_trait_of_a_refused_one_is_not() -> None:
    both = seen("both", "a", "b", status=400, body=error())
    known = [both, seen("one", "a"), seen("other", "b")]
    assert isinstance(judge(frozenset({"a"}), known), Taken)
    assert names(judge(frozenset({"a", "b"}), known)) == ["both"]


def test_how_a_refused_request_carried_its_texts_does_not_count() -> None:
    bad = seen("bad", "input: text", "encoding_format: base64", "a", status=400, body=error())
    known = [
        bad,
        seen("fine", "input: text", "encoding_format: base64"),
        seen("list", "input: list"),
    ]
    assert names(judge(frozenset({"input: list", "a"}), known)) == ["bad"]


def test_an_option_of_a_refused_request_counts_though_others_were_taken_with_it() -> None:
    bad = seen("bad", "a", "b", status=400, body=error())
    assert judge(frozenset({"a"}), [bad, seen("plain"), seen("fine", "b")]) == Unknown("a")


def test_a_request_is_taken_if_each_trait_was_seen_in_one_that_was() -> None:
    known = [seen("plain"), seen("one", "a"), seen("other", "b")]
    verdict = judge(frozenset({"a", "b"}), known)
    assert isinstance(verdict, Taken)
    assert {trait: one.name for trait, one in verdict.shown.items()} == {"a": "one", "b": "other"}


def test_what_nobody_has_sent_is_unknown_and_named() -> None:
    verdict = judge(frozenset({"a", "c", "b"}), [seen("plain"), seen("one", "a")])
    assert verdict == Unknown("b, c")


def test_a_route_that_nobody_has_asked_is_unknown() -> None:
    assert judge(frozenset(), []) == Unknown("a plain request")


def test_two_shapes_of_answer_are_not_combined() -> None:
    known = [seen("one", "stream: true"), seen("other", "response_format: text")]
    verdict = judge(frozenset({"stream: true", "response_format: text"}), known)
    assert verdict == Unknown("response_format: text with stream: true")


def test_the_shape_is_that_of_the_likest_request() -> None:
    known = [seen("plain"), seen("far", "a", "b", "c"), seen("near", "a", "b")]
    verdict = judge(frozenset({"a", "b"}), known)
    assert isinstance(verdict, Taken)
    assert verdict.like.name == "near"


def test_the_same_request_speaks_before_any_other() -> None:
    known = [seen("part", "a", status=400, body=error()), seen("same", "a", "b")]
    assert isinstance(judge(frozenset({"a", "b"}), known), Taken)


@pytest.mark.parametrize(
    ("one", "other", "first"),
    [
        ((400, error()), (401, {"error": "Unauthorized"}), "other"),
        ((400, error()), (400, error("Bad Request")), "other"),
        ((401, {"error": "Unauthorized"}), (400, error("Bad Request")), "one"),
    ],
)
def test_of_two_refusals_the_one_that_comes_first_counts(one, other, first) -> None:
    known = [
        seen("one", "a", status=one[0], body=one[1]),
        seen("other", "b", status=other[0], body=other[1]),
    ]
    assert names(judge(frozenset({"a", "b"}), known)) == [first]


def test_an_error_that_a_stream_begins_with_is_a_refusal() -> None:
    known = [seen("stream", "a", body='data: {"error": {}}\n\n')]
    assert names(judge(frozenset({"a"}), known)) == ["stream"]


def test_of_equal_refusals_the_one_that_says_most_of_the_same_is_repeated() -> None:
    known = [
        seen("hex", "a", status=400, body=error(), form="hex", n=1),
        seen("oct", "a", status=400, body=error(), form="oct", n=1),
    ]
    verdict = judge(frozenset({"a"}), known)
    assert isinstance(verdict, Refused)
    assert verdict.nearest(Wanted("POST", "/p", fields={"form": "oct", "n": 2})).name == "oct"


def recordings(server: str, model: str, /, **cases: Case) -> Recordings:
    return Recordings(server, model, {"1.0": "2026-11-29"}, cases)


def posted(path: str, fields: object, status: int, body: object) -> Case:
    return Case(Asked("POST", path, json=fields), (Answer(("1.0",), status, {}, body),))


def test_another_kind_of_server_speaks_where_no_model_is_looked_at() -> None:
    ours = recordings("rerank", "r", plain=posted("/pooling", {"input": "a"}, 200, OK))
    theirs = recordings(
        "embed",
        "e",
        fields=posted("/pooling", {"input": "a", "user": 5}, 400, error("Bad Request")),
        model=posted("/pooling", {"input": "a", "priority": 5}, 400, error()),
    )
    release = Release("1.0", "rerank", [ours, theirs], {})
    body = {"input": "a"}
    judged = [
        release.judge(Wanted("POST", "/pooling", fields=body | more), MODEL)
        for more in ({"user": 5}, {"priority": 5}, {})
    ]
    assert [type(one) for one in judged] == [Refused, Unknown, Taken]


def test_an_answer_of_another_release_or_none_at_all_says_nothing() -> None:
    other = Case(Asked("POST", "/pooling", json={"input": "a"}), (Answer(("2.0",), 200, {}, OK),))
    none = posted("/pooling", {"input": "a"}, 0, None)
    release = Release("1.0", "embed", [recordings("embed", "e", other=other, none=none)], {})
    assert release.seen("POST", "/pooling") == []


def test_a_release_without_a_list_of_its_routes_cannot_be_simulated() -> None:
    release = Release("1.0", "embed", [recordings("embed", "e")], {})
    with pytest.raises(LookupError, match=r"no /openapi\.json of 'embed' was recorded on 1\.0"):
        _ = release.paths


def test_numbers_of_the_recorded_model_are_read_from_its_answers() -> None:
    known = recordings(
        "transcribe",
        "w",
        models=Case(
            Asked("GET", "/v1/models"),
            (Answer(("1.0",), 200, {}, {"data": [{"id": "w", "max_model_len": 448}]}),),
        ),
        wide=posted(
            "/pooling", {"input": "a"}, 200, {"data": [{"data": [[0.1, 0.2], [0.3, 0.4]]}]}
        ),
        short=posted("/v1/embeddings", {"dimensions": 1}, 200, {"data": [{"embedding": [0.1]}]}),
        other=posted("/pooling", {"data": 1}, 200, {"data": {"a": 1}}),
        language=posted(
            "/l", {}, 400, {"error": "Unsupported language: 'xx'. Must be one of ['en', 'fr']."}
        ),
    )
    model = Release("1.0", "transcribe", [known], {}).model(known)
    assert (model.context, model.width, model.languages) == (448, 2, ("en", "fr"))


def test_no_release_is_named_outside_the_recordings() -> None:
    folder = Path(simulator.__file__).parent
    found = {
        path.name: re.findall(r"\b0\.[0-9]{2}\.[0-9]+\b", path.read_text("utf-8"))
        for path in folder.glob("*.py")
    }
    # The opening words of the package show how one is chosen.
    allowed = {"__init__.py": ["0.23.0"]}
    assert {name: names for name, names in found.items() if names} == allowed
    assert _evidence.judge.__doc__
