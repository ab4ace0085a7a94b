"""Batches as Ray Data hands them over, first by themselves, then in a Ray that runs here."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import TEXTS

from vllm_modalities import APIConnectionError, Client, InvalidRequestError, MediaError
from vllm_modalities.errors import InternalServerError
from vllm_modalities.integrations.ray import EmbedBatch, OCRBatch, RerankBatch, TranscribeBatch
from vllm_modalities.simulator import Simulator, simulate

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
SPEECH = (ASSETS / "speech-en-us.flac").read_bytes()
PAGE = (ASSETS / "invoice.png").read_bytes()
KINDS = (EmbedBatch, OCRBatch, RerankBatch, TranscribeBatch)
FORMATS = ("numpy", "pandas", "pyarrow")


@pytest.fixture(scope="module")
def everything() -> Iterator[Simulator]:
    with simulate() as running:
        yield running


def batch(kind: str, **columns: list[Any]) -> Any:
    """A batch as Ray makes it of a table."""
    from ray.data.block import BlockAccessor

    return BlockAccessor.for_block(pa.table(columns)).to_batch_format(kind)


def column(found: Any, name: str) -> list[Any]:
    """A column of a batch of any format, null as None."""
    if isinstance(found, pa.Table):
        return found[name].to_pylist()
    listed = [one.tolist() if isinstance(one, np.ndarray) else one for one in list(found[name])]
    return [None if one is pd.NA or one != one or _no_numbers(one) else one for one in listed]


def _no_numbers(value: Any) -> bool:
    return isinstance(value, list) and any(one != one for one in value)


def kind_of(found: Any) -> str:
    return {dict: "numpy", pd.DataFrame: "pandas", pa.Table: "pyarrow"}[type(found)]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_batch_comes_back_in_its_format_with_the_client_s_vectors(kind, servers, client) -> None:
    found = EmbedBatch(base_url=servers.urls)(batch(kind, id=[1, 2, 3], text=TEXTS))
    assert kind_of(found) == kind
    assert column(found, "id") == [1, 2, 3]
    expected = client.embed(TEXTS).vectors
    assert np.array_equal(np.array(column(found, "vector"), np.float32), expected)
    assert column(found, "error") == column(found, "warnings") == [None] * 3


@pytest.mark.parametrize("kind", FORMATS)
def test_a_row_that_cannot_be_embedded_says_why_and_spares_the_others(kind, servers) -> None:
    texts = [TEXTS[0], None, "half\udc80"] if kind == "numpy" else [TEXTS[0], None, TEXTS[2]]
    given = {"text": np.array(texts, object)} if kind == "numpy" else batch(kind, text=texts)
    found = EmbedBatch(base_url=servers.urls)(given)
    failed = [vector is None for vector in column(found, "vector")]
    errors = column(found, "error")
    assert failed == [error is not None for error in errors] == [False, True, kind == "numpy"]
    assert errors[1].startswith("InvalidRequestError: inputs must be a text")


@pytest.mark.parametrize("kind", FORMATS)
def test_batches_without_a_vector_have_the_type_of_those_with_some(kind, servers) -> None:
    from ray.data.block import BlockAccessor

    def schema(*texts: str | None) -> pa.Schema:
        given = batch(kind, text=pa.array(texts, pa.string()))
        found = EmbedBatch(base_url=servers.urls)(given)
        return BlockAccessor.batch_to_block(found).schema

    some, none = schema("a cat", None), schema(None, None)
    assert none.field("vector").type == some.field("vector").type
    if kind != "numpy":  # an array of None has no type, which Ray joins with any
        assert some.field("warnings").type == none.field("error").type == pa.string()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_batch_of_no_rows_has_all_columns(kind, servers) -> None:
    found = EmbedBatch(base_url=servers.urls)(batch(kind, text=pa.array([], pa.string())))
    assert list(found if kind != "pyarrow" else found.column_names) == [
        *("text", "vector", "warnings", "error")
    ]
    assert [len(column(found, name)) for name in ("vector", "error")] == [0, 0]


@pytest.mark.parametrize("kind", FORMATS)
def test_every_other_batch_gives_what_the_client_does(kind, everything) -> None:
    servers = {"base_url": everything.urls}
    with Client(everything.urls) as client:
        said, read = client.transcribe(SPEECH), client.ocr(PAGE)
        ranking = client.rerank("yeast", TEXTS, top_n=2)
    heard = TranscribeBatch(**servers)(batch(kind, bytes=[SPEECH, b"noise", None]))
    assert column(heard, "text") == [said.text, None, None]
    assert column(heard, "srt") == [said.to_srt(), None, None]
    assert column(heard, "duration") == [said.duration, None, None]
    assert column(heard, "error")[1].startswith("MediaError: what was given (5 bytes)")
    seen = OCRBatch(**servers)(batch(kind, bytes=[PAGE, b"noise"]))
    assert column(seen, "markdown") == [read.markdown, None]
    assert json.loads(column(seen, "layout")[0])["pages"][0]["width"] == read.pages[0].width
    asked = batch(kind, query=["yeast", "", "a cat"], documents=[TEXTS, TEXTS, None])
    ranked = RerankBatch(**servers, top_n=2)(asked)
    assert column(ranked, "indices") == [[one.index for one in ranking], None, None]
    assert column(ranked, "scores")[0] == pytest.approx([one.score for one in ranking])
    assert [error and error.split(":")[0] for error in column(ranked, "error")] == [
        None,
        "InvalidRequestError",
        "InvalidRequestError",
    ]
    assert {kind_of(found) for found in (heard, seen, ranked)} == {kind}


def test_pixels_are_pages_as_ray_reads_images(everything) -> None:
    pixels = np.zeros((2, 30, 40, 3), np.uint8)
    found = OCRBatch(base_url=everything.urls, column="image")({"image": pixels})
    assert [json.loads(one)["pages"][0]["width"] for one in found["layout"]] == [40, 40]


def test_a_text_that_is_too_long_fails_alone(servers) -> None:
    found = EmbedBatch(base_url=servers.urls)(pa.table({"text": ["a cat", "word " * 300]}))
    assert [vector is None for vector in found["vector"].to_pylist()] == [False, True]
    assert "has 302 tokens" in found["error"].to_pylist()[1]


def test_half_a_ranking_is_kept_and_the_failure_told(everything) -> None:
    rank = RerankBatch(base_url=everything.urls, max_retries=0)
    rank(pa.table({"query": ["a cat"], "documents": [TEXTS]}))
    everything.fail(500, path="/v1/rerank")
    (row,) = rank(pa.table({"query": ["a cat"], "documents": [TEXTS * 60]})).to_pylist()
    assert 0 < len(row["indices"]) < 180
    assert row["error"].startswith("InternalServerError: HTTP 500")


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_servers_are_to_blame_for_is_raised(kind) -> None:
    media = PAGE if kind is OCRBatch else SPEECH
    columns = {"text": [TEXTS[0]], "bytes": [media], "query": ["a"], "documents": [TEXTS]}
    with pytest.raises(APIConnectionError):
        kind(base_url="http://127.0.0.1:9", max_retries=0)(pa.table(columns))


def test_a_server_that_fails_a_whole_batch_fails_the_job(everything) -> None:
    everything.fail(500, path="/v1/rerank", times=None)
    rank = RerankBatch(base_url=everything.urls, max_retries=0)
    given = pa.table({"query": ["a", "b"], "documents": [TEXTS, TEXTS]})
    with pytest.raises(InternalServerError):
        rank(given)
    everything.recover()
    everything.fail(500, path="/v1/rerank", times=1)
    errors = rank(given)["error"].to_pylist()
    assert sorted(error is None for error in errors) == [False, True]


def test_a_wrong_option_is_raised_and_no_row_is_blamed(servers) -> None:
    with pytest.raises(InvalidRequestError, match="dimensions"):
        EmbedBatch(base_url=servers.urls, dimensions=5000)(pa.table({"text": TEXTS}))


@pytest.mark.parametrize(
    ("kind", "columns", "error"),
    [
        (EmbedBatch, {"text": [None]}, InvalidRequestError),
        (OCRBatch, {"bytes": [b"noise"]}, MediaError),
    ],
)
def test_a_row_that_fails_fails_the_job_if_so_chosen(kind, columns, error, everything) -> None:
    with pytest.raises(error):
        kind(base_url=everything.urls, on_error="raise")(pa.table(columns))


def test_a_column_is_neither_guessed_nor_overwritten(servers) -> None:
    with pytest.raises(InvalidRequestError, match=r"no column 'words'; it has 'text'"):
        EmbedBatch(base_url=servers.urls, column="words")(pa.table({"text": TEXTS}))
    once = EmbedBatch(base_url=servers.urls)(pa.table({"text": TEXTS}))
    with pytest.raises(InvalidRequestError, match="already has a column 'vector'"):
        EmbedBatch(base_url=servers.urls)(once)
    twice = EmbedBatch(base_url=servers.urls, prefix="more_")(once)
    assert twice.column_names[-3:] == ["more_vector", "more_warnings", "more_error"]


def test_a_process_has_one_client_for_all_that_want_the_same() -> None:
    given = {"base_url": ["http://gpu1:8000"], "headers": {"x-team": "a"}}
    made = pickle.loads(pickle.dumps(EmbedBatch(**given)))
    assert made.client is RerankBatch(**given).client
    assert made.client is not EmbedBatch(**given, max_concurrency=1).client


def test_pickled_before_it_is_used_it_has_no_client_and_shows_no_key() -> None:
    made = EmbedBatch(base_url="http://me:secret@gpu1", api_key="secret", headers={"k": "secret"})
    assert "secret" not in repr(made)
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_made_with_what_a_client_is(kind) -> None:
    of_client = inspect.signature(Client).parameters
    here = inspect.signature(kind).parameters
    shared = of_client.keys() - {"http_client", "keep_raw"}  # neither leaves its process
    assert shared <= here.keys()
    other = {name for name in shared if here[name].default != of_client[name].default}
    assert other == {"max_concurrency"}


def test_one_worker_and_two_give_the_same_vectors(ray, servers, client) -> None:
    texts = [f"{number}. {TEXTS[number % 3]}" for number in range(200)]
    rows = [{"id": at, "text": text} for at, text in enumerate(texts)]
    table = ray.data.from_items(rows, override_num_blocks=4)
    expected = client.embed(texts).vectors
    for workers in (1, 2):
        found = table.map_batches(
            EmbedBatch,
            fn_constructor_kwargs={"base_url": servers.urls},
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_cpus=0.1,  # with 1 each, none would be left to read the table
            batch_format="pyarrow",
        )
        rows = sorted(found.take_all(), key=lambda row: row["id"])
        assert np.array_equal(np.array([row["vector"] for row in rows], np.float32), expected)


def test_a_chain_of_batches_in_all_formats_keeps_every_row(ray, everything) -> None:
    rows = [{"bytes": SPEECH, "documents": TEXTS}, {"bytes": b"noise", "documents": TEXTS[:1]}]
    found = ray.data.from_items(rows)
    steps = (
        (TranscribeBatch, {}, "pandas"),
        (RerankBatch, {"query_column": "text", "prefix": "rank_"}, "pyarrow"),
        (EmbedBatch, {"prefix": "embed_"}, "numpy"),
    )
    for kind, options, form in steps:
        found = found.map_batches(
            kind(base_url=everything.urls, **options), batch_format=form, num_cpus=0.1
        )
    good, bad = sorted(found.take_all(), key=lambda row: row["error"] is not None)
    assert [good[name] for name in ("error", "rank_error", "embed_error")] == [None] * 3
    assert sorted(good["rank_indices"]) == [0, 1, 2]
    assert np.isfinite(good["embed_vector"]).all()
    assert bad["error"].startswith("MediaError")
    assert bad["rank_error"].startswith("InvalidRequestError: query")
    assert np.isnan(bad["embed_vector"]).all()


def test_an_error_of_all_rows_ends_the_job(ray) -> None:
    doomed = ray.data.from_items([{"text": "a"}]).map_batches(
        EmbedBatch(base_url="http://127.0.0.1:9", max_retries=0)
    )
    with pytest.raises(ray.exceptions.RayTaskError, match="APIConnectionError"):
        doomed.take_all()


def test_the_example_runs_on_a_ray_that_is_there(ray, servers, tmp_path) -> None:
    example = ASSETS.parent / "ray_embed.py"
    ran = subprocess.run(
        [sys.executable, str(example), str(tmp_path)],
        env={
            **os.environ,
            "RAY_ADDRESS": ray.get_runtime_context().gcs_address,
            "VLLM_BASE_URL": ",".join(servers.urls),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert "2000 rows" in ran.stdout
