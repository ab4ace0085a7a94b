"""`ocr_iter`: pages of any number of documents, in order or as they are there."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import anyio.lowlevel
import pytest
from _pages import SIZE, Reader, document, numbers_in, spoken
from _script import ASYNCIO, BLOCKING, TRIO, FakeVLLM, Talker, status
from PIL import Image

from vllm_modalities import (
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    InvalidRequestError,
    MediaError,
    PartialFailureError,
    UnsupportedTaskError,
)
from vllm_modalities._journal import Journal
from vllm_modalities.documents.sources import Source
from vllm_modalities.endpoints.ocr_iter import _Pages

ORDERS = pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "as it comes"])


def places(pages) -> list[tuple[int, int]]:
    return [(page.source, page.number) for page in pages]


def refused(ask, *numbers, code=400):
    return status(code, f"no page {ask.number}")(None) if ask.number in numbers else spoken(ask)


@ORDERS
def test_every_page_of_every_document_comes_once(talk, ordered) -> None:
    found = talk(Reader()).every(
        "ocr_iter", [document(3), document(1), document(5)], ordered=ordered
    )
    expected = [(0, 1), (0, 2), (0, 3), (1, 1), *((2, n) for n in range(1, 6))]
    assert (places(found) if ordered else sorted(places(found))) == expected
    assert all(numbers_in(page.text) == [page.number] for page in found)


def test_pages_come_as_they_are_there(talk) -> None:
    """The first page is answered only when the others have been handed over."""
    others = threading.Event()

    def answers(ask):
        if ask.number == 1:
            assert others.wait(20)
        return spoken(ask)

    def told(done: int, _: object) -> None:
        if done == 3:
            others.set()

    found = Talker(BLOCKING, Reader(answers=answers)).every(
        "ocr_iter", [document(4)], ordered=False, progress=told
    )
    assert places(found)[-1] == (0, 1)
    assert sorted(places(found)) == [(0, n) for n in range(1, 5)]


@ORDERS
def test_nothing_at_all_makes_no_request(talk, ordered) -> None:
    server = Reader()
    assert talk(server).every("ocr_iter", [], ordered=ordered) == []
    assert server.sent == []


def test_documents_are_taken_no_further_ahead_than_the_window(talk) -> None:
    taken = 0

    def documents() -> Iterator[bytes]:
        nonlocal taken
        for _ in range(60):
            taken += 1
            yield document(1)

    ahead = []
    talk(Reader(), max_concurrency=2).every(
        "ocr_iter", documents(), progress=lambda done, _: ahead.append(taken - done)
    )
    assert len(ahead) == 60
    assert max(ahead) <= 4


def test_an_async_iterable_of_documents_will_do_for_the_async_client() -> None:
    async def documents() -> AsyncIterator[bytes]:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
            yield document(2)

    for kind in (ASYNCIO, TRIO):
        found = Talker(kind, Reader()).every("ocr_iter", documents())
        assert places(found) == [(source, n) for source in range(3) for n in (1, 2)]
    (error,) = Talker(BLOCKING, Reader()).every("ocr_iter", documents())
    assert "only AsyncClient" in str(error)


@pytest.mark.parametrize("given", ["a.pdf", b"", 7, None], ids=repr)
def test_a_single_document_is_refused_with_what_takes_one(talk, given) -> None:
    (error,) = talk(Reader()).every("ocr_iter", given)
    assert isinstance(error, InvalidRequestError)
    assert "ocr() takes a single one" in str(error)


@ORDERS
def test_bad_pages_and_documents_lose_no_others(talk, ordered) -> None:
    given = [document(2), b"no document", document(3), "missing.pdf"]
    server = Reader(answers=lambda ask: refused(ask, 3))
    *pages, error = talk(server).every("ocr_iter", given, ordered=ordered)
    assert sorted(places(pages)) == [(0, 1), (0, 2), (1, 0), (2, 1), (2, 2), (2, 3), (3, 0)]
    bad = {one for one in pages if one.finish_reason == "error"}
    assert sorted(places(bad)) == [(1, 0), (2, 3), (3, 0)]
    assert isinstance(error, PartialFailureError)
    failed = [(place, type(one)) for place, one in error.failures]
    assert failed == [(2, MediaError), (5, BadRequestError), (6, MediaError)]
    assert "3 of 7 items failed" in str(error)


def test_failures_are_shown_and_nothing_raised_when_they_are_to_be_returned(talk) -> None:
    pages = talk(Reader()).every("ocr_iter", [document(1), b""], on_error="return")
    assert [page.finish_reason for page in pages] == ["stop", "error"]
    assert "an empty file" in pages[1].warnings[0]
    assert pages[1].image is None


@pytest.mark.parametrize("given", [[b"", document(9)], [document(1), b"", document(9)]])
def test_the_first_failure_ends_it_when_it_is_to_be_raised(talk, given) -> None:
    *pages, error = talk(Reader()).every("ocr_iter", given, on_error="raise")
    assert isinstance(error, MediaError)
    assert len(pages) == len(given) - 2


def test_a_page_that_fails_ends_it_when_it_is_to_be_raised(talk) -> None:
    server = Reader(answers=lambda ask: refused(ask, 2))
    *pages, error = talk(server).every("ocr_iter", [document(9)], on_error="raise")
    assert isinstance(error, BadRequestError)
    assert places(pages) == [(0, 1)]


def test_what_all_pages_share_is_raised_at_once(talk) -> None:
    server = Reader(answers=lambda ask: refused(ask, 1, 2, 3, code=401))
    (error,) = talk(server, max_concurrency=1).every("ocr_iter", [document(3)] * 9)
    assert isinstance(error, AuthenticationError)
    assert len(server.asks) < 5


def test_eight_pages_in_a_row_that_fail_by_no_fault_of_their_own_end_it(talk) -> None:
    server = Reader(answers=lambda ask: refused(ask, *range(100), code=500))
    *pages, error = talk(server, max_concurrency=1).every("ocr_iter", [document(50)])
    assert isinstance(error, InternalServerError)
    assert len(pages) in (6, 7)  # two are under way at once, and either may fail first


def test_leaving_the_loop_closes_what_is_open(monkeypatch) -> None:
    import pypdfium2

    open_now: set[int] = set()
    begin, close = pypdfium2.PdfDocument.__init__, pypdfium2.PdfDocument.close

    def begun(self, *arguments, **options) -> None:
        begin(self, *arguments, **options)
        open_now.add(id(self))

    def closed(self, **options) -> None:
        open_now.discard(id(self))
        close(self, **options)

    monkeypatch.setattr(pypdfium2.PdfDocument, "__init__", begun)
    monkeypatch.setattr(pypdfium2.PdfDocument, "close", closed)
    pages = Talker(BLOCKING, Reader(), max_concurrency=1).client.ocr_iter([document(40)] * 3)
    next(pages)
    assert open_now
    pages.close()
    assert not open_now


@pytest.mark.parametrize("task", ["markdown", "cook it"])
def test_nothing_is_left_open_where_no_page_can_be_asked_for(
    talk, monkeypatch, tmp_path, task
) -> None:
    """No server reads pages, or not so: neither the document nor the journal is kept."""
    sources: list[Source] = []
    init = Source.__init__

    def begun(self: Source, *arguments: Any) -> None:
        init(self, *arguments)
        sources.append(self)

    monkeypatch.setattr(Source, "__init__", begun)
    server, journal = FakeVLLM() if task == "markdown" else Reader(), tmp_path / "j"
    (error,) = talk(server).every("ocr_iter", [document(3)], task=task, journal=journal)
    assert isinstance(error, UnsupportedTaskError | InvalidRequestError)
    assert [source.is_open for source in sources] == [False]
    Journal(journal).close()


def test_progress_counts_pages_of_all_documents(talk) -> None:
    told = []
    talk(Reader()).every(
        "ocr_iter",
        [document(2), b"", document(1)],
        on_error="return",
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(1, None), (2, None), (3, None), (4, None)]


def test_what_is_doubtful_about_the_requests_is_on_each_page(talk) -> None:
    pages = talk(Reader()).every("ocr_iter", [document(2)], extra_body={"new": 1})
    assert all("'new' is passed on unchecked" in page.warnings[0] for page in pages)


def test_pictures_of_any_kind_are_documents(talk) -> None:
    image = Image.new("RGB", SIZE, (0, 0, 0))
    pages = talk(Reader()).every("ocr_iter", [image, document(1)], pages="1")
    assert places(pages) == [(0, 1), (1, 1)]
    assert pages[0].image.size == SIZE


def test_a_page_in_another_script_than_those_before_it_is_doubted(talk) -> None:
    """It can only be held against pages of its own document, and against those that came."""

    def answers(ask):
        is_foreign = ask.number == 6
        return "Съешь же ещё этих мягких булок. " * 5 if is_foreign else spoken(ask) * 2

    found = talk(Reader(answers=answers), max_concurrency=1).every(
        "ocr_iter", [document(6), "ninth.png", document(1)], on_error="return"
    )
    (page,) = (page for page in found if page.warnings and page.finish_reason == "stop")
    assert (page.source, page.number) == (0, 6)
    assert page.warnings == (
        "the words are Cyrillic, where those of other pages are Latin: perhaps not what stands"
        " there",
    )


def test_documents_are_let_go_of_while_pages_still_end() -> None:
    """Another thread may drop a document from the set that is being walked."""
    reading: Any = SimpleNamespace(journal=None)
    with _Pages(reading, "raise", None) as pages:
        sources: Any = [Ending(pages) for _ in range(3)]
        pages._open.update(sources)
    assert all(source.is_closed for source in sources)


class Ending:
    """A document whose end ends the page of another."""

    def __init__(self, pages: _Pages) -> None:
        self._pages, self.is_closed = pages, False

    def close(self) -> None:
        self.is_closed = True
        self._pages._open.discard(self)


def test_the_first_document_may_be_the_bad_one(talk) -> None:
    pages = talk(Reader()).every("ocr_iter", [b"", document(1)], on_error="return")
    assert [(page.source, page.number, page.finish_reason) for page in pages] == [
        (0, 0, "error"),
        (1, 1, "stop"),
    ]
