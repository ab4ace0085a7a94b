"""What reaches a server: no null, nothing changed, nothing that it does not take."""

import base64
from typing import Any

import numpy as np
import pytest
from _script import BLOCKING, FakeVLLM, Play, Talker, body, vectors_of
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import EmbeddingRequest, InvalidRequestError, RerankRequest, ResponseError
from vllm_modalities.endpoints.embed import embed
from vllm_modalities.endpoints.rerank import rerank

TEXT = st.text(st.characters(codec="utf-8"))
EXTRA = st.none() | st.dictionaries(
    st.sampled_from(["user", "priority", "of_tomorrow", "another"]),
    st.none() | st.integers(-9, 9) | st.text(st.characters(codec="ascii"), max_size=3),
)
EMBED = {
    "model": st.none() | st.just("m"),
    "dimensions": st.none() | st.integers(1, 4),
    "normalize": st.none() | st.booleans(),
    "truncate": st.sampled_from(["error", "end", "start"]),
    "batch_size": st.none() | st.integers(1, 3),
    "extra_body": EXTRA,
}
RERANK = {
    "model": st.none() | st.just("m"),
    "top_n": st.none() | st.integers(0, 5),
    "max_tokens_per_doc": st.none() | st.integers(0, 5),
    "extra_body": EXTRA,
}


def has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(has_null, value.values()))
    return any(map(has_null, value)) if isinstance(value, list) else value is None


def called(name: str, *subjects: object, **arguments: object) -> FakeVLLM:
    server = FakeVLLM(matryoshka=True)
    try:
        getattr(Talker(BLOCKING, server), name)(*subjects, **arguments)
    except InvalidRequestError:
        assert server.posts == [] or arguments.get("dimensions")
    return server


@given(texts=st.lists(TEXT, min_size=1, max_size=4), arguments=st.fixed_dictionaries(EMBED))
def test_no_combination_of_embed_s_arguments_sends_a_null(texts, arguments) -> None:
    assert not any(has_null(sent.body) for sent in called("embed", texts, **arguments).posts)


@given(documents=st.lists(TEXT, min_size=1), arguments=st.fixed_dictionaries(RERANK))
def test_no_combination_of_rerank_s_arguments_sends_a_null(documents, arguments) -> None:
    server = called("rerank", "q", documents, **arguments)
    assert not any(has_null(sent.body) for sent in server.posts)


FIELDS = {
    EmbeddingRequest: {"input": ["a"]},
    RerankRequest: {"query": "q", "documents": ["a"]},
}


@given(data=st.data())
@pytest.mark.parametrize("kind", FIELDS)
def test_a_field_that_is_none_is_not_sent(kind, data) -> None:
    optional = {name for name, field in kind.model_fields.items() if field.default is None}
    names = st.sets(st.sampled_from(sorted(optional - FIELDS[kind].keys())))
    nones = dict.fromkeys(data.draw(names))
    assert kind(**FIELDS[kind], **nones).fields_sent() == FIELDS[kind]


@given(name=st.text(min_size=1))
@pytest.mark.parametrize("kind", FIELDS)
def test_an_unknown_field_is_refused_by_its_name_and_passed_in_extra_body(kind, name) -> None:
    if name in kind.model_fields or name in ("self", "fields"):
        return
    with pytest.raises(InvalidRequestError, match="extra_body") as caught:
        kind(**FIELDS[kind], **{name: 1})
    assert [finding.field for finding in caught.value.findings] == [name]
    assert kind(**FIELDS[kind], extra_body={name: 1}).extra_body == {name: 1}


@given(texts=st.lists(TEXT, min_size=1), batch_size=st.none() | st.integers(1, 5))
def test_every_text_reaches_the_server_unchanged_and_once(texts, batch_size) -> None:
    server = FakeVLLM()
    result = Play(server).call(embed, texts, batch_size=batch_size)
    assert [text for post in server.posts for text in post.texts] == texts
    assert (result.vectors == vectors_of(texts, 4)).all()


@given(query=TEXT.filter(bool), documents=st.lists(TEXT, min_size=1), top_n=st.integers(0, 9))
def test_every_document_reaches_the_server_unchanged(query, documents, top_n) -> None:
    server = FakeVLLM()
    result = Play(server).call(rerank, query, documents, top_n=top_n)
    (post,) = server.posts
    assert (post.body["query"], post.body["documents"]) == (query, documents)
    assert [one.document for one in result] == [documents[one.index] for one in result]
    assert len(result) == min(top_n or len(documents), len(documents))


@given(text=st.text())
def test_any_text_at_all_is_embedded_or_refused_in_words(text) -> None:
    """Also one that UTF-8 cannot carry."""
    server = FakeVLLM()
    try:
        result = Talker(BLOCKING, server).embed(text)
    except InvalidRequestError:
        assert server.posts == []
    else:
        assert (result.vectors == vectors_of([text], 4)).all()


# A list with the width less one in it is taken for any size: no model has such a list.
SIZES = st.sampled_from([(), False, True]) | st.sets(st.integers(3, 6), min_size=1).map(
    lambda sizes: tuple(sorted(sizes))
)


@given(
    version=st.sampled_from(["0.16.0", "0.23.0", "0.24.0", "0.25.1", "0.26.0", "0.32.0"]),
    matryoshka=SIZES,
    width=st.integers(9, 12),
    wanted=st.lists(st.integers(-2, 14), min_size=1, max_size=4),
)
def test_a_size_is_sent_if_the_model_has_it_and_else_never(
    version, matryoshka, width, wanted
) -> None:
    server = FakeVLLM(version=version, matryoshka=matryoshka, width=width)
    play = Play(server)
    for size in wanted:
        has = 1 <= size <= width and (
            size in matryoshka if isinstance(matryoshka, tuple) else matryoshka
        )
        before = len(server.posts)
        try:
            assert play.call(embed, "a long text", dimensions=size).dimensions == size
            assert has
        except InvalidRequestError:
            assert not has
            carried = [post.body.get("dimensions") for post in server.posts[before:]]
            assert size not in carried
    assert len(server.posts) <= 2 + len(wanted)


@given(vector=st.lists(st.floats(width=32), min_size=1, max_size=5))
def test_a_vector_is_read_bit_for_bit_or_refused(vector) -> None:
    raw = np.array(vector, "<f4").tobytes()
    server = FakeVLLM()
    row = {"index": 0, "embedding": base64.b64encode(raw).decode()}
    server.always("/v1/embeddings", body({"data": [row]}))
    try:
        assert Play(server).call(embed, "a").vectors.tobytes() == raw
        assert np.isfinite(vector).all()
        assert np.any(vector)
    except ResponseError:
        assert not np.isfinite(vector).all() or not np.any(vector)
