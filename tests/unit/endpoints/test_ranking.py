"""Ranking and scoring any number of documents: split, merged, and what a bad one costs."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from _script import FakeVLLM, Play, body, edited, score_of
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vllm_modalities import (
    BadRequestError,
    InvalidRequestError,
    MediaError,
    ModelUsageWarning,
    PartialFailureError,
    RerankRequest,
    ResponseError,
    ScoreRequest,
    ServerInfo,
)
from vllm_modalities.endpoints.rerank import rerank
from vllm_modalities.endpoints.score import score
from vllm_modalities.profiles import PROFILES

RERANK, SCORE = "/v1/rerank", "/v1/score"
DOCUMENTS = [f"document {n}" for n in range(300)]


def best_first(documents, query="q") -> list[tuple[int, float]]:
    scores = [(n, score_of(query, document)) for n, document in enumerate(documents)]
    return sorted(scores, key=lambda one: -one[1])


def placed(result) -> list[tuple[int, float]]:
    return [(found.index, found.score) for found in result]


@pytest.mark.parametrize("size", [1, 7, 1000, None])
@pytest.mark.parametrize("top_n", [None, 5])
def test_batches_of_any_size_give_one_ranking(talk, size, top_n) -> None:
    server = FakeVLLM("cross-encoder")
    result = talk(server).rerank("q", DOCUMENTS, top_n=top_n, batch_size=size)
    assert placed(result) == best_first(DOCUMENTS)[:top_n]
    assert len(server.posts) == math.ceil(300 / min(size or 128, 300))
    assert result.usage.prompt_tokens == 300


@given(
    scores=st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=30),
    size=st.integers(1, 9),
    top_n=st.integers(0, 40),
)
def test_equal_scores_keep_the_caller_s_order(scores, size, top_n) -> None:
    server = FakeVLLM("cross-encoder", score=lambda _, document: scores[int(document)])
    documents = [str(n) for n in range(len(scores))]
    result = Play(server).call(rerank, "q", documents, batch_size=size, top_n=top_n)
    expected = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
    assert [found.index for found in result] == expected[: top_n or None]


def test_a_batch_is_asked_for_its_best_alone(talk) -> None:
    server = FakeVLLM("cross-encoder")
    talk(server).rerank("q", DOCUMENTS, top_n=3, batch_size=100)
    assert [post.body["top_n"] for post in server.posts] == [3, 3, 3]


@pytest.mark.parametrize("on_error", ["collect", "return"])
def test_the_one_bad_document_is_found_and_the_others_are_ranked(talk, on_error) -> None:
    server = FakeVLLM(
        "cross-encoder", refuses=lambda text: "too long" if text.endswith(" 77") else None
    )
    client = talk(server)
    if on_error == "return":
        result = client.rerank("q", DOCUMENTS, on_error="return")
        failures = result.failures
        assert "1 failed" in repr(result)
    else:
        with pytest.raises(PartialFailureError, match="1 of 300 items failed") as caught:
            client.rerank("q", DOCUMENTS)
        result, failures = caught.value.results, caught.value.failures
    ((place, error),) = failures
    assert (place, error.message) == (77, "too long")
    assert placed(result) == [one for one in best_first(DOCUMENTS) if one[0] != 77]


def test_stopping_at_the_first_raises_it_as_itself(talk) -> None:
    server = FakeVLLM("cross-encoder", refuses=lambda text: "no" if "5" in text else None)
    with pytest.raises(BadRequestError, match="no"):
        talk(server).rerank("q", DOCUMENTS, batch_size=10, on_error="raise")


def test_a_query_that_is_refused_is_no_document_s_fault(talk) -> None:
    server = FakeVLLM("cross-encoder")
    server.always(RERANK, body({"error": {"message": "query too long"}}, 400))
    with pytest.raises(BadRequestError, match="query too long"):
        talk(server).rerank("q", DOCUMENTS)
    assert len(server.posts) <= 3 * 4


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"on_error": "ignore"}], ids=str)
def test_arguments_that_mean_nothing_are_refused(talk, wrong) -> None:
    server = FakeVLLM("cross-encoder")
    for method in ("rerank", "score"):
        with pytest.raises(InvalidRequestError):
            getattr(talk(server), method)("q", ["a"], **wrong)
    assert server.posts == []


OWN = {
    "a field named text": ([{"text": "a", "id": 1}, {"text": "b", "id": 2}], None),
    "a field that key names": ([{"body": "a"}, {"body": "b"}], "body"),
    "a function": ([("x", "a"), ("y", "b")], lambda pair: pair[1]),
    "content that is a text": ([{"content": "a"}, {"content": "b"}], None),
    "an iterator": (iter(["a", "b"]), None),
    "a place": ([["a", 1], ["b", 2]], 0),
}


@pytest.mark.parametrize("name", OWN)
def test_the_caller_s_own_objects_are_ranked_and_come_back(name) -> None:
    documents, key = OWN[name]
    own = documents = list(documents)
    server = FakeVLLM("cross-encoder")
    result = Play(server).call(rerank, "q", documents, key=key)
    assert server.posts[0].body["documents"] == ["a", "b"]
    assert all(found.document is own[found.index] for found in result)


WRONG = {
    "a dict with neither": ([{"title": "a"}], None, "item 0 of documents.*dict with 'title'"),
    "a field that is missing": (["a", {"text": "b"}], "text", "item 0 of documents has no field"),
    "an attribute for a field": ([SimpleNamespace(text="a")], "text", "function: key=lambda"),
    "a text that is none": ([{"text": 5}], None, "item 0 of documents.*got int"),
    "a number": (["a", 5], None, "item 1 of documents"),
    "token ids": ([[1, 2]], None, "item 0 of documents"),
    "half a surrogate pair": (["\ud800"], None, "surrogate"),
    "an empty list": (["a", []], None, "item 1 of documents"),
    "texts in a list": (["a", ["b", "c"]], None, "item 1 of documents"),
    "an image and a number": ([[b"image", 5]], None, "item 0 of documents"),
    "content that is none": ([{"content": [5]}], None, "content must be"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_compared_is_refused_and_named(talk, name) -> None:
    documents, key, words = WRONG[name]
    server = FakeVLLM("cross-encoder")
    with pytest.raises(InvalidRequestError, match=words):
        talk(server).rerank("q", documents, key=key)
    assert server.posts == []


class Column:
    """As pyarrow's are: what is iterated are values of its own."""

    def __init__(self, values: list) -> None:
        self._values = values

    def __iter__(self):
        return map(SimpleNamespace, self._values)

    def to_pylist(self) -> list:
        return self._values


@pytest.mark.parametrize("column", [np.array, Column])
def test_an_array_and_a_column_are_lists(talk, column) -> None:
    server, texts = FakeVLLM("cross-encoder"), ["a", "b"]
    result = talk(server).rerank("q", column(texts))
    assert server.posts[0].body["documents"] == texts
    assert {type(found.document) for found in result} == {str}
    talk(server).score(column(texts), column(texts))
    assert server.posts[1].body["queries"] == texts


TABLE = type("Table", (), {"columns": ["text"], "__iter__": lambda self: iter(self.columns)})()


@pytest.mark.parametrize(
    ("documents", "words"),
    [(TABLE, "give one column of it"), (np.array("a"), "a list of"), ({"a": "b"}, "got dict")],
    ids=["a table", "an array without dimensions", "a mapping"],
)
def test_a_table_s_names_are_not_taken_for_documents(talk, documents, words) -> None:
    server = FakeVLLM("cross-encoder", routes=None)
    client = talk(server)
    calls = [lambda: client.rerank("q", documents), lambda: client.embed_sparse(documents)]
    for call in calls:
        with pytest.raises(InvalidRequestError, match=words):
            call()
    assert server.posts == []


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        ("intfloat/e5-base-v2", "embed", r"words before its texts.* embed\(\) and \.similarity"),
        ("colbert-ir/colbertv2.0", "late-interaction", r"markers.* embed_tokens\(\) and maxsim"),
        ("GTE-ModernColBERT-v1", "late-interaction", r"words.* embed_tokens\(\) and maxsim"),
    ],
)
def test_an_embedder_s_scores_without_its_prompts_are_warned_of(talk, model, kind, words) -> None:
    client = talk(FakeVLLM(kind, model=model))
    for method in ("rerank", "score"):
        with pytest.warns(ModelUsageWarning, match=words):
            found = getattr(client, method)("why", ["a", "b"])
        assert len(found.warnings) == 1


@pytest.mark.parametrize("model", ["intfloat/e5-base-v2", "BAAI/bge-m3", "unknown"])
def test_an_embedder_s_scores_with_what_it_wants_are_not(talk, model) -> None:
    documents = ["passage: a", "passage: b"]
    assert talk(FakeVLLM(model=model)).rerank("query: why", documents).warnings == ()


TOO_LONG = "This model's maximum context length is 512 tokens. Please reduce the length."


@pytest.mark.parametrize("method", ["rerank", "score"])
def test_a_document_that_is_too_long_is_told_what_cuts_it(talk, method) -> None:
    server = FakeVLLM("cross-encoder", refuses=lambda text: TOO_LONG if text == "long" else None)
    with pytest.raises(PartialFailureError) as caught:
        getattr(talk(server), method)("q", ["a", "long"])
    ((place, error),) = caught.value.failures
    assert (place, error.message.startswith(TOO_LONG)) == (1, True)
    assert "max_tokens_per_doc" in error.message


@pytest.mark.parametrize("query", [["q", "r"], [], None, 5, {"q": "r"}], ids=str)
def test_a_query_is_one(talk, query) -> None:
    server = FakeVLLM("cross-encoder")
    with pytest.raises(InvalidRequestError, match="query must be"):
        talk(server).rerank(query, ["a"])
    assert server.posts == []


def test_what_the_server_gives_its_template_itself_is_refused(talk) -> None:
    server = FakeVLLM("cross-encoder")
    kwargs = {"chat_template_kwargs": {"tokenize": True, "instruction": "i"}}
    for method in ("rerank", "score"):
        with pytest.raises(InvalidRequestError, match="may not hold tokenize"):
            getattr(talk(server), method)("q", ["a"], extra_body=kwargs)
    assert server.posts == []


PICTURE = Image.new("RGB", (2, 3), "white")


def test_images_and_texts_go_out_as_content_parts(talk) -> None:
    server = FakeVLLM("cross-encoder", model="m", score=lambda *_: 0.5)
    documents = [
        PICTURE,
        ["a caption", {"type": "image_url", "image_url": {"url": "http://a/b.png"}}],
        {"content": ["x", PICTURE]},
    ]
    result = talk(server).rerank([PICTURE, "like this"], documents)
    sent = server.posts[0].body
    kinds = [[part["type"] for part in item["content"]] for item in sent["documents"]]
    assert kinds == [["image_url"], ["text", "image_url"], ["text", "image_url"]]
    assert sent["documents"][1]["content"][1]["image_url"] == {"url": "http://a/b.png"}
    assert sent["query"]["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert result[0].document is documents[0]


def test_an_image_that_cannot_be_read_fails_alone(talk, tmp_path) -> None:
    server = FakeVLLM("cross-encoder", score=lambda *_: 0.5)
    documents = [PICTURE, b"no image", PICTURE, tmp_path / "missing.png"]
    result = talk(server).rerank("q", documents, on_error="return")
    assert [found.index for found in result] == [0, 2]
    assert [place for place, _ in result.failures] == [1, 3]
    assert all(isinstance(error, MediaError) for _, error in result.failures)
    with pytest.raises(MediaError):
        talk(server).rerank("q", [b"no image"])
    with pytest.raises(MediaError):
        talk(server).rerank(b"no image", ["a", "b"])


def test_what_is_doubtful_of_an_image_is_told(talk, tmp_path) -> None:
    many = tmp_path / "two.gif"
    PICTURE.save(many, save_all=True, append_images=[Image.new("RGB", (2, 3), "black")])
    result = talk(FakeVLLM("cross-encoder", score=lambda *_: 0.5)).rerank("q", [many])
    assert "holds more images" in result.warnings[0]


@pytest.mark.parametrize("model", ["bge-reranker-v2-m3", "Qwen3-Reranker-0.6B"])
def test_a_model_that_reads_texts_alone_is_sent_no_image(model) -> None:
    server = FakeVLLM("cross-encoder", model=model)
    play = Play(server, profiles=PROFILES)
    for flow in (rerank, score):
        with pytest.raises(InvalidRequestError, match="reads texts alone"):
            play.call(flow, "q", [PICTURE])
    assert all(post.body["query"] != "q" for post in server.asked(RERANK))
    assert server.asked(SCORE) == []


def test_a_request_with_cohere_s_documents_says_what_to_send() -> None:
    request = RerankRequest(query="q", documents=({"text": "a"},))
    (finding,) = request.validate_for(ServerInfo())
    assert (finding.code, finding.severity) == ("ranking-no-content", "error")


@pytest.mark.parametrize("pairs", [True, False])
def test_a_listwise_model_judges_all_documents_at_once(pairs) -> None:
    server = FakeVLLM("late-interaction", model="jina-reranker-v3")
    play = Play(server, profiles=PROFILES)
    play.call(rerank, "q", DOCUMENTS)
    play.call(score, "q", DOCUMENTS, pairs=pairs)
    assert [len(post.body["documents"]) for post in server.posts] == [300, 300]
    with pytest.raises(InvalidRequestError, match="listwise"):
        play.call(rerank, "q", DOCUMENTS, batch_size=100)
    assert len(server.posts) == 2


def test_a_listwise_model_that_refuses_is_not_asked_in_parts() -> None:
    server = FakeVLLM(
        "late-interaction", model="jina-reranker-v3", refuses=lambda _: "too long for me"
    )
    with pytest.raises(BadRequestError, match="too long for me"):
        Play(server, profiles=PROFILES).call(rerank, "q", DOCUMENTS)
    assert len(server.posts) == 1


def test_pairs_of_a_listwise_model_are_apart_and_so_in_batches() -> None:
    server = FakeVLLM("late-interaction", model="jina-reranker-v3")
    scores = Play(server, profiles=PROFILES).call(score, DOCUMENTS, DOCUMENTS)
    assert len(scores) == 300
    assert len(server.posts) == 3


QUERIES = ["q", "r", "s"]


def matrix(queries, documents) -> np.ndarray:
    return np.float32([[score_of(q, d) for d in documents] for q in queries])


@pytest.mark.parametrize("size", [1, 2, None])
def test_each_with_each_is_the_pairs_own_scores(talk, size) -> None:
    server = FakeVLLM("cross-encoder")
    documents = DOCUMENTS[:5]
    result = talk(server).score(QUERIES, documents, pairs=False, batch_size=size)
    np.testing.assert_array_equal(result.scores, matrix(QUERIES, documents))
    assert result.scores.dtype == np.float32
    for n, query in enumerate(QUERIES):
        one = talk(server).score(query, documents, batch_size=size)
        np.testing.assert_array_equal(one.scores, result.scores[n])
    paired = talk(server).score(QUERIES, documents[:3], batch_size=size)
    np.testing.assert_array_equal(paired.scores, np.diag(result.scores[:, :3]))


def test_shapes_follow_what_is_asked(talk) -> None:
    client = talk(FakeVLLM("cross-encoder"))
    assert client.score("q", "d").scores.shape == (1,)
    assert client.score(["q"], ["d", "e"]).scores.shape == (2,)
    assert client.score(["q"], ["d", "e"], pairs=False).scores.shape == (1, 2)
    assert client.score({"text": "q"}, {"text": "d"}).scores.shape == (1,)
    result = client.score(["q", "r"], ["d", "e", "f"], pairs=False)
    assert (len(result), np.asarray(result).shape) == (2, (2, 3))
    assert repr(result) == "Scores(2 x 3, model='m')"
    assert (result.model, result.score_type, result.usage.prompt_tokens) == (
        "m",
        "cross-encoder",
        6,
    )
    assert result.raw is None


def test_only_what_is_given_is_scored(talk) -> None:
    server = FakeVLLM("cross-encoder")
    talk(server, keep_raw=True).score("q", ["a"], use_activation=False, instruction="i")
    expected = {"model": "m", "queries": "q", "documents": ["a"]}
    assert server.posts[0].body == expected | {"use_activation": False, "instruction": "i"}


def test_answers_are_kept_only_when_asked_for(talk) -> None:
    (raw,) = talk(FakeVLLM("cross-encoder"), keep_raw=True).score("q", ["a"]).raw
    assert json.loads(raw)["data"]


@pytest.mark.parametrize(
    ("queries", "documents", "options", "words"),
    [
        (["q", "r"], ["a"], {}, "2 queries and 1 documents cannot be paired"),
        (["q", "r"], ["a", "b", "c"], {}, "pairs=False"),
        ([], ["a"], {}, "queries must hold at least one"),
        ("q", [], {}, "documents must hold at least one"),
        ([], [], {"pairs": False}, "queries must hold at least one"),
        (5, ["a"], {}, "queries must be a list"),
        ("q", [5], {}, "item 0 of documents"),
        ("q", ["a"], {"extra_body": {"queries": "again"}}, "queries.*both"),
    ],
)
def test_what_cannot_be_paired_is_refused(talk, queries, documents, options, words) -> None:
    server = FakeVLLM("cross-encoder")
    with pytest.raises(InvalidRequestError, match=words):
        talk(server).score(queries, documents, **options)
    assert server.posts == []


def test_the_one_bad_pair_is_nan(talk) -> None:
    server = FakeVLLM("cross-encoder", refuses=lambda text: "no" if text == "bad" else None)
    with pytest.raises(PartialFailureError, match="2 of 6 items failed") as caught:
        talk(server).score(["q", "r"], ["a", "bad", "c"], pairs=False)
    assert np.isnan(caught.value.results.scores).tolist() == [[False, True, False]] * 2
    assert [place for place, _ in caught.value.failures] == [1, 4]
    paired = talk(server).score(["q", "bad"], ["a", "b"], on_error="return")
    assert np.isnan(paired.scores).tolist() == [False, True]
    assert "1 failed" in repr(paired)


def test_a_pair_whose_image_cannot_be_read_is_nan(talk) -> None:
    server = FakeVLLM("cross-encoder", score=lambda *_: 0.5)
    result = talk(server).score(["q", b"no"], ["a", PICTURE], on_error="return")
    assert np.isnan(result.scores).tolist() == [False, True]


@pytest.mark.parametrize(
    "fault",
    [
        edited(lambda a: a["data"].pop()),
        edited(lambda a: a["data"][0].update(index=1)),
        edited(lambda a: a["data"][0].update(score=None)),
        body({}),
    ],
)
def test_scores_that_are_none_are_an_error(talk, fault) -> None:
    server = FakeVLLM("cross-encoder")
    server.always(SCORE, fault)
    with pytest.raises(ResponseError):
        talk(server).score("q", ["a", "b"])


def test_a_long_answer_reads_like_a_short_one(talk) -> None:
    server = FakeVLLM("cross-encoder")
    server.always(RERANK, edited(lambda a: a.update(echo="x" * 200_000)))
    assert placed(talk(server).rerank("q", ["a", "b"])) == best_first(["a", "b"])


def test_a_request_of_scores_wants_as_many_of_each() -> None:
    request = ScoreRequest(queries=("a", "b"), documents=("c",))
    assert [finding.code for finding in request.validate_for(ServerInfo())] == ["score-pairs"]


@pytest.mark.parametrize(
    ("routes", "version", "expected"),
    [
        (["/classify", "/v1/embeddings"], "0.32.0", "cross-encoder"),
        (["/v1/embeddings", "/v2/embed"], "0.32.0", "bi-encoder"),
        (["/v1/embeddings"], "0.17.0", "bi-encoder"),
        (["/pooling"], "0.32.0", "late-interaction"),
        (["/v1/embeddings"], "0.33.0", "late-interaction"),
        (["/v1/embeddings", "/v2/embed"], "0.33.0", "bi-encoder"),
    ],
)
def test_the_kind_of_score_shows_in_the_routes(routes, version, expected) -> None:
    server = FakeVLLM(routes=(*routes, RERANK, "/v1/score"), version=version)
    assert Play(server).call(rerank, "q", ["a"]).score_type == expected


@pytest.mark.parametrize(("top", "expected"), [(1.0, "bi-encoder"), (4.5, "late-interaction")])
def test_scores_above_1_are_no_cosines(talk, top, expected) -> None:
    fake = FakeVLLM(score=lambda _, document: top if document == "best" else -0.5)
    assert talk(fake).rerank("q", ["a", "best"]).score_type == expected
    assert talk(fake).score("q", ["a", "best"]).score_type == expected
