"""Pages of a PDF as images, through pypdfium2 (extra `pdf`)."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._forks import not_forked_while_held
from .._sniff import ByteSource
from ..errors import MediaError
from .reading import PageImage

if TYPE_CHECKING:
    from PIL.Image import Image

LOCK = threading.Lock()
"""Held around every call: PDFium has no threads, also where they read different documents."""
not_forked_while_held(LOCK)

MOST_PIXELS = 50_000_000  # of a page; A0 at 144 dpi has 32 million, and no model reads as many
INCH = 72  # units of a PDF


class Pdf:
    """A PDF that is open; `LOCK` must be held.

    Args:
        given: A path or the bytes of a file.
        name: What a message calls it.
        password: None where it needs none.

    Raises:
        MediaError: It cannot be opened.
    """

    is_animation = False

    def __init__(self, given: ByteSource, name: str, *, password: str | None) -> None:
        pdfium = _pdfium()
        self.name = f"{name}, a PDF,"
        try:
            self._pdf = pdfium.PdfDocument(_input(given), password=password)
        except FileNotFoundError as error:
            raise MediaError(f"{name}: no such file.") from error
        except pdfium.PdfiumError as error:
            raise MediaError(f"{self.name} {_reason(error, password)}") from error
        self._pdf.init_forms()  # or what was filled into a form is not drawn
        self.close = self._pdf.close

    def count(self) -> int:
        return len(self._pdf)

    def page(self, number: int, dpi: float) -> PageImage:
        """One page, at fewer dots an inch where it would have more than 50 million pixels."""
        name = f"page {number} of {self.name}"
        try:
            return self._rendered(number, dpi, name)
        except (RuntimeError, ArithmeticError, MemoryError) as error:  # the first is PdfiumError
            raise MediaError(f"{name} cannot be rendered: {error}") from error

    def _rendered(self, number: int, wanted: float, name: str) -> PageImage:
        page = self._pdf[number - 1]
        try:
            width, height = page.get_size()
            dpi = min(wanted, INCH * (MOST_PIXELS / (width * height)) ** 0.5)
            image = _image(page, dpi / INCH)
        finally:
            page.close()
        doubts = (f"{name} is large: rendered at {dpi:.3g} dpi.",) if dpi < wanted else ()
        return PageImage(image, number, doubts)


def _image(page: Any, scale: float) -> Image:
    bitmap = page.render(scale=scale, rev_byteorder=True)
    try:
        image: Image = bitmap.to_pil()
        return image  # a copy: only images of four channels share the buffer
    finally:
        bitmap.close()


def _pdfium() -> Any:
    try:
        import pypdfium2
    except ImportError:
        raise ImportError(
            "PDFs are read with pypdfium2: pip install 'vllm-modalities[pdf]'"
        ) from None
    return pypdfium2


def _input(given: ByteSource) -> Path | bytes:
    """As pypdfium2 takes it, which would read `~` as a home."""
    if isinstance(given, str | os.PathLike):
        return Path(given).absolute()
    return bytes(given)  # type: ignore[arg-type]


def _reason(error: Any, password: str | None) -> str:
    from pypdfium2 import raw

    match error.err_code:
        case raw.FPDF_ERR_PASSWORD if password is None:
            return "is encrypted: give its `password`."
        case raw.FPDF_ERR_PASSWORD:
            return "is encrypted, and `password` does not open it."
        case raw.FPDF_ERR_SECURITY:
            return "is encrypted in a way that PDFium does not know."
        case _:
            return f"is damaged, or has no pages: {error}"
