"""Documents of any kind, page by page."""

from __future__ import annotations

import io
import pathlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from _pdfs import pdf
from PIL import Image, TiffImagePlugin

from vllm_modalities.documents import pdf as pdfs
from vllm_modalities.documents import sources
from vllm_modalities.documents.choosing import ranges
from vllm_modalities.documents.sources import Source, source_of
from vllm_modalities.errors import MediaError

COLOURS = [(200, 0, 0), (0, 200, 0), (0, 0, 200)]


def frames(kind: str, **options: Any) -> bytes:
    """Three pictures of 40x30, 41x30 … where the format lets them differ, each of one colour."""
    grows = kind == "TIFF"
    images = [Image.new("RGB", (40 + n * grows, 30), one) for n, one in enumerate(COLOURS)]
    file = io.BytesIO()
    images[0].save(file, kind, save_all=True, append_images=images[1:], **options)
    return file.getvalue()


def opened(given: Any, pages: Any = None, **options: Any) -> Source:
    return source_of(given, pages=ranges(pages), **options)


def colour(source: Source, number: int) -> Any:
    return source.read(number).image.getpixel((5, 5))


def test_an_image_is_a_document_of_one_page(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "page.png"
    picture = Image.new("RGB", (7, 5), "red")
    picture.save(path)
    given = (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes()), picture)
    for one in (*given, np.asarray(picture)):
        source = opened(one)
        page = source.read(1)
        assert (source.numbers, source.warnings) == ((1,), ())
        assert (page.number, page.image.mode, page.image.tobytes()) == (1, "RGB", picture.tobytes())


def test_each_picture_of_a_tiff_is_a_page_of_its_own_size() -> None:
    source = opened(frames("TIFF"))
    assert source.numbers == (1, 2, 3)
    pages = [source.read(number) for number in (3, 1, 2)]
    assert [(page.number, page.width) for page in pages] == [(3, 42), (1, 40), (2, 41)]
    assert [page.image.getpixel((5, 5)) for page in pages] == [COLOURS[n] for n in (2, 0, 1)]
    assert colour(source, 2) == COLOURS[1]  # again, when all were read and it is closed


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate", "jpeg"])
def test_a_tiff_of_any_compression_is_read_page_by_page(compression: str) -> None:
    source = opened(frames("TIFF", compression=compression), "2-3")
    found = np.array([colour(source, number) for number in source.numbers])
    assert source.numbers == (2, 3)
    assert np.abs(found - COLOURS[1:]).max() < 9


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_is_read_unless_others_are_asked_for(kind: str) -> None:
    content = frames(kind, **({"lossless": True} if kind == "WEBP" else {}))
    first = opened(content)
    (warning,) = first.warnings
    assert first.numbers == (1,)
    assert warning.endswith("only its first frame was read; `pages` chooses others.")
    assert colour(first, 1) == COLOURS[0]
    others = opened(content, "2-")
    assert (others.numbers, others.warnings) == ((2, 3), ())
    assert [colour(others, number) for number in (3, 2)] == [COLOURS[2], COLOURS[1]]


def test_a_pdf_is_rendered_at_the_resolution_that_is_asked_for() -> None:
    for dpi in (72, 144, 200):
        page = opened(pdf(2)).read(2, dpi=dpi)
        scale = dpi / 72
        pixels = np.asarray(page.image)
        assert abs(page.width - 200 * scale) <= 1
        assert abs(page.height - 100 * scale) <= 1
        rows, columns = np.nonzero((pixels < 99).all(axis=2))
        ends = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
        assert np.abs(np.array(ends) - np.array([20, 10, 60, 40]) * scale).max() <= 1
        assert pixels.max() == 255


def test_a_rotated_page_of_a_pdf_stands_upright() -> None:
    page = opened(pdf(rotate=90)).read(1)
    assert (page.width, page.height) == (100, 200)


def test_pages_of_a_pdf_come_from_paths_and_bytes_alike(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "~report.pdf"
    path.write_bytes(pdf(3))
    for given in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes())):
        source = opened(given, "2-3")
        assert [np.asarray(source.read(n).image).min() for n in source.numbers] == [1, 2]


def test_what_was_filled_into_a_form_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """PDFium draws fields only after `init_forms`, and only for documents that have a form."""
    import pypdfium2

    begun = []
    monkeypatch.setattr(pypdfium2.PdfDocument, "init_forms", lambda self: begun.append(len(self)))
    opened(pdf(3)).close()
    assert begun == [3]


def test_a_page_that_would_be_vast_is_rendered_smaller_and_says_so() -> None:
    page = opened(pdf(size=(14_400, 14_400))).read(1, dpi=300)
    assert page.width * page.height <= 50_100_000
    assert "is large: rendered at 35.4 dpi" in page.warnings[0]


@pytest.mark.parametrize(
    ("password", "words"),
    [(None, "is encrypted: give its `password`"), ("wrong", "`password` does not open it")],
)
def test_an_encrypted_pdf_says_what_it_wants(password: str | None, words: str) -> None:
    with pytest.raises(MediaError, match=words) as caught:
        opened(pdf(password="secret"), password=password)
    assert "wrong" not in str(caught.value)


def test_the_password_opens_an_encrypted_pdf() -> None:
    locked, free = opened(pdf(password="secret"), password="secret"), opened(pdf())
    assert locked.read(1).image.tobytes() == free.read(1).image.tobytes()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"%PDF-1.4\n", "is damaged"),
        (pdf(0), "has no pages"),
        (pdf()[:150], "is damaged"),
        (b"PK\3\4", "a ZIP archive, not an image"),
        (b"", "an empty file"),
    ],
    ids=["head alone", "no pages", "cut", "archive", "nothing"],
)
def test_what_is_no_document_says_what_it_is(content: bytes, words: str) -> None:
    with pytest.raises(MediaError, match=words):
        opened(content)


def test_an_unknown_handler_of_passwords_is_named() -> None:
    content = pdf(password="secret").replace(b"/Standard", b"/Whatever")
    with pytest.raises(MediaError, match="in a way that PDFium does not know"):
        opened(content, password="secret")


def test_a_page_whose_size_is_none_is_rendered_as_pdfium_thinks_best() -> None:
    content = pdf(2).replace(b"[0 0 200 100]", b"[0 0 0 0]    ", 1)
    page = opened(content).read(1)
    assert (page.width, page.height) == (612, 792)


def test_a_page_that_pdfium_refuses_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(page: Any, scale: float) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(pdfs, "_image", refused)
    with pytest.raises(MediaError, match=r"page 1 of .* cannot be rendered: out of memory"):
        opened(pdf()).read(1)


def test_a_file_that_is_gone_or_has_changed_is_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(pdf())
    source = opened(path)
    source.close()
    path.unlink()
    with pytest.raises(MediaError, match=r"report\.pdf'?: no such file"):
        source.read(1)


@pytest.mark.parametrize("given", [pdf(2), frames("TIFF"), Image.new("RGB", (3, 3))])
def test_pages_that_are_not_there_are_named_or_refused(given: Any) -> None:
    source = opened(given, "1,50-60")
    assert source.numbers == (1,)
    assert "there is no page 50-60." in source.warnings[0]
    with pytest.raises(MediaError, match="none of those that were asked for"):
        opened(given, "77")


def test_without_pypdfium2_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(ImportError, match=r"pip install 'vllm-modalities\[pdf\]'"):
        opened(pdf())


def test_nothing_stays_open_when_all_pages_were_read_or_it_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import pypdfium2

    ends = []
    close = pypdfium2.PdfDocument.close
    monkeypatch.setattr(
        pypdfium2.PdfDocument, "close", lambda self, **_: (ends.append(1), close(self))[1]
    )
    source = opened(pdf(2))
    source.read(1)
    assert ends == []
    source.read(2)
    assert len(ends) == 1
    source.close()
    source.read(1)
    assert len(ends) == 2
    opened(pdf(2)).close()
    assert len(ends) == 3


def test_what_another_thread_closes_meanwhile_stays_closed(monkeypatch) -> None:
    source = opened(pdf())
    source.close()
    monkeypatch.setattr(Source, "is_open", True)  # as it was when this thread looked
    source.close()
    assert source.read(1).width == 200


def test_many_threads_read_the_pages_of_many_documents() -> None:
    documents = [opened(pdf(9)) for _ in range(3)] + [opened(frames("TIFF"))]
    wanted = [(source, number) for source in documents for number in source.numbers]
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda one: one[0].read(one[1]), wanted))
    assert [page.number for page in pages] == [number for _, number in wanted]
    greys = [int(np.asarray(page.image).min()) for page in pages[:27]]
    assert greys == [*range(9)] * 3


def directory(content: bytes, frame: int) -> int:
    """Where that frame of a TIFF is described."""
    with Image.open(io.BytesIO(content)) as image:
        assert isinstance(image, TiffImagePlugin.TiffImageFile)
        image.seek(frame)
        return int(image._frame_pos[frame])


def test_a_damaged_page_of_a_tiff_fails_alone() -> None:
    content = bytearray(frames("TIFF"))
    colours = content.index(b"\6\1\3\0\1\0\0\0", directory(bytes(content), 1))
    content[colours + 8] = 99  # what its numbers mean: nothing that is known
    source = opened(bytes(content))
    assert source.numbers == (1, 2, 3)
    assert [colour(source, number) for number in (1, 3)] == [COLOURS[0], COLOURS[2]]
    with pytest.raises(MediaError, match="page 2 of"):
        source.read(2)


def test_a_tiff_that_is_cut_has_the_pages_before_and_one_that_fails() -> None:
    content = frames("TIFF")
    source = opened(content[: directory(content, 2) + 1])
    assert source.numbers == (1, 2, 3)
    assert colour(source, 1) == COLOURS[0]
    with pytest.raises(MediaError, match="page 3 of"):
        source.read(3)


def test_a_file_that_claims_too_many_pages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_FRAMES", 2)
    with pytest.raises(MediaError, match="more than 2 pages"):
        opened(frames("TIFF"))
    monkeypatch.setattr(sources, "MOST_FRAMES", 3)
    assert opened(frames("TIFF")).numbers == (1, 2, 3)


def test_pdfium_is_never_called_by_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most, lock = 0, 0, threading.Lock()
    rendered = pdfs.Pdf._rendered

    def watched(self: Any, *arguments: Any) -> Any:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        try:
            return rendered(self, *arguments)
        finally:
            with lock:
                inside -= 1

    monkeypatch.setattr(pdfs.Pdf, "_rendered", watched)
    documents = [opened(pdf(5)) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: documents[n % 4].read(1 + n // 4), range(20)))
    assert most == 1
