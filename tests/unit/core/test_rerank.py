"""`rerank` through either client: what is sent, what is read, what is not believed."""

import json

import pytest
from _script import URL, FakeVLLM, body, edited, score_of

from vllm_modalities import (
    BadRequestError,
    InvalidRequestError,
    ResponseError,
    Usage,
    VLLMModalitiesWarning,
)

RERANK = "/v1/rerank"
DOCUMENTS = ["alpha", "beta", "gamma", "alpha", ""]


def ranked(query: str, documents: list[str]) -> list[tuple[int, float, str]]:
    scores = [(i, score_of(query, text), text) for i, text in enumerate(documents)]
    return sorted(scores, key=lambda one: -one[1])


@pytest.mark.parametrize("top_n", [None, 0, 1, 2, 5, 99])
def test_documents_come_best_first_with_their_own_text(talk, top_n) -> None:
    result = talk(FakeVLLM("cross-encoder")).rerank("q", DOCUMENTS, top_n=top_n)
    expected = ranked("q", DOCUMENTS)[: top_n or None]
    assert [(one.index, one.score, one.document) for one in result] == expected
    assert len(result) == len(expected)
    assert result[0].document == expected[0][2]
    assert result[:2] == tuple(result)[:2]
    assert (result.model, result.usage) == ("m", Usage(5, 5))


def test_an_answer_out_of_order_is_put_in_order(talk) -> None:
    server = FakeVLLM()
    server.always(RERANK, edited(lambda answer: answer["results"].reverse()))
    result = talk(server).rerank("q", ["a", "b", "c"])
    assert [one.score for one in result] == sorted([one.score for one in result], reverse=True)


@pytest.mark.parametrize(
    "arguments",
    [{"top_n": 2}, {"max_tokens_per_doc": 9}, {"extra_body": {"new": {"a": 1}}}, {}],
    ids=str,
)
def test_only_what_is_given_is_sent(talk, arguments) -> None:
    server = FakeVLLM()
    talk(server).rerank("q", ["a", "b"], **arguments)
    expected = {"model": "m", "query": "q", "documents": ["a", "b"]}
    assert server.posts[0].body == expected | (arguments.get("extra_body") or arguments)


@pytest.mark.filterwarnings("ignore:.*does not tell its vLLM release")
@pytest.mark.parametrize(
    ("arguments", "version"),
    [
        ({"top_n": -1}, "0.19.0"),
        ({"top_n": -1}, "0.32.0"),
        ({"top_n": -9}, None),
        ({"max_tokens_per_doc": 9}, "0.19.0"),
        ({"max_tokens_per_doc": -9}, "0.32.0"),
        ({"extra_body": {"top_n": -1}}, "0.32.0"),
        ({"extra_body": {"max_tokens_per_doc": 1}}, "0.19.9"),
    ],
)
def test_what_the_release_does_not_take_is_refused_and_never_sent(talk, arguments, version) -> None:
    server = FakeVLLM(version=version)
    client = talk(server)
    with pytest.raises(InvalidRequestError) as caught:
        client.rerank("q", ["a"], **arguments)
    (finding,) = caught.value.findings
    assert finding.source
    assert finding.field in ("top_n", "max_tokens_per_doc")
    assert server.posts == []


@pytest.mark.parametrize("version", ["0.20.0", "0.20.1", "0.32.0", "0.20.0rc1", "0.21.0.dev3+g1a"])
def test_max_tokens_per_doc_is_sent_from_0_20_on(talk, version) -> None:
    server = FakeVLLM(version=version)
    talk(server).rerank("q", ["a"], max_tokens_per_doc=9)
    assert server.posts[0].body["max_tokens_per_doc"] == 9


def test_validation_warn_sends_with_a_warning_and_off_without(talk) -> None:
    server = FakeVLLM(version="0.19.0")
    with pytest.warns(VLLMModalitiesWarning, match="max_tokens_per_doc"):
        warned = talk(server, validation="warn").rerank("q", ["a"], max_tokens_per_doc=9)
    silent = talk(server, validation="off").rerank("q", ["a"], max_tokens_per_doc=9)
    assert (len(warned.warnings), len(silent.warnings)) == (1, 0)
    assert [post.body["max_tokens_per_doc"] for post in server.posts] == [9, 9]


def test_a_negative_top_n_that_an_old_release_takes_for_all_is_read_so(talk) -> None:
    server = FakeVLLM(version="0.23.0")
    results = [{"index": i, "relevance_score": 1.0} for i in range(3)]
    server.always(RERANK, body({"results": results}))
    result = talk(server, validation="off").rerank("q", ["a", "b", "c"], top_n=-1)
    assert len(result) == 3


WRONG = {
    "no query": ("", ["a"], "query"),
    "no document": ("q", [], "documents"),
    "one text for many": ("q", "a", "documents"),
    "bytes": ("q", b"a", "documents"),
    "a mapping": ("q", {"a": 1}, "documents"),
    "a number": ("q", 5, "documents"),
    "none": ("q", None, "documents"),
    "a number among texts": ("q", ["a", 5], "documents"),
    "no text for a query": (5, ["a"], "query"),
}


@pytest.mark.parametrize(("query", "documents", "field"), WRONG.values(), ids=WRONG)
def test_what_is_no_text_is_refused_in_words(talk, query, documents, field) -> None:
    server = FakeVLLM()
    with pytest.raises(InvalidRequestError, match=field):
        talk(server).rerank(query, documents)
    assert server.posts == []


@pytest.mark.parametrize("field", ["query", "documents", "model"])
def test_a_field_given_twice_is_refused(talk, field) -> None:
    with pytest.raises(InvalidRequestError, match=f"{field}.*twice|both") as caught:
        talk(FakeVLLM()).rerank("q", ["a"], model="m", extra_body={field: "again"})
    assert caught.value.findings[0].field == field


def first(**fields: object):
    return edited(lambda answer: answer["results"][0].update(fields))


NOT_WHAT_IT_CLAIMS = {
    "a document not sent": first(index=2),
    "a negative index": first(index=-1),
    "a document twice": edited(lambda a: {"results": [a["results"][0]] * 2}),
    "a document missing": edited(lambda a: {"results": a["results"][:1]}),
    "none": body({"results": []}),
    "NaN": first(relevance_score=float("nan")),
    "null": first(relevance_score=None),
    "infinite": first(relevance_score=float("inf")),
    "words": first(relevance_score="high"),
    "no results": body({}),
    "an error": body({"error": {"message": "no"}}),
    "html": body(b"<html>"),
    "a list": body([[0, 1.0]]),
}


@pytest.mark.parametrize("fault", NOT_WHAT_IT_CLAIMS.values(), ids=NOT_WHAT_IT_CLAIMS)
def test_a_ranking_that_is_none_is_an_error_with_evidence(talk, fault) -> None:
    server = FakeVLLM()
    server.always(RERANK, fault)
    with pytest.raises(ResponseError, match=URL) as caught:
        talk(server).rerank("q", ["a", "b"])
    assert caught.value.body


def test_more_documents_than_top_n_are_an_error(talk) -> None:
    server = FakeVLLM()
    server.always(RERANK, edited(lambda a: a["results"].append({"index": 1, "relevance_score": 0})))
    with pytest.raises(ResponseError):
        talk(server).rerank("q", ["a"] * 3, top_n=1)


def test_a_refusal_carries_the_server_s_words(talk) -> None:
    with pytest.raises(BadRequestError, match="too long"):
        talk(FakeVLLM(refuses=lambda _: "too long")).rerank("q", ["a"])


def test_raw_answers_are_kept_only_when_asked_for(talk) -> None:
    assert talk(FakeVLLM()).rerank("q", ["a"]).raw is None
    (raw,) = talk(FakeVLLM(), keep_raw=True).rerank("q", ["a"]).raw
    assert json.loads(raw)["results"]


def test_the_repr_is_short(talk) -> None:
    text = repr(talk(FakeVLLM()).rerank("q", ["a" * 999] * 99))
    assert "99 documents" in text
    assert len(text) < 99


def test_an_instruction_is_sent_to_the_releases_that_take_it(talk) -> None:
    new, old = FakeVLLM(version="0.22.0"), FakeVLLM(version="0.21.0")
    talk(new).rerank("q", ["a"], instruction="about trains")
    assert new.posts[0].body["instruction"] == "about trains"
    with pytest.raises(InvalidRequestError, match=r"instruction='about trains'.*before 0\.22\.0"):
        talk(old).rerank("q", ["a"], instruction="about trains")
    assert old.posts == []
