"""Documents to Markdown with boxes, a page a request: `POST /v1/chat/completions`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from .._context import Context
from .._flow import Flow, Work
from .._inputs import invalid, one_of
from .._journal import Journal, JournalPath
from .._many import Failure, OnError, each, settle
from .._progress import Progress, told
from ._page import Read
from ._page_request import OCRRequest
from ._pages import Asked, Reading

if TYPE_CHECKING:
    from .._inputs import ImageURL
    from ..documents.blocks import Document, Page
    from ..documents.choosing import Pages
    from ..documents.reading import ImageSource
    from ..documents.sources import Source


def ocr(
    context: Context,
    /,
    source: ImageSource | ImageURL,
    *,
    model: str | None = None,
    task: str = "markdown",
    prompt: str | None = None,
    phrase: str | None = None,
    pages: Pages = None,
    dpi: float | None = None,
    password: str | None = None,
    max_tokens: int | None = None,
    repair: bool = True,
    on_error: OnError = "collect",
    journal: JournalPath | None = None,
    progress: Progress = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Document]:
    """Read a document: its text as Markdown, and its blocks with their places.

    Its pages go out side by side, over all servers that have the model, and are read from the file
    no further ahead than that, so one of a thousand pages never stands in memory whole.

    Args:
        source: A path (a `str` or `Path` is one), the bytes of a file, an open binary file, an
            `ImageURL`, a PIL image, or a numpy array of pixels. Each picture of a TIFF is a page;
            so is each page of a PDF, with the extra `pdf`. Of an animation the first frame is read,
            unless `pages` asks for others. A photo's EXIF orientation is honoured; what is
            transparent becomes white.
        model: The served model's name; None is the one that is served.
        task: What to do with the page: `"markdown"` (with boxes, where the model gives any), or
            another task of the model's profile: `"text"`, `"layout"`, `"table"`, `"formula"`,
            `"figure"`, `"locate"` …
        prompt: Words of your own instead of the profile's; the answer is parsed all the same.
        phrase: What `task="locate"` looks for.
        pages: Which pages, from 1, such as `"1-3,7"` or `"5-"`; a number; or several. None is all.
        dpi: Pixels an inch of a PDF's pages; None is what the model was trained with, or 144.
        password: Of a PDF that is encrypted.
        max_tokens: The most tokens a page may take; None is what the model's context leaves.
        repair: Whether a page is asked for again that came back empty, in a loop, or cut. What the
            caller bounds or sets, by `max_tokens` or a temperature, stays as it is.
        on_error: `"collect"` reads the other pages, then raises PartialFailureError; `"raise"`
            stops at the first page that fails; `"return"` gives the document with `.failures`.
        journal: A file in which finished pages are noted; a call that was killed and is made again
            finds them there, and asks for the others alone.
        progress: True draws a bar (extra `cli`); a function is called with pages done and in all.
        extra_body: Further fields of the request; they go before the profile's, and None leaves
            one of these out.

    Returns:
        The document, in the order of its pages. Boxes are in pixels of the page as it is seen, (x0,
        y0, x1, y1). A page that is cut, loops, or is doubtful otherwise says so in `.warnings`; one
        that the model did not end by itself has another `.finish_reason` than `"stop"`. It is
        `"error"` for a page that failed, which is empty, and for one of which a block did.

    Raises:
        MediaError: There is no such file, it holds nothing that can be read, has no such page, or
            wants another password. Nothing is sent.
        UnsupportedTaskError: No server has a model that is known to read pages.
        InvalidRequestError: The profile has no such task, `phrase` is missing or not wanted, the
            words hold what stands for the picture, or `pages` cannot be understood. Nothing is
            sent.
        PartialFailureError: Some pages failed; `.results` is the document, in which they are empty.
        ImportError: `source` is a PDF, and the extra `pdf` is not installed.

    Source: vLLM 0.32.0 vllm/entrypoints/openai/chat_completion/protocol.py; the model's profile.
    """
    asked = asked_of(
        task=task,
        prompt=prompt,
        phrase=phrase,
        pages=pages,
        dpi=dpi,
        password=password,
        max_tokens=max_tokens,
        repair=repair,
        on_error=on_error,
        extra_body=extra_body,
    )
    document = yield from asked.opened(context, source)
    try:
        target = yield from context.find(OCRRequest, model)
        notes = (yield from Work(partial(Journal, journal))) if journal else nullcontext()
        with notes as known, told(progress, len(document.numbers), of="pages") as done:
            pile = _Pile(Reading(target, asked, known), document, done)
            work = [(place,) for place in range(len(document.numbers))]
            failures = yield from each(work, pile.run, partial(pile.run, (0,)), on_error=on_error)
        return settle(pile.document(failures), failures, on_error=on_error)
    finally:
        document.close()


def asked_of(
    *,
    task: str,
    prompt: str | None,
    phrase: str | None,
    pages: Pages,
    dpi: float | None,
    password: str | None,
    max_tokens: int | None,
    repair: bool,
    on_error: OnError,
    extra_body: Mapping[str, Any] | None,
) -> Asked:
    """The arguments, checked."""
    from ..documents.choosing import ranges

    one_of("on_error", on_error, get_args(OnError))
    if dpi is not None and not (isinstance(dpi, int | float) and dpi >= 1):
        raise invalid("dpi", f"dpi must be at least 1, got {dpi!r}")
    return Asked(
        task=task,
        prompt=prompt,
        phrase=phrase,
        pages=ranges(pages),
        dpi=dpi,
        password=password,
        max_tokens=max_tokens,
        repair=repair,
        extra_body=extra_body or {},
    )


class _Pile:
    """Collects the pages of one document."""

    def __init__(self, reading: Reading, source: Source, done: Callable[[int], None]) -> None:
        self._reading, self._source, self._done = reading, source, done
        self._read: dict[int, Read] = {}

    def run(self, batch: Sequence[int]) -> Flow[list[Failure]]:
        """Read the page at this position."""
        (place,) = batch
        number = self._source.numbers[place]
        self._read[place] = yield from self._reading.page(self._source, number)
        self._done(1)
        return []

    def document(self, failures: Sequence[Failure]) -> Document:
        """All pages, those that failed too."""
        from ..documents.blocks import Document
        from ..documents.scripts import strangers

        errors, source = dict(failures), self._source
        pages = [
            self._read[place].page
            if place in self._read
            else self._reading.failed(source, number, errors[place])
            for place, number in enumerate(source.numbers)
        ]
        for place, warning in strangers([page.text for page in pages]).items():
            pages[place] = replace(pages[place], warnings=(*pages[place].warnings, warning))
        read = [self._read[place] for place in sorted(self._read)]
        keep = self._reading.target.context.options.keep_raw
        return Document(
            pages=tuple(pages),
            model=self._reading.target.model or "",
            warnings=tuple(
                dict.fromkeys(
                    (
                        *source.warnings,
                        *(doubt for page in pages for doubt in _doubts(page, len(pages))),
                        *(words for one in read for words in one.said),
                    )
                )
            ),
            failures=tuple(failures),
            raw=tuple(answer for one in read for answer in one.raw) if keep else None,
        )


def _doubts(page: Page, count: int) -> Iterator[str]:
    """A page's warnings, with its number where it is one of many."""
    return (f"page {page.number}: {doubt}" if count > 1 else doubt for doubt in page.warnings)
