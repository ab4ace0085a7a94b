"""`embed(input_type=...)`: the model's own words before each text, put there once."""

import anyio
import numpy as np
import pytest
from _script import BLOCKING, FakeVLLM, Talker, body, edited, status, vectors_of

from vllm_modalities import (
    BadRequestError,
    InvalidRequestError,
    ModelUsageWarning,
    Profile,
    ResponseError,
    UnsupportedTaskError,
    Usage,
)
from vllm_modalities.profiles import EmbedProfile

EMBEDDINGS, COHERE = "/v1/embeddings", "/v2/embed"
SEARCH = "Represent this sentence for searching relevant passages: "
BGE, E5 = "bge-small-en-v1.5", "multilingual-e5-small"


def unknown(**told) -> FakeVLLM:
    """A server whose model no profile knows, and which has words of its own for it."""
    return FakeVLLM(prompts={"query": "Q: ", "passage": "P: "}, **told)


def known(model: str, **told) -> FakeVLLM:
    return FakeVLLM(model=model, **told)


@pytest.mark.parametrize(
    ("model", "input_type", "words"),
    [
        (BGE, "query", SEARCH),
        (BGE, "search_query", SEARCH),
        (BGE, "document", ""),
        (E5, "search_document", "passage: "),
        (E5, "retrieval.passage", "passage: "),
        (E5, "Retrieval-query", "query: "),
    ],
)
def test_words_that_are_known_here_are_put_before_each_text(talk, model, input_type, words) -> None:
    server = known(model)
    result = talk(server).embed(["a", "b"], input_type=input_type)
    (post,) = server.posts
    assert post.path == EMBEDDINGS
    assert post.texts == (f"{words}a", f"{words}b")
    np.testing.assert_array_equal(result.vectors, vectors_of(post.texts, 4))
    assert result.warnings == ()


def test_an_input_type_that_the_model_has_not_is_refused_with_those_it_has(talk) -> None:
    server = known(BGE)
    with pytest.raises(InvalidRequestError, match=r"'poem'.*'query', 'document'") as caught:
        talk(server).embed("a", input_type="poem")
    assert caught.value.findings[0].field == "input_type"
    assert server.posts == []


@pytest.mark.parametrize(
    ("input_type", "name", "words"),
    [
        ("query", "query", "Q: "),
        ("search_query", "query", "Q: "),
        ("passage", "passage", "P: "),
        ("document", "passage", "P: "),
    ],
)
def test_words_that_only_the_server_knows_are_put_by_the_server(
    talk, input_type, name, words
) -> None:
    server = unknown()
    result = talk(server).embed(["a", "b"], input_type=input_type)
    assert {post.path for post in server.posts} == {COHERE}
    assert server.posts[-1].body == {
        "model": "m",
        "input_type": name,
        "texts": ["a", "b"],
        "embedding_types": ["base64"],
        "truncate": "NONE",
    }
    np.testing.assert_array_equal(result.vectors, vectors_of([f"{words}a", f"{words}b"], 4))
    assert result.usage == Usage(8, 8)


@pytest.mark.parametrize("input_type", ["query", "document"])
def test_the_server_s_name_is_asked_for_once_with_one_short_text(talk, input_type) -> None:
    server = unknown()
    client = talk(server)
    for _ in range(3):
        client.embed(["first", "second"], input_type=input_type)
    sent = [(post.body["input_type"], post.texts) for post in server.posts]
    assert sent[0] == (input_type, ("a",))
    name = "query" if input_type == "query" else "passage"
    assert sent[1:] == [(name, ("first", "second"))] * 3


def test_calls_side_by_side_ask_for_the_name_once() -> None:
    server = unknown()
    client = Talker("asyncio", server).client

    async def both() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(lambda: client.embed("text", input_type="query"))

    anyio.run(both)
    assert [post.texts for post in server.posts].count(("a",)) == 1


def test_a_name_that_the_server_does_not_know_is_its_own_refusal_each_time(talk) -> None:
    server = unknown()
    client = talk(server)
    for _ in range(2):
        with pytest.raises(BadRequestError, match="Supported values: passage, query"):
            client.embed("a", input_type="poem")
    assert [post.body["input_type"] for post in server.posts] == ["poem", "poem"]


def test_a_model_without_any_words_is_refused_by_its_server(talk) -> None:
    with pytest.raises(BadRequestError, match="does not define any"):
        talk(FakeVLLM()).embed("a", input_type="query")


@pytest.mark.parametrize("normalize", [True, False])
def test_normalize_is_refused_where_the_server_puts_the_words(talk, normalize) -> None:
    server = unknown()
    with pytest.raises(InvalidRequestError, match=r"no such field.*profile") as caught:
        talk(server).embed("a", input_type="query", normalize=normalize)
    assert caught.value.findings[0].field == "normalize"
    assert server.posts == []


@pytest.mark.parametrize(
    ("truncate", "sent"), [("error", "NONE"), ("end", "END"), ("start", "START")]
)
def test_truncation_and_width_are_sent_in_cohere_s_words(talk, truncate, sent) -> None:
    server = unknown(matryoshka=True)
    result = talk(server).embed("a", input_type="query", truncate=truncate, dimensions=2)
    asked = server.asked(COHERE)[-1].body
    assert (asked["truncate"], asked["output_dimension"]) == (sent, 2)
    np.testing.assert_array_equal(result.vectors, vectors_of(["Q: a"], 4)[:, :2])


def test_further_fields_go_along(talk) -> None:
    server = unknown()
    result = talk(server).embed("a", input_type="query", extra_body={"max_tokens": 9, "new": 1})
    assert server.posts[-1].body["max_tokens"] == 9
    assert server.posts[-1].body["new"] == 1
    assert any("'new' is passed on unchecked" in warning for warning in result.warnings)


def test_a_release_without_the_route_refuses_with_the_cure(talk) -> None:
    server = unknown(version="0.17.0")
    with pytest.raises(InvalidRequestError, match=r"no /v2/embed.*without input_type"):
        talk(server).embed("a", input_type="query")
    assert server.posts == []


def test_a_server_that_lists_no_such_route_does_not_do_this(talk) -> None:
    server = unknown(routes=(EMBEDDINGS,))
    with pytest.raises(UnsupportedTaskError, match="/v2/embed"):
        talk(server).embed("a", input_type="query")
    assert server.posts == []


WRONG = {
    "a vector missing": edited(lambda answer: answer["embeddings"]["base64"].pop()),
    "a vector too many": edited(lambda answer: answer["embeddings"]["base64"].append("AAAAAA==")),
    "not base64": edited(lambda answer: answer["embeddings"].update(base64=["$$$"])),
    "unequal widths": edited(lambda answer: answer["embeddings"].update(base64=["AAA="])),
    "numbers": edited(lambda answer: answer["embeddings"].update(base64=[[0.5]])),
    "none": edited(lambda answer: answer.pop("embeddings")),
    "an error": body({"error": {"message": "out of memory"}}),
}


@pytest.mark.parametrize("fault", WRONG.values(), ids=WRONG)
def test_an_answer_that_is_not_what_it_claims_is_an_error(talk, fault) -> None:
    server = unknown()
    client = talk(server)
    client.embed("a", input_type="query")
    server.always(COHERE, fault)
    with pytest.raises(ResponseError):
        client.embed("a", input_type="query")


def test_one_bad_text_among_many_is_found(talk) -> None:
    server = unknown()
    server.always("bad", status(400, "too long"))
    client = talk(server)
    result = client.embed(["a", "bad", "c"], input_type="query", on_error="return")
    assert [place for place, _ in result.failures] == [1]
    np.testing.assert_array_equal(result.vectors[[0, 2]], vectors_of(["Q: a", "Q: c"], 4))


@pytest.mark.parametrize(
    ("model", "texts"), [(BGE, "a question"), (E5, "a question"), (E5, ["a", "b"])]
)
def test_a_text_without_the_words_that_the_model_needs_is_warned_of(talk, model, texts) -> None:
    client = talk(known(model))
    with pytest.warns(ModelUsageWarning, match=f"{model}.*input_type"):
        result = client.embed(texts)
    (warning,) = result.warnings
    assert "was trained with words before its texts" in warning


@pytest.mark.parametrize(
    ("model", "texts"),
    [
        (BGE, SEARCH + "a question"),
        (BGE, ["many", "documents", "which need none"]),
        (E5, ["query: a", "passage: b"]),
        ("m", "a question"),
        ("bge-m3", "a question"),
    ],
)
def test_words_by_hand_and_texts_that_need_none_are_not_warned_of(talk, model, texts) -> None:
    assert talk(known(model)).embed(texts).warnings == ()


def test_words_in_a_profile_of_the_caller_s_own_count(talk) -> None:
    facts = EmbedProfile(prompts={"query": "ask "}, sources={})
    server = unknown()
    client = talk(server, profiles=[Profile(name="Mine", pattern="^m$", embed=facts)])
    client.embed("a", input_type="query", normalize=True)
    assert server.posts[-1].texts == ("ask a",)
    with pytest.raises(InvalidRequestError, match="Mine has 'query'"):
        client.embed("a", input_type="document")


def test_a_warning_names_the_caller_s_line() -> None:
    client = Talker(BLOCKING, known(BGE)).client
    with pytest.warns(ModelUsageWarning) as caught:
        client.embed("a question")
    assert [one.filename for one in caught] == [__file__]
