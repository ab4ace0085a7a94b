"""`tokenize` and `detokenize`: ids of any number of inputs, and back, and what is not believed."""

import numpy as np
import pytest
from _script import FakeVLLM, body, status
from PIL import Image

from vllm_modalities import (
    BadRequestError,
    InvalidRequestError,
    MediaError,
    PartialFailureError,
    ResponseError,
)

WORDS = "abc"
IDS = [(ord(word),) for word in WORDS]


def server(**told) -> FakeVLLM:
    return FakeVLLM("tokens", **told)


def test_every_text_has_its_ids_and_they_its_text(talk) -> None:
    talker = talk(server())
    found = talker.tokenize(["a b", "c"])
    assert (list(found), found[0], len(found)) == ([(97, 98), (99,)], (97, 98), 2)
    assert (found.counts, found.max_model_len, found.strings) == ((2, 1), 512, None)
    assert repr(found) == "Tokenized(2 inputs, 3 tokens, model='m')"
    back = talker.detokenize(found)
    assert (list(back), back[1], len(back)) == (["a b", "c"], "c", 2)
    assert repr(back) == "Detokenized(2 texts, model='m')"


def test_one_stands_for_itself(talk) -> None:
    talker = talk(server())
    assert list(talker.tokenize("a b")) == [(97, 98)]
    assert list(talker.detokenize([97, 98])) == ["a b"]
    assert list(talker.detokenize(np.array([[97, 98]]))) == ["a b"]


def test_only_what_is_given_is_sent(talk) -> None:
    fake = server()
    found = talk(fake, keep_raw=True).tokenize(
        "a", add_special_tokens=False, return_token_strs=True
    )
    asked = {"model": "m", "prompt": "a", "add_special_tokens": False, "return_token_strs": True}
    assert fake.posts[0].body == asked
    assert (found.strings, len(found.raw)) == ((("a",),), 1)
    talk(fake).detokenize([97])
    assert fake.posts[1].body == {"model": "m", "tokens": [97]}


def test_conversations_and_images_go_as_messages(talk) -> None:
    fake = server()
    talk(fake).tokenize([[{"role": "user", "content": "a"}]])
    assert fake.posts[0].body == {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    talk(fake).tokenize(Image.new("RGB", (2, 2)))
    assert fake.posts[1].body["messages"][0]["content"][0]["type"] == "image_url"
    with pytest.raises(MediaError):
        talk(fake).tokenize(b"no image")


def test_nothing_makes_no_request(talk) -> None:
    fake = server()
    talker = talk(fake)
    assert (list(talker.tokenize([])), list(talker.detokenize([])), fake.sent) == ([], [], [])


def test_the_one_that_is_refused_is_told_and_the_others_are_there(talk) -> None:
    talker = talk(server(refuses=lambda text: "no" if text == "b" else None))
    with pytest.raises(PartialFailureError) as caught:
        talker.tokenize(list(WORDS))
    assert [place for place, _ in caught.value.failures] == [1]
    assert list(caught.value.results) == [IDS[0], None, IDS[2]]
    found = talker.tokenize(list(WORDS), on_error="return", return_token_strs=True)
    assert (found.counts, found.strings) == ((1, 0, 1), (("a",), None, ("c",)))
    with pytest.raises(BadRequestError):
        talker.tokenize(list(WORDS), on_error="raise")


@pytest.mark.parametrize(
    ("method", "given", "options"),
    [
        ("tokenize", [1, 2], {}),
        ("tokenize", 3, {}),
        ("tokenize", ["a", [{"role": "user", "content": "a"}]], {}),
        ("tokenize", "a", {"on_error": "ignore"}),
        ("tokenize", "a", {"extra_body": {"prompt": "again"}}),
        ("detokenize", "text", {}),
        ("detokenize", [-1], {}),
        ("detokenize", [[1], ["a"]], {}),
        ("detokenize", [1], {"on_error": "ignore"}),
        ("detokenize", [1], {"extra_body": {"tokens": [2]}}),
    ],
    ids=str,
)
def test_what_means_nothing_is_refused(talk, method, given, options) -> None:
    fake = server()
    with pytest.raises(InvalidRequestError):
        getattr(talk(fake), method)(given, **options)
    assert fake.posts == []


@pytest.mark.parametrize(
    ("method", "path", "fault"),
    [
        ("tokenize", "/tokenize", body({})),
        ("tokenize", "/tokenize", body({"tokens": ["a"]})),
        ("tokenize", "/tokenize", body({"tokens": [97], "token_strs": []})),
        ("tokenize", "/tokenize", body({"tokens": [-1]})),
        ("detokenize", "/detokenize", body({"prompt": 1})),
    ],
)
def test_an_answer_that_is_none_is_an_error(talk, method, path, fault) -> None:
    fake = server()
    fake.always(path, fault)
    with pytest.raises(ResponseError):
        getattr(talk(fake), method)([[97]] if method == "detokenize" else ["a"])


def test_an_option_that_is_refused_is_raised_as_itself(talk) -> None:
    fake = server()
    fake.always("/tokenize", status(400, "no"))
    with pytest.raises(BadRequestError, match="no"):
        talk(fake).tokenize(list(WORDS))
