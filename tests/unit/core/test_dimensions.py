"""`dimensions`: refused or sent by what the server itself says of the model, asked for once.

The proof is in every test: no request ever carries a value that is refused.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from _script import BLOCKING, URL, FakeVLLM, Play, Talker, body, status

from vllm_modalities import (
    BadRequestError,
    EmbeddingRequest,
    InternalServerError,
    InvalidRequestError,
    ResponseError,
    ServerVersion,
    VLLMModalitiesWarning,
)
from vllm_modalities._context import Context
from vllm_modalities._flow import Alone, step
from vllm_modalities.endpoints.embed import embed
from vllm_modalities.endpoints.servers import servers
from vllm_modalities.server import ModelInfo, ServerInfo

BEFORE, FROM = ["0.16.0", "0.23.0", "0.25.1"], ["0.26.0", "0.32.0"]
EVERY = [*BEFORE, *FROM, None]
REFUSED = {
    "0": (True, 0, "below 1"),
    "-1": (True, -1, "below 1"),
    "above the width": (True, 9, "more than the 8"),
    "1 not in the list": ((4, 6), 1, "takes only 4, 6"),
    "2 not in the list": ((4, 6), 2, "takes only 4, 6"),
    "full width not in the list": ((4, 6), 8, "takes only 4, 6"),
    "not Matryoshka": (False, 4, r"Embeddings\.truncate"),
    "1 of no Matryoshka": (False, 1, r"Embeddings\.truncate"),
    "full width of no Matryoshka": (False, 8, r"Embeddings\.truncate"),
}
TAKEN = [(True, 1), (True, 2), (True, 8), ((2, 4), 2), ((2, 4), 4), ((1, 4), 1), ((1,), 1)]


def asked_for(server: FakeVLLM) -> list[int]:
    return [post.body.get("dimensions") for post in server.posts]


@pytest.mark.filterwarnings("ignore:.*does not tell its vLLM release")
@pytest.mark.parametrize("version", EVERY)
@pytest.mark.parametrize(("matryoshka", "size", "words"), REFUSED.values(), ids=REFUSED)
def test_a_size_the_model_has_not_is_refused_and_never_sent(
    talk, version, matryoshka, size, words
) -> None:
    server = FakeVLLM(version=version, width=8, matryoshka=matryoshka)
    client = talk(server)
    for _ in range(2):
        with pytest.raises(InvalidRequestError, match=words) as caught:
            client.embed(["a", "b"], dimensions=size)
        assert caught.value.findings[0].field == "dimensions"
    assert size not in asked_for(server)
    assert len(server.posts) <= 2


@pytest.mark.filterwarnings("ignore:.*does not tell its vLLM release")
@pytest.mark.parametrize("version", EVERY)
@pytest.mark.parametrize(("matryoshka", "size"), TAKEN)
def test_a_size_the_model_has_is_sent(talk, version, matryoshka, size: int) -> None:
    server = FakeVLLM(version=version, width=8, matryoshka=matryoshka)
    client = talk(server)
    for _ in range(2):
        assert client.embed(["a", "b"], dimensions=size).vectors.shape == (2, size)
    assert asked_for(server)[-2:] == [size, size]
    assert len(server.posts) <= 4


@pytest.mark.parametrize("version", FROM)
def test_from_0_26_on_asking_costs_no_gpu_work_but_one_short_text(talk, version) -> None:
    server = FakeVLLM(version=version, width=8, matryoshka=(2, 4))
    with pytest.raises(InvalidRequestError):
        talk(server).embed("a long text " * 99, dimensions=3)
    assert asked_for(server) == [0, 7]
    assert {post.texts for post in server.posts} == {("a",)}


@pytest.mark.parametrize("version", BEFORE)
def test_before_0_26_the_width_is_measured_with_one_short_text(talk, version) -> None:
    server = FakeVLLM(version=version, width=8, matryoshka=True)
    with pytest.raises(InvalidRequestError):
        talk(server).embed("a long text " * 99, dimensions=9)
    assert asked_for(server) == [0, None]
    assert all(len(post.texts[0]) <= 3 for post in server.posts)


def test_an_earlier_answer_tells_the_width_for_nothing(talk) -> None:
    server = FakeVLLM(version="0.23.0", width=8, matryoshka=True)
    client = talk(server)
    client.embed("a")
    with pytest.raises(InvalidRequestError):
        client.embed("a", dimensions=9)
    assert asked_for(server) == [None, 0]


def test_each_model_is_asked_about_by_itself(talk) -> None:
    narrow = FakeVLLM(width=4, matryoshka=True, model="narrow")
    wide = FakeVLLM(width=8, matryoshka=True, model="wide")
    client = talk({"http://a": narrow, "http://b": wide})
    assert client.embed("a", model="wide", dimensions=6).dimensions == 6
    with pytest.raises(InvalidRequestError, match="more than the 4 that 'narrow' has"):
        client.embed("a", model="narrow", dimensions=6)
    assert 6 not in asked_for(narrow)


def test_many_calls_at_once_ask_once() -> None:
    server = FakeVLLM(width=8, matryoshka=True)
    client = Talker(BLOCKING, server)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: client.embed("text", dimensions=5), range(8)))
    assert len(server.posts) == 2 + 8


def test_a_model_that_is_not_listed_is_judged_too(talk) -> None:
    server = FakeVLLM(width=8, matryoshka=True, models=None)
    client = talk(server)
    for _ in range(2):
        with pytest.raises(InvalidRequestError, match="more than the 8"):
            client.embed("a", dimensions=9)
    assert 9 not in asked_for(server)
    assert len(server.posts) <= 2


def test_a_size_in_extra_body_is_judged_like_the_argument(talk) -> None:
    server = FakeVLLM(width=8, matryoshka=True)
    with pytest.raises(InvalidRequestError, match="more than the 8"):
        talk(server).embed("a", extra_body={"dimensions": 9})
    assert 9 not in asked_for(server)


@pytest.mark.parametrize("version", ["0.23.0", "0.32.0"])
def test_a_server_that_refuses_in_other_words_decides_for_itself(talk, version) -> None:
    server = FakeVLLM(version=version, width=8, matryoshka=(4, 6))
    server.always("a", lambda answer: answer if answer.status == 200 else status(400, "no")(answer))
    client = talk(server)
    assert client.embed("text", dimensions=4).dimensions == 4
    with pytest.raises(BadRequestError, match="only supports"):
        client.embed("text", dimensions=5)


def test_a_probe_that_is_answered_with_nonsense_is_an_error(talk) -> None:
    server = FakeVLLM(version="0.23.0")
    server.always("/v1/embeddings", body({"data": []}))
    with pytest.raises(ResponseError):
        talk(server).embed("a", dimensions=4)


def test_validation_off_asks_nothing_and_sends(talk) -> None:
    server = FakeVLLM(width=8, matryoshka=True)
    with pytest.raises(BadRequestError, match="range"):
        talk(server, validation="off").embed("a", dimensions=9)
    assert asked_for(server) == [9]


def test_validation_warn_sends_and_warns(talk) -> None:
    server = FakeVLLM(width=8, matryoshka=(4, 6))
    client = talk(server, validation="warn")
    client.embed("a", dimensions=4)
    server.matryoshka = True  # it takes what it said it would not
    with pytest.warns(VLLMModalitiesWarning, match="takes only 4, 6"):
        result = client.embed("a", dimensions=3)
    (warning,) = result.warnings
    assert "takes only 4, 6" in warning
    assert result.dimensions == 3


SERVED = ModelInfo("m", embedding_size=8, matryoshka=(2, 4))


@pytest.mark.parametrize(
    ("model", "version", "size", "code"),
    [
        (SERVED, "0.32.0", 0, "dimensions-below-1"),
        (SERVED, "0.32.0", 3, "dimensions-not-in-list"),
        (SERVED, "0.32.0", 4, None),
        (ModelInfo("m", matryoshka=False), None, 4, "dimensions-not-matryoshka"),
        (ModelInfo("m", matryoshka=True), None, 4, None),
        (ModelInfo("m", embedding_size=8), None, 9, "dimensions-above-width"),
        (ModelInfo("m", embedding_size=8), "0.23.0", 9, "dimensions-above-width"),
        (ModelInfo("another"), None, 9, None),
        (None, None, 9, None),
    ],
)
def test_validate_for_says_so_without_sending(model, version, size, code) -> None:
    server = ServerInfo(URL, ServerVersion(version) if version else None, (model,) if model else ())
    findings = EmbeddingRequest(model="m", input="a", dimensions=size).validate_for(server)
    assert [finding.code for finding in findings] == ([code] if code else [])


def test_a_release_that_clips_without_a_word_is_named() -> None:
    server = ServerInfo(URL, ServerVersion("0.23.0"), (ModelInfo("m", embedding_size=8),))
    (finding,) = EmbeddingRequest(model="m", input="a", dimensions=9).validate_for(server)
    assert "0.23.0 would silently return full width" in finding.message


def test_of_two_calls_that_would_ask_at_once_the_second_asks_nothing() -> None:
    """Each is brought to where it would ask alone; then the first asks, then the second."""
    server = FakeVLLM(width=8, matryoshka=True)
    play = Play(server)
    play.call(servers)
    flows = [embed(Context(play.fleet), "text", dimensions=5) for _ in range(2)]
    asking = [step(flow) for flow in flows]
    for alone in asking:
        assert isinstance(alone, Alone)
        play.run(alone.flow)
    assert len(server.posts) == 2
    for flow in flows:
        flow.close()


def test_a_probe_that_fails_for_another_reason_is_that_error(talk) -> None:
    server = FakeVLLM(width=8, matryoshka=True)
    server.always("a", status(500))
    with pytest.raises(InternalServerError):
        talk(server).embed("text", dimensions=4)
    assert 4 not in asked_for(server)
