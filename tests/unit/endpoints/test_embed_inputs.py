"""`embed` of what is no plain text: what is sent for it, by release, and what is refused."""

import json

import numpy as np
import pytest
from _script import FakeVLLM, Talker, vectors_of, words_of
from PIL import Image

from vllm_modalities import (
    BadRequestError,
    InvalidRequestError,
    MediaError,
    PartialFailureError,
    Usage,
)

COHERE = "/v2/embed"
HELLO = [{"role": "user", "content": "hello"}]
SYSTEM = [{"role": "system", "content": "be brief"}, *HELLO]
RED, BLUE = (Image.new("RGB", (2, 2), color) for color in ("red", "blue"))


def sent(server: FakeVLLM) -> list[object]:
    """The inputs of each request, and how messages were to be tokenised."""
    for post in server.posts:
        assert ("messages" in post.body) == post.body.get("add_special_tokens", False)
    return [post.body.get("input", post.body.get("messages")) for post in server.posts]


def test_token_ids_are_sent_as_they_are(talk) -> None:
    server = FakeVLLM()
    one, many = talk(server).embed([5, 6]), talk(server).embed([[5, 6], (7,), np.array([8, 9])])
    assert sent(server) == [[[5, 6]], [[5, 6], [7], [8, 9]]]
    np.testing.assert_array_equal(one, vectors_of(["[5, 6]"], 4))
    np.testing.assert_array_equal(many, vectors_of(["[5, 6]", "[7]", "[8, 9]"], 4))


@pytest.mark.parametrize("version", ["0.16.0", "0.23.0", "0.32.0"])
def test_one_conversation_is_sent_alike_to_every_release(talk, version) -> None:
    server = FakeVLLM(version=version)
    result = talk(server).embed(SYSTEM)
    assert sent(server) == [SYSTEM]
    np.testing.assert_array_equal(result, vectors_of([words_of(SYSTEM)], 4))


@pytest.mark.parametrize(
    ("version", "requests"),
    [("0.24.0", [[HELLO, SYSTEM]]), ("0.23.0", [HELLO, SYSTEM]), ("0.16.0", [HELLO, SYSTEM])],
)
def test_conversations_share_a_request_where_the_release_takes_it(talk, version, requests) -> None:
    server = FakeVLLM(version=version)
    result = talk(server, max_concurrency=1).embed([HELLO, SYSTEM])
    assert sent(server) == requests
    np.testing.assert_array_equal(result, vectors_of([words_of(HELLO), words_of(SYSTEM)], 4))


def test_one_old_replica_among_new_ones_has_conversations_sent_one_by_one(talk) -> None:
    servers = {"http://a": FakeVLLM(version="0.32.0"), "http://b": FakeVLLM(version="0.23.0")}
    talk(servers).embed([HELLO, SYSTEM, HELLO])
    requests = [one for server in servers.values() for one in sent(server)]
    assert sorted(map(words_of, requests)) == sorted(map(words_of, [HELLO, SYSTEM, HELLO]))


@pytest.mark.parametrize("special", [True, False])
def test_special_tokens_are_added_to_messages_unless_the_caller_says_otherwise(
    talk, special
) -> None:
    server = FakeVLLM()
    talk(server).embed(HELLO, extra_body={"add_special_tokens": special})
    assert server.posts[0].body["add_special_tokens"] is special


def test_options_of_the_template_go_along_with_messages(talk) -> None:
    server = FakeVLLM()
    further = {"chat_template_kwargs": {"x": 1}, "add_generation_prompt": True}
    talk(server).embed(HELLO, extra_body=further)
    assert server.posts[0].body | further == server.posts[0].body


def test_options_of_the_template_with_texts_are_refused(talk) -> None:
    server = FakeVLLM()
    with pytest.raises(InvalidRequestError, match="never passes through the chat template"):
        talk(server).embed("hello", extra_body={"chat_template_kwargs": {"x": 1}})
    assert server.posts == []


def test_images_are_sent_through_the_template_as_png(talk) -> None:
    server = FakeVLLM()
    result = talk(server).embed([RED, {"content": ["what is it?", BLUE]}])
    ((first,), (second,)) = sent(server)[0]
    assert first["role"] == second["role"] == "user"
    assert first["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert second["content"][0] == {"type": "text", "text": "what is it?"}
    assert second["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    np.testing.assert_array_equal(result, vectors_of(map(words_of, sent(server)[0]), 4))


def test_an_image_that_cannot_be_read_fails_alone(talk) -> None:
    server = FakeVLLM()
    client = talk(server)
    with pytest.raises(PartialFailureError) as caught:
        client.embed([RED, b"no image", BLUE])
    ((place, error),) = caught.value.failures
    assert (place, type(error)) == (1, MediaError)
    assert str(error).startswith("item 1 of inputs: ")
    (((red,), (blue,)),) = sent(server)
    expected = vectors_of([words_of([red]), words_of([blue])], 4)
    np.testing.assert_array_equal(caught.value.results.vectors[[0, 2]], expected)
    assert np.isnan(caught.value.results.vectors[1]).all()


def test_images_that_cannot_be_read_are_never_sent(talk) -> None:
    server = FakeVLLM()
    with pytest.raises(MediaError, match="item 0 of inputs"):
        talk(server).embed(b"no image")
    assert server.posts == []


def test_what_is_doubtful_of_an_image_is_a_warning_of_the_result(talk, tmp_path) -> None:
    file = tmp_path / "two.gif"
    RED.save(file, save_all=True, append_images=[BLUE])
    (warning,) = talk(FakeVLLM()).embed([RED, file]).warnings
    assert "item 1 of inputs" in warning
    assert "holds more images: only the first was read" in warning


def test_many_images_are_spread_over_several_requests(talk) -> None:
    server = FakeVLLM()
    talk(server).embed([RED] * 33)
    assert sorted(len(messages) for messages in sent(server)) == [1, 16, 16]


@pytest.mark.parametrize("inputs", [[5, 6], [[5, 6]], HELLO, [HELLO]])
def test_words_before_token_ids_and_messages_are_refused(talk, inputs) -> None:
    server = FakeVLLM(prompts={"query": "Q: "})
    with pytest.raises(InvalidRequestError, match="input_type='query' puts words before texts"):
        talk(server).embed(inputs, input_type="query")
    assert server.posts == []


def test_the_server_puts_the_words_before_images_and_content(talk) -> None:
    server = FakeVLLM(prompts={"query": "Q: "})
    result = talk(server).embed([{"content": "hello"}, RED], input_type="query")
    body = server.posts[-1].body
    (hello, red) = body["inputs"]
    assert server.posts[-1].path == COHERE
    assert (body["input_type"], body["truncate"]) == ("query", "NONE")
    assert hello == {"content": [{"type": "text", "text": "hello"}]}
    assert red["content"][0]["type"] == "image_url"
    np.testing.assert_array_equal(
        result, vectors_of(["Q: " + words_of(one) for one in (hello, red)], 4)
    )
    tokens = sum(len("Q: " + words_of(one)) for one in (hello, red))
    assert result.usage == Usage(tokens, tokens)


BAD = "out of vocabulary"


@pytest.mark.parametrize(
    ("inputs", "bad"),
    [
        ([[1], [66], [2]], "[66]"),
        ([HELLO, [{"role": "user", "content": "66"}], SYSTEM], '"66"'),
    ],
    ids=["token ids", "messages"],
)
def test_the_one_bad_input_of_any_kind_is_found(talk, inputs, bad) -> None:
    server = FakeVLLM(refuses=lambda text: BAD if bad in text else None)
    with pytest.raises(PartialFailureError, match="item 1") as caught:
        talk(server).embed(inputs)
    assert [place for place, _ in caught.value.failures] == [1]
    expected = vectors_of([json.dumps(inputs[0]), json.dumps(inputs[2])], 4)
    np.testing.assert_array_equal(caught.value.results.vectors[[0, 2]], expected)


@pytest.mark.parametrize(
    "inputs", [[[1], [2]], [HELLO, SYSTEM], [RED, BLUE]], ids=["ids", "chat", "image"]
)
def test_an_option_that_is_refused_for_every_input_is_one_error(talk, inputs) -> None:
    server = FakeVLLM(refuses=lambda _: "no such option")
    with pytest.raises(BadRequestError, match="no such option"):
        talk(server).embed(inputs)


def test_a_table_and_a_table_s_column_are_told_apart() -> None:
    class Column:
        def __init__(self, *texts: str) -> None:
            self.tolist = lambda: list(texts)

        def __iter__(self):
            raise AssertionError("its own values are asked for by name")
            yield

    server = FakeVLLM()
    assert len(Talker("blocking", server).embed(Column("a", "b"))) == 2
    assert server.posts[0].texts == ("a", "b")
