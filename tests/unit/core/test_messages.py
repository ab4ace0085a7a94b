"""Reading answers: what a body says, and what it is when it says nothing."""

import json

import pydantic
import pytest

from vllm_modalities import Response, ResponseError
from vllm_modalities._flow import said


class Body(pydantic.BaseModel):
    number: int


def answer(content: object) -> Response:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return Response(200, {"x-request-id": "r-7"}, raw, "http://server")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "too long", "type": "BadRequestError"}}, "too long"),
        ({"error": "Unauthorized"}, "Unauthorized"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"loc": ["body"], "msg": "wrong"}]}, "wrong"),
        ({"message": "too long"}, "too long"),
        ({"object": "error", "message": "too long"}, "too long"),
        ({"error": {"code": 7}}, "7"),
        ({"strange": 1}, "strange"),
        (["strange"], "strange"),
        (b"plain words", "plain words"),
        (b"\xff words", "words"),
        (b"<html>" + b"x" * 9999, "<html>x"),
    ],
)
def test_what_an_error_body_says_is_found_in_any_shape(body, words) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert words in said(raw)
    assert len(said(raw)) <= 500


def test_an_empty_body_says_nothing() -> None:
    assert said(b"") == ""


def test_json_is_the_body() -> None:
    assert answer({"number": 1}).json() == {"number": 1}
    assert answer({"error": None, "object": "list"}).json() == {"error": None, "object": "list"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<html>", "not JSON"),
        (b"", "not JSON"),
        (b'{"number": ', "not JSON"),
        ({"error": {"message": "out of memory"}}, "out of memory"),
        ({"object": "error", "message": "out of memory"}, "out of memory"),
    ],
)
def test_what_is_no_json_or_an_error_is_told_apart_by_json_and_parse(content, words) -> None:
    for read in (lambda one: one.json(), lambda one: one.parse(Body)):
        with pytest.raises(ResponseError, match=words) as caught:
            read(answer(content))
        assert (caught.value.server, caught.value.request_id) == ("http://server", "r-7")
        assert caught.value.body == answer(content).content


def test_parse_names_what_is_malformed() -> None:
    assert answer({"number": 1}).parse(Body).number == 1
    with pytest.raises(ResponseError, match=r"number: .*integer"):
        answer({"number": "one"}).parse(Body)
    with pytest.raises(ResponseError, match="body: "):
        answer([1]).parse(Body)
