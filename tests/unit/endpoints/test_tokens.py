"""A vector a token: in which shape it comes, whose it is, and what is not believed."""

import base64
import json
from dataclasses import replace

import numpy as np
import pytest
from _script import ROUTES, Answer, FakeVLLM, Play, body, edited, status, vector_of, vectors_of
from PIL import Image

from vllm_modalities import (
    BadRequestError,
    InternalServerError,
    InvalidRequestError,
    MediaError,
    ModelUsageWarning,
    PartialFailureError,
    ResponseError,
    UnsupportedTaskError,
)
from vllm_modalities.endpoints.embed import embed
from vllm_modalities.endpoints.embed_tokens import embed_tokens
from vllm_modalities.endpoints.token_classify import token_classify
from vllm_modalities.profiles import PROFILES

POOLING = "/pooling"
TEXTS = ["one two three", "four", "five six"]
ALL = (*ROUTES["late-interaction"], *ROUTES["tokens"])


def server(**told) -> FakeVLLM:
    return FakeVLLM("late-interaction", **told)


@pytest.mark.parametrize("transport", ["auto", "bytes", "base64", "float"])
@pytest.mark.parametrize("size", [1, 2, None])
def test_every_token_has_its_vector_in_every_wire_format(talk, transport, size) -> None:
    fake = server()
    client = talk(fake, transport=transport)
    for _ in range(2):  # base64 wants a known width, which the first answer tells
        found = client.embed_tokens(TEXTS, batch_size=size)
        for array, text in zip(found, TEXTS, strict=True):
            np.testing.assert_array_equal(array, vectors_of(text.split(), 4))
    formats = {post.body["encoding_format"] for post in fake.posts}
    assert formats <= {"bytes"} if transport in ("auto", "bytes") else {"base64", "float"}
    assert fake.posts[-1].body["encoding_format"] == transport.replace("auto", "bytes")
    assert (found.model, found.usage.prompt_tokens, found.failures) == ("m", 6, ())
    assert found.transport == ("json" if transport in ("base64", "float") else "bytes")


def test_the_body_says_what_is_wanted_and_no_more(talk) -> None:
    fake = server()
    talk(fake).embed_tokens("a text", normalize=False, truncate="start")
    assert fake.posts[0].body == {
        "model": "m",
        "input": ["a text"],
        "task": "token_embed",
        "use_activation": False,
        "truncate_prompt_tokens": -1,
        "truncation_side": "left",
        "encoding_format": "bytes",
        "endianness": "little",
    }


def test_nothing_makes_no_request(talk) -> None:
    fake = server()
    assert len(talk(fake).embed_tokens([])) == 0
    assert len(talk(fake).token_classify([])) == 0
    assert fake.sent == []


def test_a_header_stays_below_what_proxies_let_through(talk) -> None:
    fake = server()
    talk(fake).embed_tokens(["a text of some words"] * 100)
    assert sorted(len(post.texts) for post in fake.posts) == [4, 24, 24, 24, 24]


def test_token_ids_are_inputs_too(talk) -> None:
    fake = server()
    found = talk(fake).embed_tokens([[1, 2, 3], [4]])
    assert fake.posts[0].body["input"] == [[1, 2, 3], [4]]
    assert found.lengths.tolist() == [3, 1]


def test_images_go_one_by_one_as_messages(talk) -> None:
    fake = server()
    picture = Image.new("RGB", (2, 2))
    found = talk(fake).embed_tokens(
        [picture, b"no image", {"content": [picture, "a caption"]}], on_error="return"
    )
    sent = [post.body["messages"][0]["content"] for post in fake.posts]
    assert [[part["type"] for part in parts] for parts in sent] in (
        [["image_url"], ["image_url", "text"]],
        [["image_url", "text"], ["image_url"]],
    )
    ((place, error),) = found.failures
    assert (place, type(error)) == (1, MediaError)
    assert len(found[1]) == 0


def test_what_is_doubtful_of_an_image_is_told(talk, tmp_path) -> None:
    many = tmp_path / "two.gif"
    Image.new("RGB", (2, 3)).save(many, save_all=True, append_images=[Image.new("L", (2, 3), 9)])
    assert "holds more images" in talk(server()).embed_tokens(many).warnings[0]


def test_the_one_bad_text_is_found_and_has_no_tokens(talk) -> None:
    fake = server(refuses=lambda text: "too long" if text == "four" else None)
    with pytest.raises(PartialFailureError) as caught:
        talk(fake).embed_tokens(TEXTS)
    assert [place for place, _ in caught.value.failures] == [1]
    assert caught.value.results.lengths.tolist() == [3, 0, 2]
    assert np.isnan(caught.value.results.maxsim(caught.value.results)[:, 1]).all()


def test_options_that_are_refused_are_no_text_s_fault(talk) -> None:
    fake = server()
    fake.always(POOLING, status(400, "no such task"))
    with pytest.raises(BadRequestError, match="no such task"):
        talk(fake).embed_tokens(TEXTS)


@pytest.mark.parametrize(("times", "words"), [(np.nan, "not finite"), (0, "all zeros")])
def test_vectors_that_cannot_be_right_fail_their_text_alone(talk, times, words) -> None:
    def vector(word: str, width: int) -> np.ndarray:
        return vector_of(word, width) * (times if word == "four" else 1)

    fake = server(vector=vector)
    found = talk(fake).embed_tokens(TEXTS, on_error="return")
    ((place, error),) = found.failures
    assert place == 1
    assert words in str(error)
    assert found.lengths.tolist() == [3, 0, 2]


def test_a_weight_of_zero_is_a_weight(talk) -> None:
    fake = server(routes=(POOLING,), vector=lambda _, width: np.zeros(width))
    assert talk(fake).token_classify("a b").vectors.tolist() == [[0.0], [0.0]]


def told(**changes):
    """Change what the header says of the first item."""

    def fault(answer: Answer) -> Answer:
        metadata = json.loads(answer.headers["metadata"])
        metadata["data"][0].update(changes)
        return replace(answer, headers={**answer.headers, "metadata": json.dumps(metadata)})

    return fault


def longer(answer: Answer) -> Answer:
    return replace(answer, content=answer.content + b"1234")


def without_header(answer: Answer) -> Answer:
    return replace(answer, headers={"content-type": "application/octet-stream"})


def odd(answer: Answer) -> Answer:
    return replace(answer, content=answer.content[:-1])


BYTES = {
    "another shape": told(shape=[2, 4]),
    "a negative shape": told(shape=[-3, -4]),
    "another start": told(start=4),
    "another end": told(end=8),
    "another index": told(index=1),
    "no metadata": without_header,
    "more than it tells": longer,
    "half a number": odd,
}


@pytest.mark.parametrize("fault", BYTES.values(), ids=BYTES)
def test_bytes_that_their_header_does_not_fit_are_an_error(talk, fault) -> None:
    fake = server()
    fake.always(POOLING, fault)
    with pytest.raises(ResponseError):
        talk(fake).embed_tokens(TEXTS)


def row(**changes):
    return edited(lambda answer: answer["data"][0].update(changes))


JSON = {
    "no base64": row(data="§"),
    "no whole vectors": row(data=base64.b64encode(b"12345678").decode()),
    "another index": row(index=7),
    "a row missing": edited(lambda answer: answer.update(data=answer["data"][1:])),
    "rows of several widths": row(data=[[1.0, 2.0]]),
    "ragged rows": row(data=[[1.0], [1.0, 2.0]]),
    "words": row(data=[["high"]]),
    "no json": body(b"<html>"),
}


@pytest.mark.parametrize("fault", JSON.values(), ids=JSON)
def test_json_that_is_not_what_it_claims_is_an_error(talk, fault) -> None:
    fake = server()
    client = talk(fake, transport="float")
    fake.always(POOLING, fault)
    with pytest.raises(ResponseError):
        client.embed_tokens(TEXTS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"truncate": "middle"},
        {"on_error": "ignore"},
        {"batch_size": 0},
        {"extra_body": {"encoding_format": "float"}},
        {"input_type": "query"},
    ],
    ids=str,
)
def test_what_means_nothing_is_refused(talk, wrong) -> None:
    fake = server()
    with pytest.raises(InvalidRequestError):
        talk(fake).embed_tokens(TEXTS, **wrong)
    assert fake.posts == []


def test_answers_are_kept_only_when_asked_for(talk) -> None:
    assert talk(server()).embed_tokens("a").raw is None
    assert len(talk(server(), keep_raw=True).embed_tokens("a").raw) == 1


def test_what_is_made_for_it_goes_before_an_embedder_that_may_do_it() -> None:
    embedder = FakeVLLM(routes=(*ROUTES["embed"], POOLING))
    late = server(model="late")
    network = {"http://a": embedder, "http://b": late}
    assert Play(network).call(embed_tokens, "a").model == "late"
    assert Play(embedder).call(embed_tokens, "a").model == "m"
    with pytest.raises(UnsupportedTaskError, match="no configured server does 'embed_tokens'"):
        Play(FakeVLLM("cross-encoder")).call(embed_tokens, "a")


def test_a_server_that_was_started_for_another_task_is_told_with_the_flag(talk) -> None:
    fake = FakeVLLM(routes=(*ROUTES["embed"], POOLING))
    words = "Try switching the model's pooling_task via --pooler-config.task token_embed."
    fake.always(POOLING, status(400, words))
    with pytest.raises(UnsupportedTaskError, match="Serve the model with --pooler"):
        talk(fake).embed_tokens(TEXTS)


LONG = "This model's maximum context length is 2 tokens. Please reduce the length."


def test_a_text_that_is_too_long_is_named_with_what_cuts_it(talk) -> None:
    fake = server(refuses=lambda text: LONG if "five" in text else None)
    with pytest.raises(PartialFailureError) as caught:
        talk(fake).embed_tokens(["a", "four five"])
    ((place, error),) = caught.value.failures
    assert place == 1
    assert error.message.startswith("item 1 of inputs has")
    assert 'truncate="end"' in error.message


@pytest.mark.parametrize("call", [1, 2])
def test_embed_names_the_method_whatever_the_mapping_says(call) -> None:
    play = Play({"http://a": server(routes=ALL)}, base_url={"embed": "http://a"})
    for _ in range(call):
        with pytest.raises(UnsupportedTaskError, match=r"has embed_tokens\(\)"):
            play.call(embed, "a")


def test_where_no_server_does_it_the_flag_is_named(talk) -> None:
    client = talk(FakeVLLM("cross-encoder"))
    for method in ("embed_tokens", "token_classify", "embed_sparse"):
        task = "token_embed" if method == "embed_tokens" else "token_classify"
        with pytest.raises(UnsupportedTaskError, match=rf"--pooler-config\.task {task}\."):
            getattr(client, method)("a")


def test_embed_on_a_server_that_answers_501_names_the_method_that_it_has(talk) -> None:
    fake = FakeVLLM()
    fake.always("/v1/embeddings", status(501, "The model does not support Embeddings API"))
    with pytest.raises(UnsupportedTaskError, match=r"has embed_tokens\(\)"):
        talk(fake).embed("a")


@pytest.mark.parametrize("routes", [ALL, (*ALL, "/v1/embeddings")])
def test_embed_names_the_method_that_a_model_with_many_vectors_has(talk, routes) -> None:
    fake = FakeVLLM(version="0.33.0", routes=routes)
    with pytest.raises(UnsupportedTaskError, match=r"has embed_tokens\(\)"):
        talk(fake).embed("a")
    assert fake.posts == []


def test_tokens_are_classified_by_the_servers_that_do_nothing_else(talk) -> None:
    fake = FakeVLLM(routes=(POOLING,))
    found = talk(fake).token_classify(TEXTS, use_activation=False)
    assert [array.shape for array in found] == [(3, 1), (1, 1), (2, 1)]
    assert fake.posts[0].body["task"] == "token_classify"
    assert fake.posts[0].body["use_activation"] is False
    with pytest.raises(UnsupportedTaskError):
        Play(server()).call(token_classify, "a")


def test_a_weight_a_token_may_come_without_a_second_axis(talk) -> None:
    fake = FakeVLLM(routes=(POOLING,))
    client = talk(fake, transport="float")
    fake.always(POOLING, body({"data": [{"index": 0, "data": [0.5, 1.5]}]}))
    assert client.token_classify("a b")[0].tolist() == [[0.5], [1.5]]
    fake.always(
        POOLING,
        lambda _: Answer(
            200,
            np.float32([1, 2]).tobytes(),
            {
                "content-type": "application/octet-stream",
                "metadata": json.dumps(
                    {"data": [{"index": 0, "start": 0, "end": 8, "shape": [2]}]}
                ),
            },
        ),
    )
    assert talk(fake).token_classify("a b")[0].tolist() == [[1.0], [2.0]]


SPECIAL = {"[CLS]": 101, "[SEP]": 102, "[unused0]": 1, "[unused1]": 2, "<mask>": 250}
MARKERS = {"[QueryMarker]": 7, "[DocumentMarker]": 8}


class Tokenizing(FakeVLLM):
    """A server whose tokenizer knows BERT's special tokens, and puts two around a text."""

    known = SPECIAL

    def _tokenize(self, asked):
        if "tokens" in asked:
            names = {number: name for name, number in self.known.items()}
            return body({"prompt": " ".join(names.get(n, "?") for n in asked["tokens"])})(Answer())
        words = [{**self.known, **MARKERS}.get(w, 1000 + len(w)) for w in asked["prompt"].split()]
        strings = asked["prompt"].split()
        if asked.get("add_special_tokens", True):
            words, strings = [101, *words, 102], ["[CLS]", *strings, "[SEP]"]
        return body({"tokens": words, "token_strs": strings})(Answer())


def marking(model: str, **told) -> Tokenizing:
    return Tokenizing(model=model, routes=ALL, **told)


def test_colbert_s_markers_stand_after_the_first_token() -> None:
    fake = marking("colbertv2.0")
    play = Play(fake, profiles=PROFILES)
    play.call(embed_tokens, ["who is it"], input_type="query")
    assert fake.asked(POOLING)[0].body["input"] == [[101, 1, 1003, 1002, 1002, 102]]
    found = play.call(embed_tokens, ["yes , it is ."], input_type="search_document")
    sent = fake.asked(POOLING)[1].body["input"][0]
    assert sent == [101, 2, 1003, 1001, 1002, 1002, 1001, 102]
    # The vectors of the comma and the full stop do not count.
    kept = [sent[n] for n in (0, 1, 2, 4, 5, 7)]
    np.testing.assert_array_equal(found[0], vectors_of(map(str, kept), 4))


def test_long_queries_are_cut_to_the_model_s_length() -> None:
    fake = marking("answerai-colbert-small-v1")
    play = Play(fake, profiles=PROFILES)
    play.call(embed_tokens, [" ".join("a" * n for n in range(1, 60))], input_type="query")
    (sent,) = fake.asked(POOLING)[0].body["input"]
    assert (len(sent), sent[0], sent[1], sent[-1]) == (32, 101, 1, 102)


def test_jina_s_queries_are_filled_with_masks() -> None:
    fake = marking("jina-colbert-v2")
    play = Play(fake, profiles=PROFILES)
    play.call(embed_tokens, ["who is it"], input_type="query")
    (sent,) = fake.asked(POOLING)[0].body["input"]
    assert sent == [101, 7, 1003, 1002, 1002, 102] + [250] * 26
    play.call(embed_tokens, [[101, 5, 102]], input_type="document")
    assert fake.asked(POOLING)[1].body["input"] == [[101, 8, 5, 102]]


def test_models_marked_by_words_get_them() -> None:
    fake = marking("GTE-ModernColBERT-v1")
    Play(fake, profiles=PROFILES).call(embed_tokens, ["who"], input_type="query")
    assert fake.asked(POOLING)[0].body["input"] == ["[Q] who"]


@pytest.mark.parametrize(
    ("model", "inputs", "input_type", "words"),
    [
        ("colbertv2.0", ["a"], "title", "colbertv2.0 has 'query', 'document'"),
        ("colbertv2.0", [b"picture"], "query", "for texts and token ids"),
        ("unknown", ["a"], "query", "no markers of 'unknown' are known"),
        ("GTE-ModernColBERT-v1", [[1]], "query", "no markers"),
    ],
)
def test_markers_that_are_not_known_are_refused(model, inputs, input_type, words) -> None:
    fake = marking(model)
    with pytest.raises(InvalidRequestError, match=words):
        Play(fake, profiles=PROFILES).call(embed_tokens, inputs, input_type=input_type)
    assert fake.posts == []


@pytest.mark.parametrize("model", ["colbertv2.0", "jina-colbert-v2"])
def test_a_tokenizer_that_does_not_know_the_marker_is_told(model, monkeypatch) -> None:
    fake = marking(model)
    monkeypatch.setattr(Tokenizing, "known", {"[unused0]": 9})
    monkeypatch.setitem(MARKERS, "[QueryMarker]", 7)
    fake.always("/tokenize", body({"tokens": [1, 2]}))
    with pytest.raises(InvalidRequestError, match="as one token"):
        Play(fake, profiles=PROFILES).call(embed_tokens, ["a"], input_type="query")
    assert fake.asked(POOLING) == []


def test_a_tokenizer_that_fails_fails_the_call() -> None:
    fake = marking("colbertv2.0")
    fake.always("/tokenize", status(500))
    with pytest.raises(InternalServerError):
        Play(fake, profiles=PROFILES, max_retries=0).call(embed_tokens, ["a"], input_type="query")


def test_texts_without_a_marker_are_warned_of_and_token_ids_are_not(talk) -> None:
    with pytest.warns(ModelUsageWarning, match='pass input_type="query"'):
        found = talk(marking("colbertv2.0")).embed_tokens(["a"])
    assert len(found.warnings) == 1
    assert talk(marking("colbertv2.0")).embed_tokens([[1, 2]]).warnings == ()
