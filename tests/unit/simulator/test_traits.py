"""What is kept of a request, so that it can be compared with recorded ones."""

import base64
import io
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vllm_modalities.simulator._models import Model
from vllm_modalities.simulator._traits import traits
from vllm_modalities.simulator._wanted import Sound, Wanted, from_form, from_json

JSON = {"content-type": "application/json"}
MODEL = Model("m", context=16, width=8)
ANY = Model("m", width=8, matryoshka=True)
CHAT = Model("m", templated=True, prompts=("query",), languages=("en",))


def found(path: str, model: Model = MODEL, /, **fields: object) -> set[str]:
    return set(traits(Wanted("POST", path, JSON, fields), model))


def of(name: str, value: object, model: Model = MODEL) -> set[str]:
    """The traits that one field adds to a plain request."""
    return found("/p", model, **{name: value})


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "true"),
        (0, "zero"),
        (-2, "negative"),
        (0.5, "positive"),
        ("", "empty"),
        ("a", "text"),
        ([], "list of nothing"),
        (["a", ""], "list of text"),
        (["a", 1], "list of positive and text"),
        ([1.5], "list of fraction"),
        ([2_000_000], "list of large"),
        ([[1], [2]], "list of list of positive"),
        ([{"b": 1, "a": 1}], "list of object with a, b"),
        ({}, "empty object"),
        ({"a": 1}, "object"),
    ],
)
def test_a_value_is_kept_by_its_kind(value, kind) -> None:
    assert of("user", value) == {f"user: {kind}"}


@pytest.mark.parametrize(
    ("name", "value", "model", "kind"),
    [
        ("dimensions", 4, MODEL, "of a model that cannot shorten"),
        ("dimensions", 4, ANY, "fitting"),
        ("dimensions", 0, ANY, "below 1"),
        ("dimensions", 9, ANY, "above the width"),
        ("dimensions", 1.5, ANY, "fraction"),
        ("dimensions", "4", ANY, "fitting, as text"),
        ("dimensions", "400", ANY, "above the width, as text"),
        ("dimensions", "four", ANY, "text"),
        ("top_n", "1", MODEL, "positive, as text"),
        ("top_n", "one", MODEL, "text"),
        ("dimensions", True, ANY, "true"),
        ("top_n", 1.5, MODEL, "fraction"),
        ("top_n", 1.0, MODEL, "float"),
        ("truncate_prompt_tokens", -1, MODEL, "-1"),
        ("truncate_prompt_tokens", 0, MODEL, "zero"),
        ("truncate_prompt_tokens", 16, MODEL, "the context"),
        ("truncate_prompt_tokens", 17, MODEL, "context or more"),
        ("max_tokens_per_doc", 16, MODEL, "context or more"),
        ("max_tokens_per_doc", "many", MODEL, "text"),
        ("cache_salt", "", MODEL, "empty"),
        ("cache_salt", "a", MODEL, "text"),
        ("cache_salt", "a/b", MODEL, "text with a letter of paths"),
        ("cache_salt", "a" * 129, MODEL, "above 128 letters"),
        ("cache_salt", "a" * 1025, MODEL, "above 1024 letters"),
        ("language", "en", MODEL, "text"),
        ("language", "en", CHAT, "of the model's"),
        ("language", "xx", CHAT, "of none"),
        ("input_type", "query", MODEL, "none there"),
        ("input_type", None, CHAT, "null"),
        ("priority", 2**63, MODEL, "beyond 64 bits"),
        ("priority", 5, MODEL, "positive"),
        ("top_p", 7, MODEL, "not in 0 to 1"),
        ("top_p", 0.5, MODEL, "positive"),
        ("encoding_format", "base64", MODEL, "base64"),
        ("encoding_format", "hex", MODEL, "no word of its"),
        ("encoding_format", "", MODEL, "empty"),
        ("encoding_format", 5, MODEL, "no word of its"),
        ("stream_include_usage", True, MODEL, "true, without stream"),
        ("vllm_xargs", "{bad", MODEL, "text"),
        ("vllm_xargs", {}, MODEL, "empty object"),
    ],
)
def test_a_field_whose_values_differ_is_kept_by_what_tells_them_apart(
    name, value, model, kind
) -> None:
    assert of(name, value, model) == {f"{name}: {kind}"}


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("encoding_format", "float", set()),
        ("top_n", 0, set()),
        ("stream", False, set()),
        ("top_n", False, {"top_n: false"}),
        ("top_n", 0.0, {"top_n: float"}),
        ("encoding_format", None, {"encoding_format: null"}),
    ],
)
def test_a_default_is_no_trait(name, value, kept) -> None:
    assert of(name, value) == kept


def test_words_in_a_list_are_kept_each() -> None:
    assert of("embedding_types", ["float", "int4", {"a": 1}]) == {
        "embedding_types: float",
        "embedding_types: no word of its",
    }


def test_arguments_of_a_processor_are_kept_each_by_its_type() -> None:
    assert of("vllm_xargs", {"ngram_size": 3, "window": 1.0, "list": ["a"]}) == {
        "vllm_xargs.ngram_size: positive",
        "vllm_xargs.window: float",
        "vllm_xargs.list: list of text",
    }


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"model": "m"}, set()),
        ({"model": "other"}, {"model: unknown"}),
        ({"model": ""}, {"model: empty"}),
    ],
)
def test_the_name_of_the_model_is_right_or_wrong(fields, kept) -> None:
    assert found("/p", **fields) == kept


KEYED = Model("m", api_key="k", hides_routes=True)


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ({}, {"no key on /p"}),
        ({"authorization": "Bearer other"}, {"no key on /p"}),
        ({"authorization": "Basic k"}, {"no key on /p"}),
        ({"authorization": "bearer k"}, set()),
        ({"authorization": "Bearer k", "x-request-id": "r"}, {"X-Request-Id"}),
    ],
)
def test_headers_that_matter_are_kept(headers, kept) -> None:
    assert traits(Wanted("GET", "/p", headers), KEYED) == kept


def test_hidden_routes_are_a_trait_of_asking_for_them() -> None:
    asked = Wanted("GET", "/openapi.json", {"authorization": "Bearer k"})
    assert traits(asked, KEYED) == {"routes are hidden"}


@pytest.mark.parametrize(
    ("content", "headers", "kept"),
    [
        (b"{bad", JSON, "the body is no JSON"),
        (b'["a"]', JSON, "the body is no object"),
        (b"{}", {"content-type": "text/plain"}, "the body is not called JSON"),
        (b"{}", {}, "the body is not called JSON"),
        (b'{"a": ' * 100_000, JSON, "the body is no JSON"),
    ],
)
def test_a_body_that_cannot_be_read_is_kept_as_that_alone(content, headers, kept) -> None:
    assert traits(from_json("POST", "/v1/embeddings", headers, content), MODEL) == {kept}


@pytest.mark.parametrize(
    ("path", "fields", "kept"),
    [
        ("/v1/embeddings", {}, {"no input or messages"}),
        ("/rerank", {"documents": ["a"]}, {"no query", "documents: list of text"}),
        (
            "/v1/score",
            {"queries": "a"},
            {"queries: text", "no documents or items or data_2 or text_2"},
        ),
        (
            "/score",
            {"queries": ["a", "b"], "documents": ["a"]},
            {"queries: list of text", "documents: list of text", "pairs that do not match"},
        ),
        (
            "/score",
            {"text_1": ["a", "b"], "text_2": []},
            {"text_1: list of text", "text_2: list of nothing"},
        ),
    ],
)
def test_what_is_missing_is_kept(path, fields, kept) -> None:
    assert found(path, **fields) == kept


LONG = "word " * 20
LONGER = "word " * 100


@pytest.mark.parametrize(
    ("path", "fields", "kept"),
    [
        ("/v1/embeddings", {"input": LONG}, {"more tokens than the model reads"}),
        ("/v1/embeddings", {"input": ["a", LONG]}, {"more tokens than the model reads"}),
        ("/v1/embeddings", {"input": [7] * 20}, {"more tokens than the model reads"}),
        ("/v1/embeddings", {"input": LONGER}, {"more letters than the model reads"}),
        ("/v1/embeddings", {"input": LONG, "truncate_prompt_tokens": -1}, set()),
        ("/v1/rerank", {"query": "a", "documents": [LONG], "max_tokens_per_doc": 3}, set()),
        ("/v2/embed", {"texts": [LONG]}, set()),
        ("/v2/embed", {"texts": [LONG], "truncate": "NONE"}, {"more tokens than the model reads"}),
    ],
)
def test_a_text_that_is_too_long_is_kept_unless_it_is_cut(path, fields, kept) -> None:
    assert {one for one in found(path, **fields) if "than the model" in one} == kept


def test_a_server_that_splits_texts_is_told_apart() -> None:
    splitting = Model("m", context=16, splits=True)
    assert "more tokens than the model reads, which are split" in found(
        "/v1/embeddings", splitting, input=LONG
    )


def url(content: bytes, head: str = "data:image/png;base64,") -> str:
    return head + base64.b64encode(content).decode()


def png(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("1", (width, height)).save(file, "PNG")
    return file.getvalue()


PAGE = url(png(4, 4))


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        ({"type": "image_url", "image_url": {"url": PAGE}}, "image_url: readable"),
        ({"type": "image_url", "image_url": {"url": url(b"no")}}, "image_url: unreadable"),
        ({"type": "image_url", "image_url": {"url": url(b"%PDF-1.7")}}, "image_url: unreadable"),
        (
            {"type": "image_url", "image_url": {"url": url(png(18_000, 10_000))}},
            "image_url: too many pixels",
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,a"}},
            "image_url: no base64",
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:,a"}},
            "image_url: data that is not base64",
        ),
        ({"type": "image_url", "image_url": {"url": "http://a/b.png"}}, "image_url: http"),
        ({"type": "image_url", "image_url": {"url": "ftp://a/b.png"}}, "image_url: another scheme"),
        ({"type": "image_url", "image_url": PAGE}, "image_url: text"),
        ({"type": "page"}, "page: null"),
        ({"type": "text"}, "text: null"),
    ],
)
def test_a_picture_is_kept_by_how_far_it_can_be_read(part, kept) -> None:
    content = [part, {"type": "text", "text": "words"}]
    assert found("/v1/chat/completions", CHAT, messages=[{"role": "user", "content": content}]) == {
        "messages: conversation",
        f"messages: part {kept}",
    }


def test_a_picture_of_many_pixels_is_read_where_warnings_are_errors_too() -> None:
    part = {"type": "image_url", "image_url": {"url": url(png(10_000, 9_000))}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = found("/p", CHAT, messages=[{"role": "user", "content": [part]}])
    assert "messages: part image_url: readable" in kept


@pytest.mark.parametrize(
    ("count", "kept"), [(1, set()), (2, {"several images"}), (3, {"more images than it takes"})]
)
def test_pictures_are_counted(count, kept) -> None:
    part = {"type": "image_url", "image_url": {"url": PAGE}}
    told = found("/p", CHAT, messages=[{"role": "user", "content": [part] * count}])
    assert {f"messages: {one}" for one in kept} == {one for one in told if "images" in one}


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("messages", [], "list of nothing"),
        ("messages", "hello", "text"),
        ("messages", [{"role": "user", "content": "a"}], "conversation"),
        ("messages", [[{"role": "user", "content": "a"}]], "conversations"),
        ("input", [{"role": "user", "content": "a"}], "conversation"),
        ("input", [[{"role": "user", "content": "a"}]], "conversations"),
    ],
)
def test_conversations_are_kept_by_their_shape(name, value, kept) -> None:
    assert of(name, value, CHAT) == {f"{name}: {kept}"}


def test_a_conversation_with_a_model_without_a_template_is_told_apart() -> None:
    assert of("messages", [{"role": "user", "content": "a"}]) == {
        "messages: conversation",
        "messages: without a template",
    }


@pytest.mark.parametrize(
    ("file", "kept"),
    [
        (Sound("a", 1000, 3.0), set()),
        (Sound("a", 26 * 2**20, None), {"file: too large"}),
        (Sound("a", 1000, None), {"file: no recording"}),
        (Sound("a", 0, None), {"file: empty"}),
        (Sound("a", 44, 0.0), {"file: of no length"}),
        (Sound("a", 1000, 601.0), {"file: too long"}),
        (None, {"no file"}),
    ],
)
def test_a_recording_is_kept_by_what_is_wrong_with_it(file, kept) -> None:
    assert traits(from_form("/v1/audio/transcriptions", {}, {}, file), MODEL) == kept


def test_a_text_in_place_of_a_file_is_told_apart_from_none() -> None:
    form = from_form("/v1/audio/transcriptions", {}, {"file": "a.wav"}, None)
    assert traits(form, MODEL) == {"file: a text", "file: text"}


def test_texts_of_a_form_are_read_as_what_they_stand_for() -> None:
    form = {"temperature": "0.5", "n": "2", "stream": "true", "prompt": "a", "list[]": ["1", "b"]}
    fields = from_form("/v1/audio/transcriptions", {}, form, None).fields
    assert fields == {"temperature": 0.5, "n": 2, "stream": True, "prompt": "a", "list[]": [1, "b"]}


def test_arguments_in_a_form_are_json_or_a_text() -> None:
    forms = ({"vllm_xargs": '{"a": 1}'}, {"vllm_xargs": "{bad"})
    assert [from_form("/v1/audio/x", {}, one, None).fields["vllm_xargs"] for one in forms] == [
        {"a": 1},
        "{bad",
    ]


def test_a_prompt_for_speech_has_a_length_too() -> None:
    form = from_form("/v1/audio/transcriptions", {}, {"prompt": LONG}, Sound("a", 9, 1.0))
    assert traits(form, MODEL) == {"prompt: text", "more tokens than the model reads"}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (["a"], "a message that is none"),
        ([{"role": "user"}], "a message that is none"),
        ([{"content": "a"}], "a message that is none"),
        ([[{"role": "user", "content": "a"}], None], "a message that is none"),
        ([{"role": "user", "content": ["a"]}], "a part that is none"),
    ],
)
def test_a_message_that_is_none_is_kept_as_that(value, kept) -> None:
    assert f"messages: {kept}" in of("messages", value, CHAT)


NUMBERS = st.sampled_from(["1", "-2", "128", "1e9"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | NUMBERS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    """input messages texts inputs query documents queries items dimensions top_n encoding_format
    embedding_types vllm_xargs cache_salt language priority model truncate_prompt_tokens stream
    stream_include_usage top_p truncate prompt tokens""".split()
)


@given(
    path=st.sampled_from(
        ["/v1/embeddings", "/v2/embed", "/score", "/rerank", "/v1/chat/completions"]
    ),
    fields=st.dictionaries(FIELDS, VALUES, max_size=5),
)
def test_any_json_has_traits(path, fields) -> None:
    for model in (MODEL, ANY, CHAT):
        kept = traits(Wanted("POST", path, JSON, fields), model)
        assert all(isinstance(one, str) for one in kept)


@given(size=st.integers(1, 400), kinds=st.sets(st.sampled_from(["float", "base64", "binary"])))
def test_only_bits_that_fill_no_byte_are_told_apart(size, kinds) -> None:
    asked = found("/v2/embed", output_dimension=size, embedding_types=[*kinds])
    assert ("bits that fill no byte" in asked) == (size % 8 > 0 and "binary" in kinds)
