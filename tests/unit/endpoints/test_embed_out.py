"""`out=`: vectors go into the caller's own array; `progress=`: how far the call is."""

import builtins
import io
import sys

import numpy as np
import pytest
import rich
import rich.console
from _script import FakeVLLM, Talker, body, status, vectors_of

from vllm_modalities import (
    APIConnectionError,
    BadRequestError,
    InvalidRequestError,
    PartialFailureError,
    ResponseError,
)
from vllm_modalities._progress import told

TEXTS = [f"text {i}" for i in range(9)]
EXPECTED = vectors_of(TEXTS, 4)
COHERE = "/v2/embed"


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("batch_size", [2, None])
def test_vectors_are_written_into_the_array(talk, dtype, batch_size) -> None:
    out = np.zeros((9, 4), dtype)
    result = talk(FakeVLLM()).embed(TEXTS, out=out, batch_size=batch_size)
    assert result.vectors is out
    np.testing.assert_array_equal(out, EXPECTED.astype(dtype))


def test_a_file_on_disk_will_do(talk, tmp_path) -> None:
    out = np.memmap(tmp_path / "vectors", np.float32, "w+", shape=(9, 4))
    talk(FakeVLLM()).embed(TEXTS, out=out)
    out.flush()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "vectors", np.float32), EXPECTED.ravel())


def test_every_other_row_of_an_array_will_do(talk) -> None:
    whole = np.zeros((18, 8), np.float32)
    talk(FakeVLLM()).embed(TEXTS, out=whole[::2, ::2])
    np.testing.assert_array_equal(whole[::2, ::2], EXPECTED)
    assert not whole[1::2].any()


def read_only() -> np.ndarray:
    array = np.zeros((9, 4), np.float32)
    array.flags.writeable = False
    return array


WRONG = {
    "rows": (np.zeros((8, 4), np.float32), r"of shape \(9, width\), got float32 of shape \(8, 4\)"),
    "one dimension": (np.zeros(36, np.float32), r"\(9, width\).* \(36,\)"),
    "float64": (np.zeros((9, 4)), "got float64"),
    "int8": (np.zeros((9, 4), np.int8), "got int8"),
    "read-only": (read_only(), "read-only"),
    "no array": ([[0.0] * 4] * 9, "got list"),
}


@pytest.mark.parametrize(("out", "words"), WRONG.values(), ids=WRONG)
def test_an_array_that_does_not_fit_is_refused_before_anything_is_sent(talk, out, words) -> None:
    server = FakeVLLM()
    with pytest.raises(InvalidRequestError, match=words) as caught:
        talk(server).embed(TEXTS, out=out)
    assert caught.value.findings[0].field == "out"
    assert server.sent == []


@pytest.mark.parametrize("width", [3, 5, 0])
@pytest.mark.parametrize("prompted", [False, True])
def test_an_array_of_another_width_is_refused_before_the_texts_are_sent(
    talk, width, prompted
) -> None:
    server = FakeVLLM(prompts={"query": "Q: "})
    options = {"input_type": "query"} if prompted else {}
    with pytest.raises(InvalidRequestError, match=r"shape \(9, 4\), got .* \(9, "):
        talk(server).embed(TEXTS, out=np.zeros((9, width), np.float32), **options)
    assert {post.texts for post in server.posts} == {("a",)}


def test_an_array_of_other_than_the_dimensions_is_refused(talk) -> None:
    server = FakeVLLM(matryoshka=True)
    with pytest.raises(InvalidRequestError, match=r"shape \(9, 2\)"):
        talk(server).embed(TEXTS, dimensions=2, out=np.zeros((9, 4), np.float32))
    out = np.zeros((9, 2), np.float32)
    talk(server).embed(TEXTS, dimensions=2, out=out)
    np.testing.assert_array_equal(out, EXPECTED[:, :2])


def test_unchecked_dimensions_that_are_not_kept_are_an_error(talk) -> None:
    client = talk(FakeVLLM(matryoshka=True), validation="off")
    with pytest.raises(InvalidRequestError, match="out"):
        client.embed(TEXTS, dimensions=2, out=np.zeros((9, 4), np.float32))


def test_a_server_whose_model_has_changed_is_an_error(talk) -> None:
    server = FakeVLLM()
    client = talk(server)
    client.embed("learn the width")
    server.width = 5
    with pytest.raises(ResponseError, match="5 numbers wide, not 4"):
        client.embed(TEXTS, out=np.zeros((9, 4), np.float32))


def test_no_input_leaves_the_array(talk) -> None:
    out = np.zeros((0, 4), np.float32)
    assert talk(FakeVLLM()).embed([], out=out).vectors is out


def test_what_fails_is_nan_in_the_array(talk) -> None:
    server = FakeVLLM(refuses=lambda text: "no" if text == "text 4" else None)
    out = np.zeros((9, 4), np.float32)
    with pytest.raises(PartialFailureError) as caught:
        talk(server).embed(TEXTS, out=out)
    assert caught.value.results.vectors is out
    assert np.isnan(out[4]).all()
    np.testing.assert_array_equal(np.delete(out, 4, 0), np.delete(EXPECTED, 4, 0))


def test_all_of_the_array_is_nan_where_all_fails(talk, pauses) -> None:
    server = FakeVLLM()
    client = talk(server)
    client.embed("learn the width")
    server.always("/v1/embeddings", status(500))
    out = np.zeros((9, 4), np.float32)
    with pytest.raises(Exception, match="HTTP 500"):
        client.embed(TEXTS, out=out)
    assert np.isnan(out).all()


def told_by(client: Talker, **options) -> list[tuple[int, int | None]]:
    told: list[tuple[int, int | None]] = []
    client.embed(TEXTS, progress=lambda done, total: told.append((done, total)), **options)
    return told


def test_progress_is_told_after_each_batch(talk) -> None:
    client = talk(FakeVLLM(), max_concurrency=1)
    assert told_by(client, batch_size=4) == [(4, 9), (8, 9), (9, 9)]


def test_progress_ends_with_all_done_where_inputs_failed(talk) -> None:
    server = FakeVLLM(refuses=lambda text: "no" if text == "text 4" else None)
    told = told_by(talk(server, max_concurrency=1), batch_size=4, on_error="return")
    assert told[-1] == (9, 9)
    assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_progress_is_told_one_at_a_time_and_never_backwards(talk) -> None:
    server = FakeVLLM()
    told: list[int] = []
    texts = [f"text {i}" for i in range(200)]
    talk(server).embed(texts, batch_size=1, progress=lambda done, _: told.append(done))
    assert told == list(range(1, 201))


def test_what_the_function_raises_ends_the_call(talk) -> None:
    def fail(done: int, total: int | None) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        talk(FakeVLLM()).embed(TEXTS, progress=fail)


MINE = [
    BadRequestError(400, "of a call that the function made", server="elsewhere", body=b""),
    APIConnectionError("of a call that the function made", server="elsewhere"),
    ResponseError("of a call that the function made"),
]


@pytest.mark.parametrize("on_error", ["collect", "raise", "return"])
@pytest.mark.parametrize("error", MINE)
def test_an_error_of_ours_that_the_function_raises_is_not_the_server_s(
    talk, error, on_error
) -> None:
    """It ends the call as it is: nothing is bisected, asked again, or noted for an input."""
    calls = []

    def fail(done: int, total: int | None) -> None:
        calls.append(done)
        raise error

    client, options = talk(FakeVLLM(), max_concurrency=1), {"batch_size": 4, "on_error": on_error}
    with pytest.raises(type(error)) as caught:
        client.embed(TEXTS, progress=fail, **options)
    assert caught.value is error
    assert calls == [4]
    *_, last = client.every("embed_iter", TEXTS, progress=fail, **options)
    assert last is error


def test_true_draws_a_bar(talk, capsys) -> None:
    talk(FakeVLLM()).embed(TEXTS, progress=True)
    assert "9/9" in capsys.readouterr().out


@pytest.mark.parametrize("progress", [False, None])
def test_nothing_is_drawn_unless_asked_for(talk, capsys, progress) -> None:
    talk(FakeVLLM()).embed(TEXTS, progress=progress)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_a_bar_stays_on_one_line_of_a_terminal_of_any_width(width, monkeypatch) -> None:
    written = io.StringIO()
    console = rich.console.Console(file=written, force_terminal=True, width=width)
    monkeypatch.setattr(rich, "_console", console)
    with told(True, 100_000, of="rows") as done:
        for _ in range(9):
            done(11_000)
    assert written.getvalue().count("\n") == 1


def test_a_bar_without_rich_names_the_extra(monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "rich.progress", raising=False)
    real = builtins.__import__

    def without_rich(name: str, *args, **kwargs):
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_rich)
    with pytest.raises(ImportError, match=r"vllm-modalities\[cli\]"):
        Talker("blocking", FakeVLLM()).embed(TEXTS, progress=True)


@pytest.mark.parametrize("progress", ["yes", 1])
def test_what_is_neither_is_refused(talk, progress) -> None:
    with pytest.raises(InvalidRequestError, match="progress must be True or a function"):
        talk(FakeVLLM()).embed(TEXTS, progress=progress)


def test_a_broken_answer_is_no_row_of_the_array(talk) -> None:
    server = FakeVLLM()
    client = talk(server)
    client.embed("learn the width")
    server.always("/v1/embeddings", body({"data": []}))
    out = np.zeros((9, 4), np.float32)
    with pytest.raises(Exception, match="expected vectors 0 to 8"):
        client.embed(TEXTS, out=out)
