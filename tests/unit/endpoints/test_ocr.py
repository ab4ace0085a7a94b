"""`ocr` through either client: how a page is asked for, and what is believed of the answer."""

import base64
import io

import pytest
from _script import BLOCKING, URL, FakeVLLM, Talker, body, edited
from PIL import Image

from vllm_modalities import (
    InvalidRequestError,
    MediaError,
    OCRRequest,
    Profile,
    ResponseError,
    ServerInfo,
    UnsupportedTaskError,
)
from vllm_modalities.profiles import GENERIC_OCR, OCRProfile

CHAT = "/v1/chat/completions"
PAGE = Image.effect_noise((222, 111), 50).convert("RGB")
LOOPS = {"min_pattern_size": 3, "max_pattern_size": 64, "min_count": 50}
XARGS = {"ngram_size": 30, "window_size": 90, "whitelist_token_ids": [128821, 128822]}

BARE = {"temperature": 0.0, "repetition_detection": LOOPS, "stream": True}


def reader(says: str | None = "Words.", *, model: str = "DeepSeek-OCR", **told) -> FakeVLLM:
    return FakeVLLM("chat", model=model, says=says, **told)


def asked(server: FakeVLLM) -> tuple[bytes, str, dict[str, object]]:
    """The picture, the words and the other fields of the only request."""
    (post,) = server.posts
    assert post.path == CHAT
    fields = dict(post.body)
    (message,) = fields.pop("messages")
    picture, words = message["content"]
    assert (message["role"], picture["type"], words["type"]) == ("user", "image_url", "text")
    head, _, data = picture["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    return base64.b64decode(data), words["text"], fields


def test_a_page_is_asked_for_as_the_model_wants_it(talk) -> None:
    server = reader()
    talk(server).ocr(PAGE)
    picture, words, fields = asked(server)
    assert Image.open(io.BytesIO(picture)).tobytes() == PAGE.tobytes()
    assert words == "<|grounding|>Convert the document to markdown."
    assert fields == {
        "model": "DeepSeek-OCR",
        "temperature": 0.0,
        "skip_special_tokens": False,
        "vllm_xargs": XARGS,
        "repetition_detection": LOOPS,
        "stream": True,
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"task": "text"}, "Free OCR."),
        ({"task": "boxes"}, "<|grounding|>OCR this image."),
        ({"prompt": "Read it."}, "Read it."),
        ({"prompt": "Read it.", "task": "of my own"}, "Read it."),
    ],
    ids=str,
)
def test_the_words_are_the_task_s_or_the_caller_s(talk, arguments, words) -> None:
    server = reader()
    talk(server).ocr(PAGE, **arguments)
    assert asked(server)[1] == words


def test_the_caller_s_fields_go_before_the_profile_s(talk) -> None:
    server = reader()
    own = {
        "temperature": 0.5,
        "skip_special_tokens": True,
        "vllm_xargs": {"ngram_size": 5},
        "max_completion_tokens": 7,
        "seed": 1,
        "repetition_detection": {"max_pattern_size": 0},
        "stream": False,
    }
    talk(server).ocr(PAGE, extra_body=own)
    assert asked(server)[2] == {"model": "DeepSeek-OCR", **own}


def test_none_leaves_a_field_of_the_profile_out(talk) -> None:
    server = reader()
    talk(server).ocr(PAGE, extra_body={"vllm_xargs": None, "stream": None, "seed": None})
    assert asked(server)[2] == {
        "model": "DeepSeek-OCR",
        "temperature": 0.0,
        "skip_special_tokens": False,
        "repetition_detection": LOOPS,
    }


def test_max_tokens_is_sent_in_the_server_s_word(talk) -> None:
    server = reader()
    talk(server).ocr(PAGE, max_tokens=99)
    assert asked(server)[2]["max_completion_tokens"] == 99


def test_a_task_that_the_model_has_not_is_refused_with_those_it_has(talk) -> None:
    server = reader()
    with pytest.raises(InvalidRequestError, match="'markdown', 'boxes', 'text'") as caught:
        talk(server).ocr(PAGE, task="poetry")
    assert caught.value.findings[0].field == "task"
    assert server.posts == []


def test_a_chat_server_that_is_not_known_to_read_pages_is_not_asked(talk) -> None:
    server = reader(model="talker")
    with pytest.raises(UnsupportedTaskError, match="'ocr'"):
        talk(server).ocr(PAGE)
    assert server.posts == []


def test_a_server_that_is_mapped_to_reading_is_asked_as_any_vision_model(talk) -> None:
    server = reader("# Title\n\n<b>Words</b>.", model="reader-of-mine")
    client = talk(server, base_url={"ocr": URL})
    with pytest.raises(InvalidRequestError, match="'markdown', 'text', 'table'"):
        client.ocr(PAGE, task="poetry")
    assert server.posts == []
    document = client.ocr(PAGE)
    words = GENERIC_OCR.prompts["markdown"]
    assert asked(server)[1:] == (words, {"model": "reader-of-mine", **BARE})
    assert document.markdown == "# Title\n\n<b>Words</b>."
    assert document.text == "Title\n\nWords."
    assert (document.pages[0].blocks, document.warnings) == ((), ())


def test_a_profile_of_the_caller_s_own_makes_a_chat_server_a_reader(talk) -> None:
    facts = OCRProfile(prompts={"markdown": "To markdown!"}, sources={})
    server = reader("<|ref|>a<|/ref|>", model="mine")
    document = talk(server, profiles=[Profile(name="Mine", pattern="mine", ocr=facts)]).ocr(PAGE)
    assert asked(server)[1:] == ("To markdown!", {"model": "mine", **BARE})
    assert document.markdown == "<|ref|>a<|/ref|>"


def test_boxes_are_in_pixels_of_the_page_as_it_was_given(talk) -> None:
    says = (
        "<|ref|>title<|/ref|><|det|>[[0, 0, 999, 333]]<|/det|>\n# Note\n\n"
        "<|ref|>text<|/ref|><|det|>[[333, 666, 666, 999]]<|/det|>\nBody."
    )
    document = talk(reader(says)).ocr(PAGE)
    (page,) = document.pages
    assert (page.number, page.width, page.height, page.finish_reason) == (1, 222, 111, "stop")
    assert [(block.type, block.text, block.boxes) for block in page.blocks] == [
        ("title", "# Note", ((0.0, 0.0, 222.0, 37.0),)),
        ("text", "Body.", ((74.0, 74.0, 148.0, 111.0),)),
    ]
    assert document.markdown == "# Note\n\nBody."
    assert (document.model, document.warnings, document.raw) == ("DeepSeek-OCR", (), None)
    assert page.image.tobytes() == PAGE.tobytes()


@pytest.mark.parametrize("reason", ["length", "abort", None])
def test_a_page_that_the_model_did_not_end_says_so(talk, reason) -> None:
    server = reader()
    server.always(CHAT, edited(lambda answer: answer["choices"][0].update(finish_reason=reason)))
    document = talk(server).ocr(PAGE, repair=False)
    (warning,) = document.warnings
    assert warning == f"the page is cut: the model did not end it by itself ({reason!r})"
    assert document.pages[0].warnings == (warning,)
    assert document.pages[0].finish_reason == reason
    assert len(server.posts) == 1


def test_what_is_doubtful_about_the_file_and_the_request_is_told(talk) -> None:
    file = io.BytesIO()
    PAGE.save(file, "GIF", save_all=True, append_images=[Image.new("RGB", PAGE.size)])
    document = talk(reader()).ocr(file.getvalue(), extra_body={"new": 1})
    pages, unchecked = document.warnings
    assert "only its first frame was read" in pages
    assert "'new' is passed on unchecked" in unchecked
    assert document.pages[0].warnings == ()


def test_no_content_is_an_empty_page(talk) -> None:
    document = talk(reader(None)).ocr(PAGE)
    assert (document.markdown, document.text, len(document)) == ("", "", 1)


WRONG = {
    "no choices": {"choices": []},
    "nothing": {},
    "no message": {"choices": [{}]},
    "an error": {"error": {"message": "out of memory"}},
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
def test_an_answer_that_is_no_page_is_an_error_with_evidence(talk, answer) -> None:
    server = reader()
    server.always(CHAT, body(answer))
    with pytest.raises(ResponseError) as caught:
        talk(server).ocr(PAGE)
    assert caught.value.server == URL


@pytest.mark.parametrize("source", ["no-such-page.png", b"", b"The quick brown fox."], ids=str)
def test_what_holds_no_image_is_an_error_before_any_request(talk, source) -> None:
    server = reader()
    with pytest.raises(MediaError):
        talk(server).ocr(source)
    assert server.sent == []


def test_the_server_s_own_answer_is_kept_when_asked_for() -> None:
    (raw,) = Talker(BLOCKING, reader(), keep_raw=True).ocr(PAGE).raw
    assert b'"Words."' in raw


SIZES = [0, -1, 1.5, "30", True, [30]]
TOKENS = [7, "7", ["7"], [1.5], [True]]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [(name, size) for name in ("ngram_size", "window_size") for size in SIZES]
    + [("whitelist_token_ids", tokens) for tokens in TOKENS],
    ids=str,
)
def test_arguments_that_the_processor_takes_wrong_are_refused(name, wrong) -> None:
    server = reader()
    with pytest.raises(InvalidRequestError, match=f"vllm_xargs\\['{name}'\\]") as caught:
        Talker(BLOCKING, server).ocr(PAGE, extra_body={"vllm_xargs": {name: wrong}})
    (finding,) = caught.value.findings
    assert finding.field == f"vllm_xargs.{name}"
    assert finding.source
    assert server.posts == []


@pytest.mark.parametrize(
    "right", [None, {}, XARGS, {"ngram_size": 1}, {"whitelist_token_ids": []}, {"other": "x"}]
)
def test_arguments_that_the_processor_takes_are_let_through(right) -> None:
    request = OCRRequest(messages=({"role": "user"},), vllm_xargs=right)
    assert request.validate_for(ServerInfo()) == []


def test_too_many_pixels_are_counted_before_they_are_sent() -> None:
    server = reader()
    request = OCRRequest(messages=({"role": "user"},), pixels=178_956_971)
    with pytest.raises(InvalidRequestError, match="178,956,971 pixels"):
        Talker(BLOCKING, server).send(request)
    assert server.posts == []
