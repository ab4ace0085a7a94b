"""`classify`: a class for each input, and what is not believed."""

import numpy as np
import pytest
from _script import FakeVLLM, body, edited, score_of, status
from PIL import Image

from vllm_modalities import (
    BadRequestError,
    InvalidRequestError,
    MediaError,
    PartialFailureError,
    ResponseError,
)

CLASSIFY = "/classify"
TEXTS = [f"text {n}" for n in range(10)]


def server(**told) -> FakeVLLM:
    return FakeVLLM("cross-encoder", **told)


@pytest.mark.parametrize("size", [1, 3, None])
def test_every_text_has_its_class(talk, size) -> None:
    found = talk(server()).classify(TEXTS, batch_size=size)
    yes = np.array([score_of("class", text) for text in TEXTS])
    np.testing.assert_allclose(found.probs, np.stack([1 - yes, yes], axis=1), rtol=1e-6)
    assert found.probs.dtype == np.float32
    assert found.labels == tuple("yes" if one > 0.5 else "no" for one in yes)
    assert (found.model, found.usage.prompt_tokens, found.warnings) == ("m", 10, ())
    assert repr(found) == "Classification(10 x 2, model='m')"


def test_only_what_is_given_is_sent(talk) -> None:
    fake = server()
    found = talk(fake, keep_raw=True).classify("a", use_activation=False)
    assert fake.posts[0].body == {"model": "m", "input": ["a"], "use_activation": False}
    assert len(found.raw) == 1


def test_no_text_makes_no_request(talk) -> None:
    fake = server()
    found = talk(fake).classify([])
    assert (len(found), found.probs.shape, fake.sent) == (0, (0, 0), [])


def test_the_one_bad_text_is_found(talk) -> None:
    fake = server(refuses=lambda text: "too long" if text == "text 4" else None)
    with pytest.raises(PartialFailureError) as caught:
        talk(fake).classify(TEXTS)
    assert [place for place, _ in caught.value.failures] == [4]
    assert caught.value.results.labels[4] is None
    assert np.isnan(caught.value.results.probs[4]).all()
    assert "1 failed" in repr(talk(fake).classify(TEXTS, on_error="return"))


def test_options_that_are_refused_are_no_text_s_fault(talk) -> None:
    fake = server()
    fake.always(CLASSIFY, status(400, "no"))
    with pytest.raises(BadRequestError, match="no"):
        talk(fake).classify(TEXTS)


def test_images_go_one_by_one_as_messages(talk) -> None:
    fake = server()
    talk(fake).classify([Image.new("RGB", (2, 2))] * 2)
    assert [post.body["messages"][0]["content"][0]["type"] for post in fake.posts] == [
        "image_url"
    ] * 2
    with pytest.raises(MediaError):
        talk(fake).classify(b"no image")


@pytest.mark.parametrize(
    "wrong",
    [{"batch_size": 0}, {"on_error": "ignore"}, {"extra_body": {"input": "again"}}],
    ids=str,
)
def test_what_means_nothing_is_refused(talk, wrong) -> None:
    fake = server()
    with pytest.raises(InvalidRequestError):
        talk(fake).classify(TEXTS, **wrong)
    assert fake.posts == []


@pytest.mark.parametrize(
    "fault",
    [
        edited(lambda answer: answer.update(data=answer["data"][1:])),
        edited(lambda answer: answer["data"][0].update(index=0)),
        edited(lambda answer: answer["data"][0].update(probs=[1.0])),
        edited(lambda answer: answer["data"][0].update(probs=[])),
        edited(lambda answer: answer["data"][0].update(probs=[None, 1.0])),
        body({}),
    ],
)
def test_an_answer_without_one_row_a_text_is_an_error(talk, fault) -> None:
    fake = server()
    fake.always(CLASSIFY, fault)
    with pytest.raises(ResponseError):
        talk(fake).classify(["good", "bad"])
