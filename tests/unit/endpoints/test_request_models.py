"""Request models by themselves and through `send`: what they know, refuse and put on the wire."""

import pytest
from _script import URL, FakeVLLM, Play

from vllm_modalities import (
    CohereEmbedRequest,
    DetokenizeRequest,
    EmbeddingRequest,
    InvalidRequestError,
    ModelInfo,
    PoolingRequest,
    RerankRequest,
    ScoreRequest,
    ServerInfo,
    ServerVersion,
    TokenizeRequest,
)
from vllm_modalities.endpoints._pooling import PoolingFields
from vllm_modalities.endpoints.send import send

MESSAGE = {"role": "user", "content": "hello"}
CHAT = pytest.mark.parametrize("kind", [EmbeddingRequest, PoolingRequest])
PICTURE = {"content": [{"type": "image_url", "image_url": {"url": "http://a/b.png"}}]}


def refusals(request, **known) -> dict[str, str]:
    """What is wrong with a request to a server whose model is known so: the message by code."""
    model = ModelInfo("m", **known)
    server = ServerInfo(version=ServerVersion("0.32.0"), models=(model,))
    found = request.model_copy(update={"model": "m"}).validate_for(server)
    return {finding.code: finding.message for finding in found if finding.severity == "error"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RerankRequest(query="q", documents=()), "documents must not be empty"),
        (lambda: RerankRequest(query="", documents=("a",)), "query must not be empty"),
    ],
)
def test_what_is_empty_is_refused_in_plain_words(make, words) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        make()
    assert words in str(caught.value)


@CHAT
@pytest.mark.parametrize(
    ("given", "texts", "longest"),
    [
        ("abc", ["abc"], 3),
        (("a", "bcd", ""), ["a", "bcd", ""], 3),
        ((1, 2), [], 0),
        (((1, 2), (3,)), [], 0),
        ((MESSAGE,), [], 0),
        (((MESSAGE,), (MESSAGE,)), [], 0),
        ((), [], 0),
        (None, [], 0),
    ],
    ids=str,
)
def test_the_plain_texts_of_an_input_are_found(kind, given, texts, longest) -> None:
    request = kind(input=given)
    assert list(request.texts()) == texts
    assert request.longest == longest


@pytest.mark.parametrize(
    ("request_model", "texts"),
    [
        (RerankRequest(query="q", documents=("ab", "c")), ["q", "ab", "c"]),
        (ScoreRequest(queries="q", documents=("ab", "c")), ["q", "ab", "c"]),
        (ScoreRequest(queries=("q", "r"), documents=("ab", PICTURE)), ["q", "r", "ab"]),
        (ScoreRequest(queries=PICTURE, documents=PICTURE), []),
    ],
    ids=repr,
)
def test_the_plain_texts_of_a_ranking_are_found(request_model, texts) -> None:
    assert list(request_model.texts()) == texts
    assert request_model.longest == max(map(len, texts), default=0)


@CHAT
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("abc", False),
        (("a",), False),
        (((1, 2),), False),
        ((), False),
        (((),), False),
        (None, False),
        ((MESSAGE,), True),
        (((MESSAGE,), (MESSAGE,)), True),
    ],
    ids=str,
)
def test_messages_in_the_input_are_seen(kind, given, expected) -> None:
    assert kind(input=given).has_message_input is expected


@CHAT
@pytest.mark.parametrize(
    ("given", "expected"), [(None, False), ((MESSAGE,), False), (((MESSAGE,), (MESSAGE,)), True)]
)
def test_several_conversations_are_seen(kind, given, expected) -> None:
    request = kind(messages=given)
    assert request.has_message_batch is expected
    assert request.has_both_shapes is False
    assert request.model_copy(update={"input": "a"}).has_both_shapes is (given is not None)


OPTIONS = {
    "add_generation_prompt": True,
    "continue_final_message": False,
    "chat_template": "{{ messages }}",
    "chat_template_kwargs": {"a": 1},
}


@CHAT
@pytest.mark.parametrize(("name", "value"), OPTIONS.items())
def test_an_option_of_chat_with_plain_text_is_seen(kind, name, value) -> None:
    option = {name: value}
    assert kind(input="a", **option).text_with_chat_options == name
    assert kind(input="a").text_with_chat_options is None
    assert kind(messages=(MESSAGE,), **option).text_with_chat_options is None
    assert kind(input=(MESSAGE,), **option).text_with_chat_options is None


@pytest.mark.parametrize("name", ["max_tokens_per_doc", "max_tokens_per_query"])
@pytest.mark.parametrize(
    "request_model",
    [RerankRequest(query="q", documents=("a",)), ScoreRequest(queries="q", documents="a")],
)
def test_more_tokens_than_the_model_reads_are_refused(request_model, name) -> None:
    (said,) = refusals(request_model.model_copy(update={name: 512}), max_model_len=512).values()
    assert said == f"{name}=512 must be less than the 512 tokens that 'm' reads at most"
    assert refusals(request_model.model_copy(update={name: 511}), max_model_len=512) == {}
    assert refusals(request_model.model_copy(update={name: 512})) == {}
    assert request_model.model_copy(update={name: 9}).validate_for(ServerInfo()) == []


@pytest.mark.parametrize(
    ("queries", "documents", "paired"),
    [
        ("q", "a", True),
        ("q", ("a", "b"), True),
        (("q",), ("a", "b"), True),
        (("q", "r"), ("a", "b"), True),
        (PICTURE, (PICTURE, "a"), True),
        (("q", "r"), "a", False),
        (("q", "r"), ("a", "b", "c"), False),
        ((), ("a",), False),
        ("q", (), False),
    ],
    ids=str,
)
def test_texts_that_cannot_be_paired_are_refused(queries, documents, paired) -> None:
    found = refusals(ScoreRequest(queries=queries, documents=documents))
    assert list(found) == ([] if paired else ["score-pairs"])
    assert all("cannot be paired" in said for said in found.values())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"texts": ("a",)}, None),
        ({"images": ("data:,",)}, None),
        ({"inputs": ({"content": ({"type": "text", "text": "a"},)},)}, None),
        ({}, "got none"),
        ({"texts": ()}, "got none"),
        ({"texts": ("a",), "images": ("data:,",)}, "got texts and images"),
    ],
    ids=str,
)
def test_cohere_s_shape_takes_one_kind_of_input(given, said) -> None:
    found = refusals(CohereEmbedRequest(**given))
    assert list(found) == ([] if said is None else ["cohere-one-input"])
    assert said is None or said in found["cohere-one-input"]


@pytest.mark.parametrize(
    "request_model",
    [
        EmbeddingRequest(input="a", dimensions=9),
        CohereEmbedRequest(texts=("a",), output_dimension=9),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    ("known", "code"),
    [
        ({}, None),
        ({"matryoshka": True, "embedding_size": 9}, None),
        ({"matryoshka": (9,)}, None),
        ({"matryoshka": True, "embedding_size": 8}, "dimensions-above-width"),
        ({"matryoshka": False}, "dimensions-not-matryoshka"),
        ({"matryoshka": (4, 8)}, "dimensions-not-in-list"),
    ],
    ids=str,
)
def test_a_width_that_the_model_has_not_is_refused(request_model, known, code) -> None:
    assert list(refusals(request_model, **known)) == ([] if code is None else [code])


@pytest.mark.parametrize(
    ("task", "path", "request_model", "sent"),
    [
        ("late-interaction", "/pooling", PoolingRequest(input=("a",)), {"input": ["a"]}),
        (
            "embed",
            "/v2/embed",
            CohereEmbedRequest(texts=("a",), embedding_types=("base64",)),
            {"texts": ["a"], "embedding_types": ["base64"]},
        ),
        (
            "cross-encoder",
            "/v1/score",
            ScoreRequest(queries="q", documents=("a", "b")),
            {"queries": "q", "documents": ["a", "b"]},
        ),
        ("tokens", "/tokenize", TokenizeRequest(prompt="a"), {"prompt": "a"}),
        ("tokens", "/detokenize", DetokenizeRequest(tokens=(1, 2)), {"tokens": [1, 2]}),
    ],
    ids=["pooling", "cohere", "score", "tokenize", "detokenize"],
)
def test_send_puts_any_model_on_the_wire_as_it_is(task, path, request_model, sent) -> None:
    server = FakeVLLM(task)
    response = Play(server).call(send, request_model)
    (post,) = server.posts
    assert (post.path, post.body) == (path, {"model": "m", **sent})
    assert (response.status, response.findings) == (200, ())
    assert isinstance(response.json(), dict)


@pytest.mark.parametrize(
    ("mapped", "request_model"),
    [
        ("tokenize", DetokenizeRequest(tokens=(1,))),
        ("rerank", ScoreRequest(queries="q", documents=("a",))),
        ("embed", PoolingRequest(input="a")),
        ("embed_tokens", PoolingRequest(input="a")),
        ("classify", PoolingRequest(input="a")),
    ],
)
def test_a_mapping_stands_for_the_tasks_that_go_with_it(mapped, request_model) -> None:
    server = FakeVLLM(routes=(*request_model.PATHS, "/classify"))
    assert Play(server, base_url={mapped: URL}).call(send, request_model).status == 200


MISSING = [
    (RerankRequest, {"documents": ("a",)}, "query"),
    (ScoreRequest, {"documents": ("a",)}, "queries"),
    (DetokenizeRequest, {}, "tokens"),
]


@pytest.mark.parametrize(("kind", "fields", "missing"), MISSING)
def test_a_field_that_is_missing_is_named(kind, fields, missing) -> None:
    with pytest.raises(InvalidRequestError, match=f"{kind.__name__} needs '{missing}'") as caught:
        kind(**fields)
    assert [finding.field for finding in caught.value.findings] == [missing]


def test_a_body_of_shared_fields_alone_has_no_text() -> None:
    assert PoolingFields(model="m").longest == 0


@pytest.mark.parametrize(("tokens", "refused"), [(-1, False), (8, False), (9, True)])
def test_a_cut_beyond_the_context_is_refused(tokens: int, refused: bool) -> None:
    server = ServerInfo(URL, models=(ModelInfo("m", max_model_len=8),))
    for request in (
        EmbeddingRequest(model="m", input="a", truncate_prompt_tokens=tokens),
        RerankRequest(model="m", query="q", documents=("a",), truncate_prompt_tokens=tokens),
    ):
        fields = [finding.field for finding in request.validate_for(server)]
        assert fields == ["truncate_prompt_tokens"] * refused
