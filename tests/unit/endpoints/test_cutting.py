"""Long documents are cut by the server where it can be trusted, else here, and it is told."""

import pytest
from _script import ROUTES, FakeVLLM, Play, body, status

from vllm_modalities import InternalServerError, InvalidRequestError
from vllm_modalities.endpoints._canary import QUERY
from vllm_modalities.endpoints.rerank import rerank
from vllm_modalities.endpoints.score import score
from vllm_modalities.profiles import PROFILES

RERANK = "/v1/rerank"
LONG = "one two three four five six"
ALL = (*ROUTES["cross-encoder"], *ROUTES["tokens"])


def server(version: str, model: str = "m", **told) -> FakeVLLM:
    return FakeVLLM("cross-encoder", version=version, model=model, routes=ALL, **told)


def asked(fake: FakeVLLM) -> dict:
    (post,) = [post for post in fake.asked(RERANK) if post.body["query"] != QUERY]
    return post.body


def test_a_release_without_a_cut_gets_documents_that_are_cut_here(talk) -> None:
    fake = server("0.19.0")
    result = talk(fake).rerank("q", ["a", LONG, "b"], max_tokens_per_doc=3)
    assert asked(fake)["documents"] == ["a", "one two three", "b"]
    assert "max_tokens_per_doc" not in asked(fake)
    assert result.warnings == (
        "max_tokens_per_doc=3: 1 of 3 were longer and have been cut: items 1",
    )
    assert result[0].document in ("a", LONG, "b")


def test_the_query_is_cut_likewise(talk) -> None:
    fake = server("0.19.0")
    talk(fake).rerank(LONG, ["a"], max_tokens_per_query=2)
    assert asked(fake)["query"] == "one two"


def test_texts_that_cannot_be_longer_are_not_counted(talk) -> None:
    fake = server("0.19.0")
    assert talk(fake).rerank("q", ["abc", "é"], max_tokens_per_doc=3).warnings == ()
    assert fake.asked("/tokenize") == []


def test_texts_of_more_bytes_and_no_more_tokens_stay_as_they_are(talk) -> None:
    fake = server("0.19.0")
    assert talk(fake).rerank("q", ["a long word"], max_tokens_per_doc=3).warnings == ()
    assert asked(fake)["documents"] == ["a long word"]


def test_a_character_that_is_cut_through_is_left_out(talk) -> None:
    fake = server("0.19.0")
    fake.always("/detokenize", body({"prompt": "one tw\ufffd"}))
    talk(fake).rerank("q", [LONG], max_tokens_per_doc=3)
    assert asked(fake)["documents"] == ["one tw"]


def test_a_release_that_changes_other_scores_is_not_trusted_with_a_language_model() -> None:
    for version, here in (("0.30.0", True), ("0.31.0", False)):
        fake = server(version, "jina-reranker-m0")
        Play(fake, profiles=PROFILES).call(rerank, "q", [LONG], max_tokens_per_doc=3)
        assert (asked(fake)["documents"] == ["one two three"]) == here
        assert ("max_tokens_per_doc" in asked(fake)) != here


def test_one_old_replica_makes_the_client_cut() -> None:
    network = {"http://new": server("0.32.0"), "http://old": server("0.19.0")}
    play = Play(network)
    for _ in range(2):
        play.call(rerank, "q", [LONG], max_tokens_per_doc=3)
    sent = [post.body["documents"] for one in network.values() for post in one.asked(RERANK)]
    assert sent == [["one two three"]] * 2


def test_what_the_server_cuts_is_told_as_far_as_can_be_known(talk) -> None:
    fake = server("0.32.0")
    documents = ["a", LONG] + ["a long one"] * 9
    (warning,) = talk(fake).rerank("q", documents, max_tokens_per_doc=3).warnings
    assert "10 of 11 have more than 3 bytes and may be: items 1, 2, 3, 4, 5, 6, 7, 8, …" in warning
    assert asked(fake)["max_tokens_per_doc"] == 3


def test_without_a_tokenizer_the_release_s_gate_decides(talk) -> None:
    fake = FakeVLLM("cross-encoder", version="0.19.0")
    with pytest.raises(InvalidRequestError, match="max_tokens_per_doc"):
        talk(fake).rerank("q", [LONG], max_tokens_per_doc=3)
    assert fake.posts == []


def test_a_tokenizer_that_fails_fails_the_call() -> None:
    fake = server("0.19.0")
    fake.always("/tokenize", status(500))
    with pytest.raises(InternalServerError):
        Play(fake, max_retries=0).call(rerank, "q", [LONG], max_tokens_per_doc=3)
    assert fake.asked(RERANK) == []


def test_scores_are_cut_likewise(talk) -> None:
    fake = server("0.19.0")
    talk(fake).score(["q", LONG], [LONG, "b"], max_tokens_per_doc=1, max_tokens_per_query=2)
    body = fake.asked("/v1/score")[0].body
    assert (body["queries"], body["documents"]) == (["q", "one two"], ["one", "b"])


def test_unchecked_the_field_is_sent_as_it_is(talk) -> None:
    fake = server("0.19.0")
    talk(fake, validation="off").rerank("q", [LONG], max_tokens_per_doc=3)
    assert asked(fake)["max_tokens_per_doc"] == 3


def test_a_failed_search_for_the_tokenizer_is_raised() -> None:
    """Another model may be the one that counts; an unknown one is none."""
    fake = server("0.19.0")
    play = Play(fake)
    play.call(score, "q", [LONG], max_tokens_per_doc=3)
    assert fake.asked("/v1/score")[0].body["documents"] == ["one two three"]
