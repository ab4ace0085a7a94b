"""What may be embedded, told apart: one of a kind, many of a kind, and what is refused."""

import array
import math
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vllm_modalities import ImageURL, InvalidRequestError, MediaError
from vllm_modalities._inputs import texts_of
from vllm_modalities.endpoints._content import Chat, inputs_of, item_of, sizes_of, tokens_of

HELLO = {"role": "user", "content": "hello"}
SYSTEM = {"role": "system", "content": "be brief"}
RED = Image.new("RGB", (2, 2), "red")


def png(image: Image.Image = RED) -> bytes:
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


class Listed:
    """An array of another library's, by the name of its method."""

    def __init__(self, method: str, values: list) -> None:
        setattr(self, method, lambda: values)

    def __iter__(self):
        raise AssertionError("its own values are asked for by name")
        yield


TEXTS = ("first", "zweiter: ü", "")


@pytest.mark.parametrize(
    "given",
    [
        list(TEXTS),
        TEXTS,
        iter(TEXTS),
        dict.fromkeys(TEXTS).keys(),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        [np.str_(text) for text in TEXTS],
        Listed("tolist", list(TEXTS)),
        Listed("to_pylist", list(TEXTS)),
    ],
    ids=lambda given: type(given).__name__,
)
def test_texts_come_from_whatever_holds_them(given) -> None:
    found = inputs_of("inputs", given)
    assert found == TEXTS
    assert {type(text) for text in found} == {str}


def test_a_value_of_arrow_s_is_the_value_it_stands_for() -> None:
    class Scalar:
        as_py = staticmethod(lambda: "a text")

    assert item_of("inputs", 0, Scalar()) == "a text"


def test_plain_texts_are_taken_as_they_are() -> None:
    assert inputs_of("inputs", ["a", "b"]) == ("a", "b")


@pytest.mark.parametrize(
    ("given", "words"), [(["\ud800"], "half a surrogate"), ([5], "must be a text"), (5, "a list")]
)
def test_where_only_texts_go_nothing_else_does(given, words) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        texts_of("documents", given)


@pytest.mark.parametrize("given", ["one", np.str_("one"), np.array("one")])
def test_one_text_stands_for_itself(given) -> None:
    assert inputs_of("inputs", given) == ("one",)


@pytest.mark.parametrize("none", [[], (), iter([]), np.array([]), np.array([], dtype=int)])
def test_nothing_is_nothing(none) -> None:
    assert inputs_of("inputs", none) == ()


@pytest.mark.parametrize(
    "ids", [[1, 2], (1, 2), np.array([1, 2]), array.array("L", [1, 2]), [np.int64(1), np.int32(2)]]
)
def test_token_ids_are_one_list_or_many(ids) -> None:
    assert inputs_of("inputs", ids) == ((1, 2),)
    assert inputs_of("inputs", [ids, [3]]) == ((1, 2), (3,))


def test_an_array_of_two_dimensions_is_many_lists_of_token_ids() -> None:
    assert inputs_of("inputs", np.array([[1, 2], [3, 4]])) == ((1, 2), (3, 4))


def test_messages_are_one_conversation_or_many() -> None:
    assert inputs_of("inputs", [SYSTEM, HELLO]) == (Chat((SYSTEM, HELLO)),)
    assert inputs_of("inputs", [[HELLO], (SYSTEM, HELLO)]) == (
        Chat((HELLO,)),
        Chat((SYSTEM, HELLO)),
    )


def test_a_message_may_have_parts_of_any_type_and_none() -> None:
    parts = [{"type": "video_url", "video_url": {"url": "x"}}, "and words"]
    (chat,) = inputs_of("inputs", [{"role": "user", "content": parts, "name": "me"}, {"role": "a"}])
    assert chat.messages == (
        {
            "role": "user",
            "content": (parts[0], {"type": "text", "text": "and words"}),
            "name": "me",
        },
        {"role": "a"},
    )
    assert chat.read() == (chat, ())


def data_url_image(message: dict) -> Image.Image:
    import base64

    (part,) = (part for part in message["content"] if part["type"] == "image_url")
    head, _, encoded = part["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    return Image.open(BytesIO(base64.b64decode(encoded)))


@pytest.mark.parametrize("form", ["path", "bytes", "pillow"])
def test_an_image_is_a_message_of_the_user_s_and_is_read_late(tmp_path, form) -> None:
    file = tmp_path / "red.png"
    file.write_bytes(png())
    given = {"path": file, "bytes": png(), "pillow": RED}[form]
    (chat,) = inputs_of("inputs", given)
    assert chat.bare
    assert chat.messages[0]["content"] == (given,)
    read, doubts = chat.read()
    (message,) = read.messages
    assert (message["role"], doubts) == ("user", ())
    assert data_url_image(message).tobytes() == RED.tobytes()


def test_images_and_texts_stand_together_in_content() -> None:
    (chat,) = inputs_of("inputs", {"content": ["a red square", RED]})
    message = chat.read()[0].messages[0]
    assert message["content"][0] == {"type": "text", "text": "a red square"}
    assert data_url_image(message).tobytes() == RED.tobytes()


def test_an_image_may_stand_in_a_message() -> None:
    (chat,) = inputs_of("inputs", [SYSTEM, {"role": "user", "content": [RED]}])
    assert not chat.bare
    first, second = chat.read()[0].messages
    assert first is SYSTEM
    assert data_url_image(second).tobytes() == RED.tobytes()


@pytest.mark.parametrize(
    "given",
    [b"no image", bytearray(b"no image"), memoryview(b"no image"), Path("/no/such/file.png")],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_image_is_said_when_it_is_read(given) -> None:
    (chat,) = inputs_of("inputs", given)
    with pytest.raises(MediaError):
        chat.read()
    assert inputs_of("inputs", [given]) == (chat,)


def test_what_is_doubtful_of_an_image_is_told() -> None:
    file = BytesIO()
    RED.save(file, "GIF", save_all=True, append_images=[Image.new("RGB", (2, 2), "blue")])
    _, (doubt,) = inputs_of("inputs", file.getvalue())[0].read()
    assert "holds more images" in doubt


class Frame(list):
    columns = ("text",)


REFUSED = {
    "a number": (5, "inputs must be a text.*got int"),
    "nothing": (None, "got None"),
    "a mapping": ({"a": 1}, "got dict with 'a'"),
    "an empty mapping": ({}, "got dict with nothing"),
    "a table": (Frame(["text"]), "got Frame; give one column"),
    "a message alone": (HELLO, "a conversation is a list of them"),
    "a message among texts": (["a", HELLO], "item 1 .*a conversation is a list of them"),
    "no text": (["fine", None], "item 1 of inputs must be .*got None"),
    "what a column has where there is no text": (["fine", math.nan], "item 1 .*got nan"),
    "lists of texts": ([["a", "b"]], "item 0 of inputs must be .*got list of str"),
    "an empty list": ([[]], "item 0 of inputs must be .*got list of nothing"),
    "a number in a list": ([1, "a"], "inputs must be .*got list of int and str"),
    "floats": ([1.5, 2.0], "item 0 of inputs .*got 1.5"),
    "truth values": ([[True, False]], "item 0 of inputs .*got list of bool"),
    "token ids below 0": ([[5, -1]], "item 0 of inputs: token ids are 0 or more, got -1"),
    "texts and ids": (["a", [1]], "one kind, got texts and token ids"),
    "texts and images": (["a", RED], "got texts and messages or images.*templated"),
    "ids and a chat": ([[1], [HELLO]], "got token ids and messages"),
    "half a pair": (["fine", "\ud800"], "item 1 of inputs holds half a surrogate"),
    "content of a number": ({"content": 5}, "content must be a text"),
    "empty content": ({"content": []}, "content must be .*got list of nothing"),
    "content of a number in it": ([[{"role": "user", "content": ["a", 5]}]], "int and str"),
}


@pytest.mark.parametrize(("given", "words"), REFUSED.values(), ids=REFUSED)
def test_what_no_model_can_be_given_is_refused_in_words(given, words) -> None:
    with pytest.raises(InvalidRequestError, match=words) as caught:
        inputs_of("inputs", given)
    assert caught.value.findings[0].field == "inputs"


@pytest.mark.parametrize(
    ("given", "tokens"),
    [
        ("", 1),
        ("x" * 400, 101),
        ("字" * 400, 301),
        ([1, 2, 3], 3),
        ([HELLO], 2),
        (RED, 4096),
        ({"content": ["x" * 40, RED, ImageURL("https://x/y")]}, 11 + 2 * 4096),
        ([{"role": "user"}], 1),
    ],
)
def test_tokens_are_estimated(given, tokens) -> None:
    assert tokens_of(item_of("inputs", 0, given)) == tokens
    assert sizes_of([item_of("inputs", 0, given)] * 2) == [tokens] * 2
