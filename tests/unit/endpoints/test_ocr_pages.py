"""`ocr` of documents of many pages: which are read, in what order, and what becomes of bad ones."""

from __future__ import annotations

import json
import re

import pytest
from _pages import SIZE, Ask, Reader, document, numbers_in, spoken
from _pdfs import pdf
from _script import BLOCKING, URL, Talker, status
from PIL import Image

from vllm_modalities import (
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    InvalidRequestError,
    MediaError,
    PartialFailureError,
)
from vllm_modalities._progress import pace

CHAT = "/v1/chat/completions"


def refused(ask: Ask, *numbers: int, code: int = 400):
    return status(code, f"no page {ask.number}")(None) if ask.number in numbers else spoken(ask)


def test_all_pages_come_in_their_order(talk) -> None:
    server = Reader()
    found = talk(server).ocr(document(9))
    assert [page.number for page in found] == list(range(1, 10))
    assert numbers_in(found.markdown) == list(range(1, 10))
    assert sorted(server.numbers) == list(range(1, 10))
    assert (found.warnings, found.failures) == ((), ())


def test_pages_go_out_side_by_side_and_no_more_than_allowed(talk) -> None:
    server = Reader()
    talk(server, max_concurrency=3).ocr(document(12))
    assert 1 < server.most_in_flight <= 3


def test_replicas_share_the_pages_of_a_document(talk) -> None:
    servers = {f"http://gpu{n}": Reader() for n in range(3)}
    talk(servers, max_concurrency=6).ocr(document(30))
    assert all(server.asks for server in servers.values())
    assert sorted(n for server in servers.values() for n in server.numbers) == [*range(1, 31)]


def test_only_the_pages_that_are_asked_for_are_read(talk) -> None:
    server = Reader()
    found = talk(server).ocr(document(9), pages="2-3,9,12")
    assert [page.number for page in found] == [2, 3, 9]
    assert sorted(server.numbers) == [2, 3, 9]
    assert "has 9 pages: there is no page 12" in found.warnings[0]


def test_a_choice_of_pages_that_reads_otherwise_is_refused_and_nothing_is_sent(talk) -> None:
    server = Reader()
    with pytest.raises(InvalidRequestError, match='"1-3,7"'):
        talk(server).ocr(document(2), pages="one")
    assert server.sent == []


@pytest.mark.parametrize(("dpi", "scale"), [(None, 2), (72, 1), (200, 200 / 72)])
def test_pages_of_a_pdf_are_rendered_as_the_model_or_the_caller_wants(talk, dpi, scale) -> None:
    server = Reader()
    found = talk(server).ocr(document(1), dpi=dpi)
    wanted = [round(side * scale) for side in SIZE]
    page = found.pages[0]
    assert [page.width, page.height] == pytest.approx(wanted, abs=1)
    assert server.asks[0].size == (page.width, page.height)
    assert page.image.size == (page.width, page.height)


def test_a_resolution_of_nothing_is_refused(talk) -> None:
    with pytest.raises(InvalidRequestError, match="dpi"):
        talk(Reader()).ocr(document(1), dpi=0)


def test_a_password_is_asked_for_before_anything_is_sent(talk) -> None:
    server = Reader()
    locked = pdf(2, password="secret")
    with pytest.raises(MediaError, match="give its `password`"):
        talk(server).ocr(locked)
    assert server.sent == []
    assert len(talk(server).ocr(locked, password="secret")) == 2


def test_the_picture_of_a_page_is_read_again_when_it_is_looked_at(talk, tmp_path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(document(2))
    found = talk(Reader()).ocr(path)
    assert found.page(2).image.getpixel((60, 40)) == (1, 1, 1)
    path.unlink()
    with pytest.raises(MediaError, match="no such file"):
        _ = found.page(2).image


@pytest.mark.parametrize("count", [2, 5])
def test_one_bad_page_does_not_lose_the_others(talk, count) -> None:
    server = Reader(answers=lambda ask: refused(ask, 2))
    with pytest.raises(PartialFailureError) as caught:
        talk(server).ocr(document(count))
    found = caught.value.results
    ((place, error),) = caught.value.failures
    assert (place, type(error)) == (1, BadRequestError)
    assert numbers_in(found.markdown) == [n for n in range(1, count + 1) if n != 2]
    bad = found.page(2)
    assert (bad.finish_reason, bad.markdown, len(found)) == ("error", "", count)
    assert "could not be read" in bad.warnings[0]
    assert bad.image is not None


def test_the_document_comes_with_its_failures_when_they_are_to_be_returned(talk) -> None:
    found = talk(Reader(answers=lambda ask: refused(ask, 1, 3))).ocr(document(4), on_error="return")
    assert [place for place, _ in found.failures] == [0, 2]
    assert numbers_in(found.markdown) == [2, 4]
    assert any(
        warning.startswith("page 3: the page could not be read") for warning in found.warnings
    )


def test_the_first_failure_ends_the_whole_when_it_is_to_be_raised(talk) -> None:
    server = Reader(answers=lambda ask: refused(ask, 1))
    with pytest.raises(BadRequestError, match="no page 1"):
        talk(server, max_concurrency=1).ocr(document(40), on_error="raise")
    assert server.numbers == [1]


def test_what_all_pages_share_is_raised_as_itself(talk) -> None:
    server = Reader(answers=lambda ask: refused(ask, *range(50), code=401))
    with pytest.raises(AuthenticationError):
        talk(server, max_concurrency=1).ocr(document(40))
    assert len(server.asks) == 1


def test_a_server_that_fails_every_page_is_not_asked_for_all_of_them(talk) -> None:
    server = Reader(answers=lambda ask: refused(ask, *range(50), code=500))
    with pytest.raises((PartialFailureError, InternalServerError)):
        talk(server, max_concurrency=1).ocr(document(40))
    assert len(server.asks) == 8


def test_the_error_of_the_only_page_is_raised_itself(talk) -> None:
    with pytest.raises(BadRequestError, match="no page 1"):
        talk(Reader(answers=lambda ask: refused(ask, 1))).ocr(document(1))


def test_a_page_that_the_file_claims_and_has_not_fails_alone(talk) -> None:
    damaged = document(3).replace(b"/Count 3", b"/Count 4")
    found = talk(Reader()).ocr(damaged, on_error="return")
    ((place, error),) = found.failures
    assert (place, type(error)) == (3, MediaError)
    assert numbers_in(found.markdown) == [1, 2, 3]


def test_progress_counts_pages(talk) -> None:
    told = []
    talk(Reader()).ocr(document(3), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_bar_tells_at_what_pace_pages_are_read(capsys) -> None:
    Talker(BLOCKING, Reader()).ocr(document(4), progress=True)
    shown = capsys.readouterr().out
    assert "pages" in shown
    assert re.search(r"4/4 [\d,]+ a (second|minute)", shown)


@pytest.mark.parametrize(
    ("speed", "said"), [(None, ""), (0.5, "30 a minute"), (1234.5, "1,234 a second")]
)
def test_a_pace_is_told_by_the_second_where_that_is_easier_to_read(speed, said) -> None:
    assert pace(speed) == said


def test_on_error_is_one_of_three(talk) -> None:
    with pytest.raises(InvalidRequestError, match="on_error"):
        talk(Reader()).ocr(document(1), on_error="ignore")


def test_the_servers_own_answers_come_in_the_order_of_the_pages() -> None:
    raw = Talker(BLOCKING, Reader(), keep_raw=True).ocr(document(3)).raw
    texts = [json.loads(one)["choices"][0]["message"]["content"] for one in raw]
    assert [numbers_in(text) for text in texts] == [[1], [2], [3]]


def test_warnings_of_one_page_of_many_say_which(talk) -> None:
    server = Reader(answers=lambda ask: (spoken(ask), "stop" if ask.number != 2 else "abort"))
    (warning,) = talk(server).ocr(document(3)).warnings
    assert warning == "page 2: the page is cut: the model did not end it by itself ('abort')"


def test_nothing_is_left_open_when_no_server_reads_pages(talk, monkeypatch) -> None:
    import pypdfium2

    ends = []
    close = pypdfium2.PdfDocument.close
    monkeypatch.setattr(
        pypdfium2.PdfDocument, "close", lambda self, **_: (ends.append(1), close(self))[1]
    )
    server = Reader()
    server.always(CHAT, status(401))
    with pytest.raises(AuthenticationError):
        talk(server, base_url=[URL]).ocr(document(20))
    assert ends


def test_frames_of_a_tiff_are_pages(talk, tmp_path) -> None:
    path = tmp_path / "a.tif"
    first, *others = (Image.new("RGB", SIZE, (n, n, n)) for n in range(3))
    first.save(path, save_all=True, append_images=others)
    assert numbers_in(talk(Reader()).ocr(path).markdown) == [1, 2, 3]
