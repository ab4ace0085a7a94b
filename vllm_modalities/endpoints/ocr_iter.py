"""Pages of documents without end, as they are read: `POST /v1/chat/completions`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .._context import Context
from .._flow import Flow, Stream, Together, Work
from .._inputs import invalid
from .._journal import Journal, JournalPath
from .._many import Failure, OnError, Streak, is_shared
from .._progress import Progress, told
from ..documents.scripts import Scripts
from ..errors import BadRequestError, MediaError, PartialFailureError, VLLMModalitiesError
from ._page import Read
from ._page_request import OCRRequest
from ._pages import Asked, Reading
from .ocr import asked_of

if TYPE_CHECKING:
    from .._inputs import ImageURL
    from ..documents.blocks import Page
    from ..documents.choosing import Pages
    from ..documents.reading import ImageSource
    from ..documents.sources import Source

OF_THE_PAGE = (BadRequestError, MediaError)


def ocr_iter(
    context: Context,
    /,
    sources: Iterable[ImageSource | ImageURL] | AsyncIterable[ImageSource | ImageURL],
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
    ordered: bool = True,
    on_error: OnError = "collect",
    journal: JournalPath | None = None,
    progress: Progress = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Stream[Page]:
    """Read documents as they come, any number of them, in memory that does not grow with it.

    The pages of all documents share one window: they go out side by side, over all servers that
    have the model. Documents are taken when a page is asked for, and at most 2 * `max_concurrency`
    pages ahead of what has been given. Leaving the loop, or closing the iterator, ends it all.

    Args:
        sources: Anything that gives one document at a time, each as for `ocr`; `AsyncClient` takes
            an async iterable too.
        model, task, prompt, phrase, dpi, password, max_tokens, repair, journal: As for `ocr`.
        pages: As for `ocr`, of each document.
        ordered: True gives pages in the order of the documents and their pages, False as each is
            there.
        on_error: `"collect"` gives every page, those that failed empty, and raises
            PartialFailureError after the last; `"raise"` stops at the first failure; `"return"`
            gives every page and raises nothing. What all pages share, such as a wrong key, is
            raised at once, and so is the eighth page in a row that fails by no fault of its own:
            then the servers are at fault.
        progress: As for `ocr`, called with how many pages are done, and None.
        extra_body: As for `ocr`.

    Returns:
        An iterator of pages, an async iterator from `AsyncClient`: `.source` is the place of a
        page's document among `sources`, `.number` its own in the document. A document that cannot
        be opened gives one page, of number 0, that failed.

    Raises:
        PartialFailureError: Some pages failed: `.failures` has their places among all pages, in
            the order of the documents. `.results` is empty, since the pages were given.
        Others: As for `ocr`.

    Source: vLLM 0.32.0 vllm/entrypoints/openai/chat_completion/protocol.py.
    """
    one = isinstance(sources, str | bytes | os.PathLike) or hasattr(sources, "read")
    if one or not isinstance(sources, Iterable | AsyncIterable):
        raise invalid(
            "sources",
            "ocr_iter takes many documents, one after another, such as a list or a generator; got"
            f" {type(sources).__name__}. ocr() takes a single one",
        )
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
    places = iter(range(2**63))

    def parts(given: ImageSource | ImageURL) -> Flow[Iterable[_Sheet]]:
        place = next(places)
        try:
            source = yield from asked.opened(context, given)
        except MediaError as error:
            if on_error == "raise":
                raise
            return (_Sheet(place, None, 0, error),)
        scripts = Scripts()
        return (_Sheet(place, source, number, scripts=scripts) for number in source.numbers)

    def begin(first: _Sheet) -> Flow[_Pages]:
        reading = yield from _begun(context, asked, model, journal, first)
        return _Pages(reading, on_error, progress)

    return Stream(sources, begin, parts, ordered)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """One page of one document, or the error of a document that cannot be opened."""

    place: int
    source: Source | None
    number: int
    error: MediaError | None = None
    scripts: Scripts | None = None  # of the document's pages, as far as they have come

    def doubts(self, page: Page) -> list[str]:
        """What the pages of the document that came before say of this one."""
        doubt = self.scripts and self.scripts.doubt(self.scripts.add(page.text))
        return [doubt] if doubt else []


def _begun(
    context: Context, asked: Asked, model: str | None, journal: JournalPath | None, first: _Sheet
) -> Flow[Reading]:
    """What all pages have in common; if that fails, nothing stays open."""
    with ExitStack() as stack:
        if first.source:
            stack.callback(first.source.close)
        target = yield from context.find(OCRRequest, model)
        notes = (yield from Work(partial(Journal, journal))) if journal else nullcontext()
        reading = Reading(target, asked, stack.enter_context(notes))
        stack.pop_all()
        return reading


class _Pages:
    """Makes a flow of each page."""

    def __init__(self, reading: Reading, on_error: OnError, progress: Progress) -> None:
        self._reading = reading
        self._on_error: OnError = on_error
        self._progress = progress
        self._open: set[Source] = set()
        self._count = 0
        self._failures: list[Failure] = []
        self._streak = Streak()  # of pages that fail by no fault of their own

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if self._reading.journal is not None:
                stack.enter_context(self._reading.journal)
            self._done: Callable[[int], None] = stack.enter_context(
                told(self._progress, None, of="pages")
            )
            self._ends = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for source in tuple(self._open):  # pages under way may still be ending
            source.close()
        self._ends.__exit__(kind, error, traceback)

    def add(self, item: Any) -> Flow[Page] | None:
        sheet: _Sheet = item
        self._count += 1
        if sheet.source:
            self._open.add(sheet.source)
        return self._page(sheet, self._count - 1)

    def rest(self) -> Flow[Page] | None:
        return None

    def end(self) -> None:
        if self._failures and self._on_error == "collect":
            failures = sorted(self._failures, key=lambda one: one[0])
            raise PartialFailureError((), failures, count=self._count, streamed=True)

    def _page(self, sheet: _Sheet, place: int) -> Flow[Page]:
        outcome: Read | VLLMModalitiesError | None = sheet.error
        if sheet.source:
            flow = self._reading.page(sheet.source, sheet.number, sheet.place)
            (outcome,) = yield from Together([flow])
            if not sheet.source.is_open:
                self._open.discard(sheet.source)
        if isinstance(outcome, Read):
            self._streak.ends()
            doubts = sheet.doubts(outcome.page)
            page = replace(outcome.page, warnings=(*outcome.page.warnings, *doubts, *outcome.said))
        else:
            assert outcome is not None
            self._note(outcome, place)
            page = self._reading.failed(sheet.source, sheet.number, outcome, sheet.place)
        self._done(1)
        return page

    def _note(self, error: VLLMModalitiesError, place: int) -> None:
        """Keep a failure, or raise it if it ends the whole."""
        if isinstance(error, OF_THE_PAGE):
            self._streak.ends()
        elif is_shared(error) or self._streak.is_too_long(error):
            raise error
        if self._on_error == "raise":
            raise error
        self._failures.append((place, error))
