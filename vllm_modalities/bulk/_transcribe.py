"""Recordings, or rows with one each, into what is said in them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import pyarrow as pa

from .._context import Context
from .._flow import Flow
from .._progress import Progress
from .._sniff import RECORDINGS
from ..endpoints._chat_speech import hearing
from ..endpoints._hearing import cut_in
from ..endpoints._recording import Timestamps
from ..endpoints.transcribe import TranscriptionRequest, hotwords_of
from ..endpoints.transcribe import transcribe as heard
from ._both import for_both
from ._job import SHARD_ROWS, job
from ._paths import journal_of, paths_in, tidy
from ._report import BulkReport
from ._single import TEXTS, Answer, one_at_a_time
from ._tables import Source

SEGMENT = {"start": pa.float64(), "end": pa.float64(), "text": pa.string(), "speaker": pa.string()}
TRANSCRIPT = {
    "text": pa.string(),
    "language": pa.string(),
    "duration": pa.float64(),
    "segments": pa.list_(pa.struct(SEGMENT)),
    "warnings": TEXTS,
}


@for_both
def transcribe(
    context: Context,
    /,
    source: Source,
    *,
    out: str | os.PathLike[str],
    column: str | None = None,
    model: str | None = None,
    language: str | None = None,
    prompt: str | None = None,
    hotwords: str | Sequence[str] | None = None,
    temperature: float | None = None,
    timestamps: Timestamps = None,
    diarize: bool = False,
    into: str = "transcript",
    shard_rows: int = SHARD_ROWS,
    progress: Progress = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[BulkReport]:
    """Write down what is said in recordings, any number of them, into Parquet files.

    As many recordings are under way as the client has requests in flight at most. Of one that is
    long the pieces that are heard survive a kill, too.

    Args:
        source: Recordings, folders of them and patterns; with `column`, tables as for `embed`.
        out, shard_rows, progress: As for `embed`.
        column: The column of the recordings: paths, those that are relative from the working
            directory, bytes of files, or structs of `bytes` and `path`, as `datasets` keeps them.
            None makes a table of the files of `source`, with a column `path`.
        model, language, prompt, hotwords, temperature, timestamps, diarize, extra_body: As for
            `Client.transcribe`.
        into: The transcripts' column, of structs: `text`, `language`, `duration` (s), `segments`
            (`start`, `end`, `text`, `speaker`), `warnings`, and `failures`, what is said of pieces
            that failed or are cut.

    Returns:
        As `embed`. A recording that cannot be read is tried again by the next run.

    Raises:
        ImportError: Reading a recording takes the extra `media`.
        Others: As for `embed`.
    """
    options: dict[str, Any] = {
        "language": language,
        "prompt": prompt,
        "hotwords": hotwords_of(hotwords),
        "temperature": temperature,
        "timestamps": timestamps,
        "diarize": diarize,
        "extra_body": extra_body,
    }

    def do(context: Context, number: int, values: Sequence[Any]) -> Flow[Answer]:
        journal = journal_of(out, number)
        found = yield from heard(
            context, values[0], model=model, journal=journal, on_error="return", **options
        )
        value = {name: getattr(found, name) for name in TRANSCRIPT}
        value |= {"segments": list(map(asdict, found.segments)), "failures": cut_in(found.warnings)}
        return value, found.failures

    task = one_at_a_time(
        (column or "path",),
        into,
        TRANSCRIPT,
        do,
        request=TranscriptionRequest,
        find=hearing,
        opened=partial(paths_in, source, column, RECORDINGS),
        options={"job": "transcribe", "column": column, **options},
        tidy=partial(tidy, out),
    )
    return (
        yield from job(
            context, task, out=out, model=model, shard_rows=shard_rows, progress=progress
        )
    )
