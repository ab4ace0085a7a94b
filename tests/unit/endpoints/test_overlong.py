"""An input that is longer than the model reads is named, with both lengths."""

import pytest
from _script import NOT_FOUND, FakeVLLM, Talker, status

from vllm_modalities import BadRequestError, PartialFailureError

TOKENIZE = "/tokenize"
ROUTES = ("/v1/embeddings", "/v2/embed", TOKENIZE)
# Each release's own words; the first two as answered by 0.32.0, the others as in the sources of
# 0.16.0 (vllm/entrypoints/openai/engine/serving.py, pooling/embed/serving.py).
COUNTED = (
    "This model's maximum context length is 6 tokens. However, your prompt contains at least 7"
    " input tokens, which exceeds this limit even without any output tokens. Please reduce the"
    " length of the input prompt. (parameter=input_tokens, value=7)"
)
UNCOUNTED = (
    "This model's maximum context length is 6 tokens. However, your prompt contains 500 characters"
    " (more than 108 characters, which is the upper bound for 6 input tokens). Please reduce the"
    " length of the input prompt. (parameter=input_text, value=500)"
)
OLD = (
    "This model's maximum context length is 6 tokens. However, you requested 9 tokens in the input"
    " for embedding generation. Please reduce the length of the input."
)
OLD_CHUNKED = OLD.replace("context", "embedding input")
WORDS = {"counted": COUNTED, "uncounted": UNCOUNTED, "old": OLD, "old, chunked": OLD_CHUNKED}
SHORT, LONG = "a short text", "a long text " * 3


def server(words: str = COUNTED, **told) -> FakeVLLM:
    told = {"routes": ROUTES} | told
    return FakeVLLM(refuses=lambda text: words if "long" in text else None, **told)


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_the_error_names_the_input_and_both_lengths(talk, words) -> None:
    with pytest.raises(BadRequestError) as caught:
        talk(server(words)).embed(LONG)
    assert caught.value.message == (
        "item 0 of inputs has 9 tokens, and 'm' reads 6 tokens."
        ' Split it, or cut it with truncate="end" or "start"'
    )
    assert caught.value.status_code == 400
    assert words.encode() in caught.value.body


def test_every_one_of_many_is_named(talk) -> None:
    texts = [SHORT, LONG, SHORT, LONG + "of other length"]
    fake = server()
    with pytest.raises(PartialFailureError) as caught:
        talk(fake).embed(texts)
    said = {place: error.message.partition(",")[0] for place, error in caught.value.failures}
    assert said == {1: "item 1 of inputs has 9 tokens", 3: "item 3 of inputs has 12 tokens"}
    assert sorted(post.body["prompt"] for post in fake.asked(TOKENIZE)) == sorted(texts[1::2])


def test_the_words_before_a_text_count(talk) -> None:
    fake = server(model="bge-small-en-v1.5")
    with pytest.raises(BadRequestError, match="item 0 of inputs has 16 tokens"):
        talk(fake).embed(LONG, input_type="query")


def test_a_text_of_few_tokens_that_was_refused_for_its_letters_is_told_in_letters(talk) -> None:
    with pytest.raises(BadRequestError, match="item 0 of inputs has 500 characters, and 'm' reads"):
        talk(server(UNCOUNTED)).embed("long" * 125)


@pytest.mark.parametrize(
    ("words", "length"),
    [
        (COUNTED, "at least 7 input tokens"),
        (UNCOUNTED, "500 characters"),
        (OLD, "9 tokens"),
        ("This model's maximum context length is 6 tokens.", "more"),
    ],
)
@pytest.mark.parametrize("fault", [NOT_FOUND, status(500)])
def test_the_server_s_own_count_stands_where_it_does_not_count_again(
    talk, pauses, fault, words, length
) -> None:
    fake = server(words)
    fake.always(TOKENIZE, fault)
    with pytest.raises(BadRequestError, match=f"has {length}, and 'm' reads 6 tokens"):
        talk(fake).embed(LONG)


def test_a_server_without_the_route_is_not_asked(talk) -> None:
    fake = server(routes=ROUTES[:2])
    with pytest.raises(BadRequestError, match="has at least 7 input tokens"):
        talk(fake).embed(LONG)
    assert fake.asked(TOKENIZE) == []


def test_token_ids_are_counted_here(talk) -> None:
    fake = FakeVLLM(routes=ROUTES, refuses=lambda text: COUNTED if len(text) > 9 else None)
    with pytest.raises(PartialFailureError, match="item 1 of inputs has 7 tokens"):
        talk(fake).embed([[1], [1, 2, 3, 4, 5, 6, 7]])
    assert fake.asked(TOKENIZE) == []


def test_messages_have_the_server_s_own_count(talk) -> None:
    fake = server()
    with pytest.raises(BadRequestError, match="item 0 of inputs has at least 7 input tokens"):
        talk(fake).embed([{"role": "user", "content": "a long one"}])
    assert fake.asked(TOKENIZE) == []


def test_other_refusals_keep_their_words() -> None:
    fake = FakeVLLM(routes=ROUTES, refuses=lambda _: "out of vocabulary")
    with pytest.raises(BadRequestError, match="out of vocabulary"):
        Talker("blocking", fake).embed(LONG)
    assert fake.asked(TOKENIZE) == []
