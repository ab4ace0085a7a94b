"""Jobs on scripted servers, and what they leave in their folders."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
from _script import BLOCKING, FakeVLLM, Talker
from pyarrow import parquet

from vllm_modalities.bulk import BulkReport


def run(talker: Talker, job: Any, *arguments: Any, **options: Any) -> BulkReport:
    """The job with either client."""
    call = partial(job, talker.client, *arguments, **options)
    return call() if talker.kind == BLOCKING else anyio.run(call, backend=talker.kind)


def blocking(server: FakeVLLM, **options: Any) -> Talker:
    return Talker(BLOCKING, server, **{"max_retries": 0, **options})


def texts_of(count: int, odd: dict[int, str | None] | None = None) -> list[str | None]:
    """Texts that tell their rows, but for the odd ones."""
    return [(odd or {}).get(row, f"row {row}") for row in range(count)]


def table(file: Path, texts: Sequence[str | None]) -> Path:
    columns = {"id": pa.array(range(len(texts))), "text": pa.array(texts, pa.string())}
    parquet.write_table(pa.table(columns), file)
    return file


def rows_in(out: Path) -> list[dict[str, Any]]:
    """The rows of all shards, in order."""
    shards = sorted(out.glob("part-*.parquet"))
    return [row for shard in shards for row in parquet.read_table(shard).to_pylist()]


def failed_in(out: Path) -> dict[int, dict[str, Any]]:
    """What is said of the rows that failed."""
    file = out / "_failed.jsonl"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return {one["row"]: one for one in map(json.loads, lines)}


def sent_to(server: FakeVLLM) -> list[str]:
    """All texts that came, in the order in which they did."""
    return [text for sent in server.asked("/v1/embeddings") for text in sent.body["input"]]


def names_in(out: Path) -> set[str]:
    return {path.name for path in out.iterdir()}


def refusing(*texts: str) -> Callable[[str], str | None]:
    return lambda text: f"{text} is odd" if text in texts else None
