"""Documents, or rows with one each, into Markdown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .._context import Context
from .._flow import Flow
from .._progress import Progress
from .._sniff import DOCUMENTS
from ..documents.choosing import ranges
from ..documents.lacking import lacking
from ..endpoints._page_request import OCRRequest
from ..endpoints.ocr import ocr as read
from ._both import for_both
from ._job import SHARD_ROWS, job
from ._paths import journal_of, paths_in, tidy
from ._report import BulkReport
from ._single import TEXTS, Answer, one_at_a_time
from ._tables import Source

if TYPE_CHECKING:
    from ..documents.choosing import Pages

DOCUMENT = {"markdown": pa.string(), "pages": TEXTS, "warnings": TEXTS}


@for_both
def ocr(
    context: Context,
    /,
    source: Source,
    *,
    out: str | os.PathLike[str],
    column: str | None = None,
    model: str | None = None,
    task: str = "markdown",
    prompt: str | None = None,
    phrase: str | None = None,
    pages: Pages = None,
    dpi: float | None = None,
    password: str | None = None,
    max_tokens: int | None = None,
    repair: bool = True,
    into: str = "document",
    shard_rows: int = SHARD_ROWS,
    progress: Progress = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[BulkReport]:
    """Read documents, any number of them, into Parquet files.

    As many documents are under way as the client has requests in flight at most. Of one of many
    pages those that are read survive a kill, too.

    Args:
        source: Documents, folders of them and patterns; with `column`, tables as for `embed`.
        out, shard_rows, progress: As for `embed`.
        column: As for `transcribe`.
        model, task, prompt, phrase, pages, dpi, password, max_tokens, repair, extra_body: As for
            `Client.ocr`.
        into: The documents' column, of structs: `markdown`, `pages` (the Markdown of each),
            `warnings`, and `failures`, what is said of pages that failed, are not there or are not
            whole.

    Returns:
        As `embed`. A document that cannot be opened is tried again by the next run.

    Raises:
        ImportError: A document is a PDF, and the extra `pdf` is not installed.
        Others: As for `embed`.
    """
    options: dict[str, Any] = {
        "task": task,
        "prompt": prompt,
        "phrase": phrase,
        "pages": pages,
        "dpi": dpi,
        "max_tokens": max_tokens,
        "repair": repair,
        "extra_body": extra_body,
    }

    def do(context: Context, number: int, values: Sequence[Any]) -> Flow[Answer]:
        kept: dict[str, Any] = {"journal": journal_of(out, number), "on_error": "return"}
        found = yield from read(
            context, values[0], model=model, password=password, **kept, **options
        )
        texts = [page.markdown for page in found.pages]
        value = {"markdown": found.markdown, "pages": texts, "warnings": found.warnings}
        return {**value, "failures": lacking(found, ranges(pages))}, found.failures

    reading = one_at_a_time(
        (column or "path",),
        into,
        DOCUMENT,
        do,
        request=OCRRequest,
        opened=partial(paths_in, source, column, DOCUMENTS),
        options={"job": "ocr", "column": column, **options},
        tidy=partial(tidy, out),
    )
    return (
        yield from job(
            context, reading, out=out, model=model, shard_rows=shard_rows, progress=progress
        )
    )
