"""`embed_sparse`: token numbers and weights, as BGE-M3's tests pair them."""

import numpy as np
import pytest
from _script import ROUTES, FakeVLLM, SparseVLLM, body, status
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import (
    InternalServerError,
    InvalidRequestError,
    PartialFailureError,
    ResponseError,
    SparseEmbeddings,
    UnsupportedTaskError,
)
from vllm_modalities.vectors import sparse

WEIGHING = ("/pooling", "/tokenize", "/detokenize")
NUMBERS = {word: int.from_bytes(word.encode()) for word in ("cat", "dog", "the")}
WEIGHTS = {"cat": 0.5, "dog": 0.25, "the": 0.0}


def weigh(word: str, _: int) -> np.ndarray:
    """A capital weighs more."""
    return np.float32([WEIGHTS.get(word.lower(), 1.0) + word.istitle()])


def server(**told) -> SparseVLLM:
    return SparseVLLM(**{"routes": WEIGHING, "vector": weigh, **told})


def test_each_token_has_its_greatest_weight_and_none_has_zero(talk) -> None:
    found = talk(server()).embed_sparse(["the Cat cat dog", "the", "dog dog"])
    rows = [(indices.tolist(), weights.tolist()) for indices, weights in found]
    cat, dog = NUMBERS["cat"], NUMBERS["dog"]
    assert rows == [([cat, dog], [1.5, 0.25]), ([], []), ([dog], [0.25])]
    assert (len(found), found.model, found.usage.prompt_tokens) == (3, "m", 7)
    assert repr(found) == "SparseEmbeddings(3 x 3 weights, model='m')"
    np.testing.assert_allclose(found.similarity(found)[0], [0.25**2 + 1.5**2, 0, 0.0625])


def test_one_text_is_one_and_none_makes_no_request(talk) -> None:
    fake = server()
    assert len(talk(fake).embed_sparse("cat")) == 1
    sent = len(fake.sent)
    assert len(talk(fake).embed_sparse([])) == 0
    assert len(fake.sent) == sent


def test_a_text_that_fails_has_no_tokens(talk) -> None:
    fake = server(refuses=lambda text: "no" if text == "dog" else None)
    with pytest.raises(PartialFailureError) as caught:
        talk(fake).embed_sparse(["cat", "dog"])
    assert [place for place, _ in caught.value.failures] == [1]
    assert [len(indices) for indices, _ in caught.value.results] == [1, 0]
    assert "1 failed" in repr(talk(fake).embed_sparse(["cat", "dog"], on_error="return"))


def test_weights_that_are_not_of_these_tokens_are_an_error(talk) -> None:
    fake = server()
    fake.always("/tokenize", body({"tokens": [0, 1, 1, 1, 2]}))
    with pytest.raises(ResponseError, match="1 weights came for the 3 tokens"):
        talk(fake).embed_sparse("cat")


@pytest.mark.parametrize("number", [-1, 2**31, 2**99, 0.5, "a", None])
def test_what_no_token_can_be_is_an_error(talk, number) -> None:
    fake = server()
    fake.always("/tokenize", body({"tokens": [0, number, 2]}))
    with pytest.raises(ResponseError):
        talk(fake).embed_sparse("cat")


def test_a_tokenizer_that_fails_fails_its_text(talk) -> None:
    fake = server()
    fake.always("/tokenize", status(500))
    with pytest.raises(InternalServerError):
        talk(fake, max_retries=0).embed_sparse("cat")


def test_it_goes_to_servers_that_weigh_tokens(talk) -> None:
    with pytest.raises(UnsupportedTaskError):
        talk(FakeVLLM("late-interaction")).embed_sparse("cat")
    with pytest.raises(InvalidRequestError):
        talk(server()).embed_sparse("cat", batch_size=0)


@pytest.mark.parametrize("at_once", [1, 20, sparse.AT_ONCE])
@given(data=st.data(), counts=st.tuples(st.integers(0, 5), st.integers(0, 5)))
def test_similarity_is_the_dot_product_of_the_matrices(at_once, data, counts) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))

    def drawn(count: int) -> tuple[SparseEmbeddings, np.ndarray]:
        dense = rng.random((count, 8), np.float32) * (rng.random((count, 8)) < 0.4)
        lengths = (dense > 0).sum(axis=1)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows, columns = np.nonzero(dense)
        return SparseEmbeddings(columns.astype(np.int32), dense[rows, columns], offsets), dense

    (one, left), (other, right) = map(drawn, counts)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sparse, "AT_ONCE", at_once)
        np.testing.assert_allclose(one.similarity(other), left @ right.T, atol=1e-5)


def test_a_server_for_dense_vectors_and_one_for_weights_each_get_their_own(talk) -> None:
    """One model under one name; the second lists /v1/embeddings too, as 0.32.0 was seen to."""
    listed = (*ROUTES["embed"][:2], *WEIGHING)
    servers = {
        "http://weights": server(routes=listed),
        "http://dense": FakeVLLM(routes=(*ROUTES["embed"], *WEIGHING)),
    }
    client = talk(servers)
    client.embed(["cat"] * 3)
    client.embed_sparse(["cat"] * 3)
    asked = {url: {post.path for post in fake.posts} for url, fake in servers.items()}
    assert asked == {
        "http://weights": {"/pooling", "/tokenize"},
        "http://dense": {"/v1/embeddings"},
    }
    weighs, embeds = client.servers()
    assert "token_classify" in weighs.tasks - embeds.tasks
    assert "embed" in embeds.tasks - weighs.tasks
