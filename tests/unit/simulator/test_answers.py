"""What a simulated server answers to requests of one's own, without a network."""

import base64
import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities.simulator._evidence import Release
from vllm_modalities.simulator._models import Model
from vllm_modalities.simulator._recordings import Answer, Asked, Case, Recordings
from vllm_modalities.simulator._reply import MARK, Form, Reply, hole
from vllm_modalities.simulator._says import PAGE, SENTENCE, Script, sentences
from vllm_modalities.simulator._server import Server
from vllm_modalities.simulator._simulate import Served, releases, server_of
from vllm_modalities.simulator._streams import events_of
from vllm_modalities.simulator._wanted import Sound, from_form, from_json

JSON = {"content-type": "application/json"}
NEWEST = releases("embed", "qwen3-embed", "rerank", "classify", "ocr", "transcribe")[-1]
SOUND = Sound("talk.flac", 9000, 8.4, b"flac")
PATH = "/v1/audio/transcriptions"


def server(task: str = "embed", *, script: Script | None = None, **served: object) -> Server:
    return server_of(NEWEST, Served(task=task, **served), script or Script())


def body_of(reply: Reply) -> bytes:
    return reply.body if isinstance(reply.body, bytes) else b"".join(reply.body)


def post(one: Server, path: str, fields: object, **spoilt: bool) -> Reply:
    return one.answer(from_json("POST", path, JSON, json.dumps(fields)), **spoilt)


def asked(one: Server, path: str, fields: object, **spoilt: bool):
    reply = post(one, path, fields, **spoilt)
    assert reply.status == 200, body_of(reply)
    return json.loads(body_of(reply))


def heard(one: Server, sound: Sound = SOUND, path: str = PATH, loop: bool = False, **form: str):
    spoilt = {"loop": True} if loop else {}
    reply = one.answer(from_form(path, {}, form, sound), **spoilt)
    assert reply.status == 200, body_of(reply)
    return reply


BASE64 = {"encoding_format": "base64", "endianness": "little"}


def vectors(body) -> np.ndarray:
    return np.stack([np.frombuffer(base64.b64decode(r["embedding"]), "<f4") for r in body["data"]])


def test_vectors_have_the_width_that_is_given_and_length_1() -> None:
    found = vectors(asked(server(width=1024), "/v1/embeddings", {"input": ["a", "b"], **BASE64}))
    assert found.shape == (2, 1024)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(2), abs=1e-5)


def test_answers_carry_the_names_and_the_order_of_their_request() -> None:
    one = server(model="mine")
    body = asked(one, "/v1/embeddings", {"model": "mine", "input": ["a", "b", "c"], **BASE64})
    assert body["model"] == "mine"
    assert [row["index"] for row in body["data"]] == [0, 1, 2]
    again = asked(one, "/v1/embeddings", {"input": ["c", "a"], **BASE64})
    assert (vectors(again) == vectors(body)[[2, 0]]).all()
    assert body["id"].startswith("embd-")
    assert body["id"] != again["id"]


def test_every_format_has_the_same_numbers() -> None:
    one = server()
    floats = asked(one, "/v1/embeddings", {"input": ["a cat"], "encoding_format": "float"})
    coded = asked(one, "/v1/embeddings", {"input": ["a cat"], **BASE64})
    raw = post(one, "/v1/embeddings", {"input": ["a cat"], **BASE64, "encoding_format": "bytes"})
    expected = vectors(coded)[0]
    assert np.array(floats["data"][0]["embedding"], np.float32) == pytest.approx(expected)
    assert body_of(raw) == expected.tobytes()
    told = json.loads(raw.headers["metadata"])
    assert told["data"][0] | {"shape": [384], "start": 0, "end": 1536} == told["data"][0]


@pytest.mark.parametrize("same", [[101, 7, 102], [[7]], [{"role": "user", "content": "7"}]])
def test_ids_and_messages_are_read_as_texts(same) -> None:
    one = server("qwen3-embed")
    found = vectors(asked(one, "/v1/embeddings", {"input": same, **BASE64}))
    assert (found == vectors(asked(one, "/v1/embeddings", {"input": "7", **BASE64}))).all()


def test_conversations_and_parts_are_read_by_their_words() -> None:
    one = server("qwen3-embed")
    parts = [{"type": "text", "text": "a cat"}]
    said = [[{"role": "user", "content": "a cat"}], [{"role": "user", "content": "a cat"}]]
    many = asked(one, "/v1/embeddings", {"messages": said, **BASE64})
    whole = asked(
        one, "/v1/embeddings", {"messages": [{"role": "user", "content": parts}], **BASE64}
    )
    assert (vectors(many) == vectors(whole)).all()
    batch = asked(one, "/v1/embeddings", {"input": said, **BASE64})
    assert (vectors(batch) == vectors(many)).all()


def test_a_size_that_the_model_has_is_given() -> None:
    one = server(matryoshka=True)
    body = asked(one, "/v1/embeddings", {"input": ["a"], "dimensions": 128, **BASE64})
    assert vectors(body).shape == (1, 128)
    assert np.linalg.norm(vectors(body)) == pytest.approx(1, abs=1e-5)


def test_an_error_has_the_numbers_and_names_of_its_own_request() -> None:
    one = server(model="mine", width=512, matryoshka=True)
    reply = post(one, "/v1/embeddings", {"input": ["a"], "dimensions": 777, **BASE64})
    assert reply.status == 400
    said = json.loads(body_of(reply))["error"]["message"]
    assert "'mine'" in said
    assert "512" in said
    assert "777" in said
    unknown = post(one, "/v1/embeddings", {"model": "nobody's", "input": ["a"], **BASE64})
    assert unknown.status == 404
    assert "`nobody's`" in json.loads(body_of(unknown))["error"]["message"]


def test_a_text_beyond_the_context_is_refused_with_the_context_of_this_model() -> None:
    reply = post(server(max_model_len=33), "/v1/embeddings", {"input": ["word " * 40], **BASE64})
    assert reply.status == 400
    assert " 33 " in json.loads(body_of(reply))["error"]["message"]


def test_a_text_that_is_cut_is_the_text_of_its_words() -> None:
    one = server()
    text = "one two three four five six"
    left = asked(
        one,
        "/v1/embeddings",
        {"input": text, "truncate_prompt_tokens": 4, "truncation_side": "left", **BASE64},
    )
    right = asked(
        one,
        "/v1/embeddings",
        {"input": text, "truncate_prompt_tokens": 4, "truncation_side": "right", **BASE64},
    )
    assert left["usage"]["prompt_tokens"] == right["usage"]["prompt_tokens"] == 4
    whole = asked(one, "/v1/embeddings", {"input": ["five six", "one two"], **BASE64})
    assert (vectors(whole)[0] == vectors(left)[0]).all()
    assert (vectors(whole)[1] == vectors(right)[0]).all()


def test_vectors_that_are_not_to_have_length_1_have_another() -> None:
    body = asked(server(), "/v1/embeddings", {"input": "a", "use_activation": False, **BASE64})
    assert abs(np.linalg.norm(vectors(body)[0]) - 1) > 0.1


def test_the_id_of_a_request_comes_back() -> None:
    body = asked(server(), "/v1/embeddings", {"input": "a", "request_id": "mine", **BASE64})
    assert body["id"] == "embd-mine"
    headers = JSON | {"x-request-id": "header"}
    wanted = from_json("POST", "/v1/embeddings", headers, json.dumps({"input": "a", **BASE64}))
    assert json.loads(body_of(server().answer(wanted)))["id"] == "embd-header"


def test_cohere_s_shape_has_all_kinds_that_are_asked_for() -> None:
    fields = {"texts": ["a cat", "a dog"], "embedding_types": ["binary", "base64"]}
    body = asked(server(), "/v2/embed", fields)
    rows = body["embeddings"]
    signs = np.frombuffer(base64.b64decode(rows["base64"][0]), "<f4") >= 0
    assert rows["binary"][0] == (np.packbits(signs).astype(int) - 128).tolist()
    assert body["texts"] == fields["texts"]
    assert body["meta"]["billed_units"]["input_tokens"] == 8


def test_cohere_s_shape_of_inputs_and_of_sizes() -> None:
    content = [{"content": [{"type": "text", "text": "a cat"}]}]
    body = asked(
        server("qwen3-embed"), "/v2/embed", {"inputs": content, "embedding_types": ["base64"]}
    )
    assert len(body["embeddings"]["base64"]) == 1
    short = asked(
        server(matryoshka=True),
        "/v2/embed",
        {"texts": ["a"], "embedding_types": ["base64"], "output_dimension": 128},
    )
    assert len(base64.b64decode(short["embeddings"]["base64"][0])) == 512


@pytest.mark.parametrize(("size", "length"), [(64, 8), (384, 48)])
def test_a_vector_that_fills_whole_bytes_is_given_as_bits(size, length) -> None:
    fields = {"texts": ["a"], "embedding_types": ["binary"], "output_dimension": size}
    body = asked(server(matryoshka=True), "/v2/embed", fields)
    assert len(body["embeddings"]["binary"][0]) == length


def test_token_vectors_are_one_a_token() -> None:
    body = asked(server("late-interaction", width=8), "/pooling", {"input": "a black cat"})
    assert np.array(body["data"][0]["data"]).shape == (5, 8)


@pytest.mark.parametrize(("labels", "count"), [(("spam", "ham"), 2), (("a", "b", "c", "d"), 4)])
def test_classes_are_those_that_are_given(labels, count) -> None:
    body = asked(server("classify", labels=labels), "/classify", {"input": ["a", "b"]})
    for row in body["data"]:
        assert row["num_classes"] == len(row["probs"]) == count
        assert sum(row["probs"]) == pytest.approx(1, abs=1e-5)
        assert row["label"] == labels[int(np.argmax(row["probs"]))]


def test_numbers_by_token_are_one_row_a_token() -> None:
    rows = answer([]) | {"data": [{"index": 0, "data": [UNIT, UNIT]}]}
    one = recorded(("/pooling", {"input": "a", "task": "token_embed"}, 200, rows))
    found = asked(one, "/pooling", {"input": "a black cat", "task": "token_embed"})
    assert np.array(found["data"][0]["data"]).shape == (5, 4)


def test_one_label_alone_has_a_probability() -> None:
    body = asked(server("rerank"), "/classify", {"input": "a cat"})
    assert 0 < body["data"][0]["probs"][0] < 1


def test_classes_without_activation_are_no_probabilities() -> None:
    body = asked(server("classify"), "/classify", {"input": "a", "use_activation": False})
    assert any(not 0 <= number <= 1 for number in body["data"][0]["probs"])


QUERY = "the capital of France"
DOCUMENTS = ["Cats sleep.", "Paris is the capital of France.", "The capital sleeps."]


@pytest.mark.parametrize("task", ["rerank", "embed", "late-interaction"])
def test_documents_that_share_words_with_the_query_come_first(task) -> None:
    body = asked(server(task), "/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})
    assert [one["index"] for one in body["results"]] == [1, 2, 0]
    assert [one["document"]["text"] for one in body["results"]] == [DOCUMENTS[i] for i in (1, 2, 0)]
    scores = [one["relevance_score"] for one in body["results"]]
    assert scores == sorted(scores, reverse=True)


def test_a_ranking_is_as_long_as_asked_for() -> None:
    one = server("rerank")
    for top, count in ((0, 3), (2, 2), (99, 3)):
        fields = {"query": QUERY, "documents": DOCUMENTS, "top_n": top}
        assert len(asked(one, "/v1/rerank", fields)["results"]) == count


def test_scores_are_between_0_and_1_unless_that_is_not_wanted() -> None:
    one = server("rerank")
    fields = {"queries": QUERY, "documents": DOCUMENTS}
    probable = [row["score"] for row in asked(one, "/v1/score", fields)["data"]]
    raw = asked(one, "/v1/score", {**fields, "use_activation": False})["data"]
    assert all(0 < score < 1 for score in probable)
    logits = np.array([row["score"] for row in raw])
    assert 1 / (1 + np.exp(-logits)) == pytest.approx(np.array(probable))


def test_queries_are_paired_with_their_documents() -> None:
    fields = {"queries": DOCUMENTS, "documents": DOCUMENTS}
    body = asked(server("rerank"), "/v1/score", fields)
    scores = [row["score"] for row in body["data"]]
    assert scores == pytest.approx([scores[0]] * 3)


def test_words_are_numbers_and_back() -> None:
    one = server()
    body = asked(one, "/tokenize", {"prompt": "a black cat", "return_token_strs": True})
    assert body["count"] == len(body["tokens"]) == 5
    assert body["token_strs"] == ["[CLS]", "a", "black", "cat", "[SEP]"]
    bare = asked(one, "/tokenize", {"prompt": "a cat", "add_special_tokens": False})
    assert (bare["count"], bare["token_strs"]) == (2, None)
    said = asked(server("qwen3-embed"), "/tokenize", {"messages": [{"role": "u", "content": "a"}]})
    assert said["count"] == 3
    assert asked(one, "/detokenize", {"tokens": [7, 8]})["prompt"] == "word7 word8"


def test_the_list_of_models_has_the_one_that_is_served() -> None:
    one = server(model="mine", max_model_len=77)
    body = json.loads(body_of(one.answer(from_json("GET", "/v1/models", {}, b""))))
    (model,) = body["data"]
    assert (model["id"], model["max_model_len"]) == ("mine", 77)


def test_what_nobody_has_recorded_is_501_and_says_what() -> None:
    reply = post(server(), "/v1/embeddings", {"input": "a", "late_chunking_params": {}})
    assert reply.status == 501
    said = json.loads(body_of(reply))["error"]
    assert said["message"].startswith("not recorded: late_chunking_params: empty object (POST")
    assert NEWEST in said["message"]
    assert post(server(), "/v1/systemone", {}).status == 501


def test_a_transcript_is_a_sentence_for_each_few_seconds() -> None:
    body = json.loads(body_of(heard(server("transcribe"), language="en")))
    assert body["text"].strip() == f"{SENTENCE} {SENTENCE}"
    assert body["usage"]["seconds"] == 9


@pytest.mark.parametrize(
    "given",
    [{"talk.flac": "Mine."}, {b"flac": "Mine."}, lambda sound: "Mine." if sound.seconds else ""],
    ids=["by name", "by content", "by function"],
)
def test_a_transcript_is_what_the_script_says(given) -> None:
    one = server("transcribe", script=Script(transcripts=given))
    assert json.loads(body_of(heard(one, language="en")))["text"] == " Mine."


def test_a_translation_is_scripted_as_well() -> None:
    one = server("translate", script=Script(transcripts={"talk.flac": "Mine."}))
    reply = heard(one, path="/v1/audio/translations", language="de", response_format="json")
    assert json.loads(body_of(reply))["text"] == " Mine."


def test_timed_segments_share_the_time_between_them() -> None:
    script = Script(transcripts={"talk.flac": "One two. Three? Four."})
    reply = heard(
        server("transcribe", script=script), language="en", response_format="verbose_json"
    )
    segments = json.loads(body_of(reply))["segments"]
    assert [one["text"] for one in segments] == [" One two.", " Three?", " Four."]
    assert segments[0]["start"] == 0
    assert segments[-1]["end"] == pytest.approx(8.4, abs=0.01)
    assert all(one["end"] == other["start"] for one, other in pairwise(segments))


def test_a_transcript_without_words_has_one_empty_segment() -> None:
    assert sentences("") == [""]


def test_a_limit_of_tokens_cuts_a_transcript() -> None:
    reply = heard(server("transcribe"), language="en", max_completion_tokens="2")
    assert json.loads(body_of(reply))["text"] == " This is"


def said(reply: Reply) -> str:
    events = events_of(body_of(reply).decode())
    return "".join(c["delta"].get("content") or "" for e in events for c in e["choices"])


def test_a_stream_says_the_same_piece_by_piece_and_ends() -> None:
    one = server("transcribe")
    whole = json.loads(body_of(heard(one, language="en")))["text"]
    reply = heard(one, language="en", stream="true", model="whisper-base")
    assert said(reply) == whole
    assert reply.body[-1] == b"data: [DONE]\n\n"
    ends = [
        c.get("finish_reason") for e in events_of(body_of(reply).decode()) for c in e["choices"]
    ]
    assert [end for end in ends if end] == ["stop"]


def test_a_stream_counts_tokens_if_asked_to() -> None:
    form = {"language": "en", "stream": "true", "stream_include_usage": "true"}
    reply = heard(server("transcribe"), model="whisper-base", max_completion_tokens="2", **form)
    usage = events_of(body_of(reply).decode())[-1]["usage"]
    assert usage["completion_tokens"] == 2
    assert usage["total_tokens"] == usage["prompt_tokens"] + 2


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,%s"}}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEANl9ngAAAAABJRU5ErkJggg=="


def page(one: Server, loop: bool = False, **given: object):
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    content = [image, {"type": "text", "text": "Free OCR."}]
    fields = {"messages": [{"role": "user", "content": content}], "temperature": 0.0}
    spoilt = {"loop": True} if loop else {}
    return post(one, "/v1/chat/completions", {**fields, **given}, **spoilt)


def choice(reply: Reply):
    assert reply.status == 200, body_of(reply)
    return json.loads(body_of(reply))["choices"][0]


def test_a_page_is_written_with_its_places_or_without() -> None:
    one = server("ocr")
    kept = choice(page(one, max_completion_tokens=500, skip_special_tokens=False))
    assert kept["message"]["content"] == PAGE
    bare = choice(page(one, max_completion_tokens=500))
    assert "<|" not in bare["message"]["content"]
    assert "A simulated page" in bare["message"]["content"]
    assert (kept["finish_reason"], bare["finish_reason"]) == ("stop", "stop")


@pytest.mark.parametrize(
    "given", [{base64.b64decode(PNG): "# Mine"}, lambda image: "# Mine" if image else ""]
)
def test_a_page_is_what_the_script_says(given) -> None:
    one = server("ocr", script=Script(pages=given))
    assert choice(page(one, max_completion_tokens=50))["message"]["content"] == "# Mine"


def test_a_page_that_has_no_tokens_left_is_cut_and_says_so() -> None:
    found = choice(page(server("ocr"), max_completion_tokens=3))
    assert found["finish_reason"] == "length"


def test_text_alone_is_a_page_without_a_picture() -> None:
    fields = {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}
    limits = {"temperature": 0.0, "max_completion_tokens": 500}
    one = server("ocr", script=Script(pages=lambda image: f"{len(image)} bytes"))
    reply = post(one, "/v1/chat/completions", fields | limits)
    assert choice(reply)["message"]["content"] == "0 bytes"


def test_a_page_is_streamed_as_it_is_written() -> None:
    one = server("ocr")
    whole = choice(page(one, max_completion_tokens=500))["message"]["content"]
    assert said(page(one, max_completion_tokens=500, stream=True)) == whole


def test_a_loop_goes_on_until_no_token_is_left() -> None:
    found = choice(page(server("ocr"), loop=True, max_completion_tokens=300))
    assert found["finish_reason"] == "length"
    assert found["message"]["content"].count(" and so on") > 50
    text = json.loads(body_of(heard(server("transcribe"), loop=True, language="en")))["text"]
    assert text.count("and so on") > 100


@pytest.mark.parametrize(
    ("task", "path", "fields"),
    [
        ("embed", "/v1/embeddings", {"input": "a", "encoding_format": "float"}),
        ("embed", "/v2/embed", {"texts": ["a"], "embedding_types": ["float"]}),
        ("rerank", "/v1/rerank", {"query": "a", "documents": ["b"]}),
        ("rerank", "/v1/score", {"queries": "a", "documents": ["b", "c"]}),
    ],
)
def test_numbers_that_are_none_are_null(task, path, fields) -> None:
    one = server(task)
    spoilt, whole = (body_of(post(one, path, fields, nan=nan)) for nan in (True, False))
    assert b"null" in spoilt.replace(b'"completion_tokens_details":null', b"")
    assert json.loads(spoilt).keys() == json.loads(whole).keys()


def recorded(*cases: tuple[str, object, int, object]) -> Server:
    """A server of an invented release that answered so."""
    paths = {"/v1/embeddings": {"post": {}}, "/pooling": {"post": {}}}
    listed = Case(Asked("GET", "/openapi.json"), (Answer(("1.0",), 200, JSON, {"paths": paths}),))
    all_cases = {"routes": listed} | {
        f"case {number}": Case(
            Asked("POST", path, json=fields), (Answer(("1.0",), status, JSON, body),)
        )
        for number, (path, fields, status, body) in enumerate(cases)
    }
    known = Recordings("embed", "m", {"1.0": "2026-11-29"}, all_cases)
    model = Model("m", width=4)
    return Server(Release("1.0", "embed", [known], {}), model, Script())


def answer(numbers: list[float], name: str = "embd-1") -> dict[str, object]:
    row = {"index": 0, "object": "embedding", "embedding": numbers}
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    return {"id": name, "created": 1, "model": "m", "data": [row], "usage": usage}


UNIT = [0.5, 0.5, 0.5, 0.5]


def test_a_size_above_the_width_that_was_clipped_is_clipped_here() -> None:
    one = recorded(
        ("/v1/embeddings", {"input": "a"}, 200, answer(UNIT)),
        ("/v1/embeddings", {"input": "a", "dimensions": 9}, 200, answer(UNIT)),
    )
    body = asked(one, "/v1/embeddings", {"input": "a", "dimensions": 7})
    assert len(body["data"][0]["embedding"]) == 4


def test_an_id_that_was_ignored_is_ignored_here() -> None:
    one = recorded(
        ("/v1/embeddings", {"input": "a"}, 200, answer(UNIT)),
        ("/v1/embeddings", {"input": "a", "request_id": "r"}, 200, answer(UNIT)),
    )
    body = asked(one, "/v1/embeddings", {"input": "a", "request_id": "mine"})
    assert not body["id"].endswith("mine")


def test_an_option_that_left_the_length_at_1_leaves_it_here() -> None:
    one = recorded(
        ("/v1/embeddings", {"input": "a"}, 200, answer(UNIT)),
        ("/v1/embeddings", {"input": "a", "normalize": False}, 200, answer(UNIT)),
        ("/v1/embeddings", {"input": "a", "use_activation": False}, 200, answer([2.0, 0, 0, 0])),
    )
    lengths = [
        np.linalg.norm(asked(one, "/v1/embeddings", fields)["data"][0]["embedding"])
        for fields in ({"input": "a", "normalize": False}, {"input": "a", "use_activation": False})
    ]
    assert lengths == pytest.approx([1, 2], abs=1e-5)


def test_numbers_of_8_bits_do_not_tell_how_long_a_vector_is() -> None:
    narrow = {"use_activation": False, "embed_dtype": "fp8_e4m3", "encoding_format": "base64"}
    coded = answer([]) | {"data": [{"index": 0, "embedding": "AAAA"}]}
    one = recorded(("/v1/embeddings", {"input": "a", **narrow}, 200, coded))
    body = asked(one, "/v1/embeddings", {"input": "a", **narrow})
    assert len(base64.b64decode(body["data"][0]["embedding"])) == 4


def test_a_refusal_in_plain_text_stays_one() -> None:
    one = recorded(("/v1/embeddings", {"input": "a"}, 500, "Internal Server Error"))
    reply = post(one, "/v1/embeddings", {"input": "a"})
    assert (reply.status, body_of(reply)) == (500, b"Internal Server Error")


@given(values=st.dictionaries(st.sampled_from("abc"), st.text(alphabet='x"\\\n', max_size=5)))
def test_a_form_is_filled_as_if_it_were_written_anew(values) -> None:
    form = Form({"k": [1, "a"], **{name: hole(name) for name in values}})
    filled = b"".join(form.filled({name: json.dumps(v).encode() for name, v in values.items()}))
    assert json.loads(filled) == {"k": [1, "a"], **values}
    assert MARK.encode() not in filled


NUMBERS = st.sampled_from(["1", "-2", "128", "1e9"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | NUMBERS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    """input messages texts inputs query documents queries items dimensions top_n encoding_format
    embedding_types cache_salt model truncate_prompt_tokens stream truncate prompt tokens task
    use_activation max_completion_tokens temperature""".split()
)
PATHS = """/v1/embeddings /v2/embed /pooling /classify /v1/score /v1/rerank /tokenize /detokenize
/v1/chat/completions""".split()


@pytest.mark.parametrize("task", ["embed", "rerank", "classify", "late-interaction", "ocr"])
@given(path=st.sampled_from(PATHS), fields=st.dictionaries(NAMES, VALUES, max_size=4))
def test_no_request_makes_a_server_fall(task, path, fields) -> None:
    assert post(server(task), path, fields).status in (200, 400, 401, 404, 405, 422, 501)
