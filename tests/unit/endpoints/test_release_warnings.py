"""What the table of releases says reaches the caller: as an error, a warning, or a line."""

import warnings

import anyio
import pytest
from _script import BLOCKING, FakeVLLM, Play, Talker

from vllm_modalities import (
    EmbeddingRequest,
    InvalidRequestError,
    PoolingRequest,
    RerankRequest,
    ServerDefectWarning,
    TranscriptionRequest,
    TranslationRequest,
    VLLMModalitiesWarning,
)
from vllm_modalities.endpoints.rerank import rerank
from vllm_modalities.gates import repairs
from vllm_modalities.server import ServerVersion

MIXED = {"http://a": "0.29.0", "http://b": "0.30.0", "http://c": "0.33.0"}
LLM = "bge-reranker-v2.5-gemma2-lightweight"  # made of a language model, and without a template


def at_the_call(talker: Talker, method: str, *args, **kwargs):
    """The call's result and the Python warnings of ours that it gave."""
    client = talker.client
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if talker.kind == BLOCKING:
            result = getattr(client, method)(*args, **kwargs)
        else:

            async def awaited():
                return await getattr(client, method)(*args, **kwargs)

            result = anyio.run(awaited, backend=talker.kind)
    return result, [one for one in caught if issubclass(one.category, VLLMModalitiesWarning)]


def test_wrong_results_are_a_warning_at_the_caller_s_line_and_in_the_result(talk) -> None:
    talker = talk(FakeVLLM("cross-encoder", version="0.30.0", model=LLM))
    result, (given,) = at_the_call(talker, "rerank", "q", ["a"], max_tokens_per_doc=9)
    assert given.category is ServerDefectWarning
    assert given.filename == __file__
    assert (str(given.message),) == result.warnings
    for part in ("max_tokens_per_doc=9", "scores", "0.20.0", "0.31.0", "runs 0.30.0", "vLLM 0.31"):
        assert part in result.warnings[0]


@pytest.mark.parametrize("version", ["0.31.0", "0.32.0"])
def test_a_release_that_is_right_gives_no_warning(talk, version) -> None:
    talker = talk(FakeVLLM("cross-encoder", version=version, model=LLM))
    result, given = at_the_call(talker, "rerank", "q", ["a"], max_tokens_per_doc=9)
    assert (result.warnings, given) == ((), [])


def test_a_note_is_a_line_in_the_result_alone(talk) -> None:
    talker = talk(FakeVLLM(version="0.20.0"))
    result, given = at_the_call(talker, "embed", "a", extra_body={"request_id": "r"})
    assert given == []
    (line,) = result.warnings
    for part in ("request_id='r'", "from 0.17.0 to before 0.30.0", "X-Request-Id", "vLLM 0.30.0"):
        assert part in line


def test_many_batches_give_one_warning(talk) -> None:
    talker = talk(FakeVLLM(version="0.20.0"))
    extra = {"media_io_kwargs": {"image": {}}}
    result, given = at_the_call(talker, "embed", ["a"] * 9, batch_size=2, extra_body=extra)
    assert [one.category for one in given] == [ServerDefectWarning]
    assert len(result.warnings) == 1


@pytest.mark.parametrize("validation", ["error", "warn", "off"])
def test_validation_says_whether_a_refusal_raises_warns_or_is_left_out(talk, validation) -> None:
    server = FakeVLLM(version="0.17.0")
    talker = talk(server, validation=validation)
    call = ("embed", "a")
    if validation == "error":
        with pytest.raises(InvalidRequestError, match="truncation_side"):
            at_the_call(talker, *call, truncate="end")
        assert server.posts == []
        return
    result, given = at_the_call(talker, *call, truncate="end")
    assert server.posts[0].body["truncation_side"] == "right"
    count = 1 if validation == "warn" else 0
    assert [one.category for one in given] == [VLLMModalitiesWarning] * count
    assert [one.filename for one in given] == [__file__] * count
    assert len(result.warnings) == count


@pytest.mark.parametrize("kind", [TranscriptionRequest, TranslationRequest])
@pytest.mark.parametrize(
    ("version", "fields", "said"),
    [
        ("0.16.0", {}, "for English"),
        ("0.32.0", {"language": "en", "prompt": "p"}, "<|prev|>"),
        ("0.19.0", {"language": "en", "duration": 31.0}, "glued"),
    ],
)
def test_wrong_results_of_speech_are_warned_of(kind, version, fields, said) -> None:
    talker = Talker(BLOCKING, FakeVLLM("speech", version=version, model="whisper-base"))
    response, (given,) = at_the_call(talker, "send", kind(file=b"fLaC", **fields))
    assert given.category is ServerDefectWarning
    assert said in str(given.message)
    assert [str(finding) for finding in response.findings] == [str(given.message)]


@pytest.mark.parametrize(
    ("urls", "codes"),
    [
        ("ab", ["once a pair"]),
        ("bc", ["Sentence-Transformers"]),
        ("ac", ["once a pair", "Sentence-Transformers"]),
        ("abc", ["once a pair", "Sentence-Transformers"]),
        ("a", []),
    ],
)
def test_replicas_on_both_sides_of_a_change_are_told(urls, codes) -> None:
    chosen = {url: version for url, version in MIXED.items() if url[-1] in urls}
    network = {url: FakeVLLM("cross-encoder", version=v) for url, v in chosen.items()}
    lines = Play(network).call(rerank, "q", ["a"]).warnings
    assert len(lines) == len(codes)
    for line, code in zip(lines, codes, strict=True):
        assert code in line
        assert " and ".join(chosen.values()) in line


def test_replicas_of_one_release_are_comparable() -> None:
    network = {url: FakeVLLM("cross-encoder", version="0.33.0") for url in MIXED}
    assert Play(network).call(rerank, "q", ["a"]).warnings == ()


def test_embeddings_compare_over_the_changes_of_scores() -> None:
    network = {url: FakeVLLM(version=version) for url, version in MIXED.items()}
    talker = Talker(BLOCKING, network)
    assert talker.send(EmbeddingRequest(input="a")).findings == ()
    assert talker.send(RerankRequest(query="q", documents=("a",))).findings != ()


@pytest.mark.parametrize(
    ("version", "needed"),
    [("0.30.9", True), ("0.31.0", False), ("0.31.0.dev1", False), (None, False)],
)
def test_a_repair_is_needed_in_its_window_alone(version, needed) -> None:
    release = None if version is None else ServerVersion(version)
    assert (repairs("embeddings-chunked-norm", release) is not None) is needed


def test_a_name_that_was_removed_is_refused_with_the_new_one() -> None:
    talker = Talker(BLOCKING, FakeVLLM("late-interaction"))
    with pytest.raises(InvalidRequestError, match="use_activation"):
        talker.send(PoolingRequest(input="a", extra_body={"normalize": True}))
