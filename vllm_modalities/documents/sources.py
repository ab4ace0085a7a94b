"""Documents whose pages are read one at a time: images, files of many images, PDFs."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .._sniff import ByteSource, Family, Opened, opened
from ..errors import MediaError
from .choosing import Ranges, among
from .reading import ImageSource, PageImage, array_image, decoded, named, open_image

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_FRAMES = 10_000  # a small file may claim any number, and each costs time to find


class Reader(Protocol):
    """A document that is open.

    Attributes:
        name: What a message calls it.
        is_animation: Whether its pages are the frames of one moving picture.
    """

    name: str
    is_animation: bool

    def count(self) -> int:
        """How many pages it has."""
        ...

    def page(self, number: int, dpi: float) -> PageImage:
        """The page of that number, from 1, a PDF's at so many pixels an inch."""
        ...

    def close(self) -> None: ...


class Source:
    """The pages of one document that are wanted, each read when it is asked for, by any thread.

    What it holds open is closed once each page was read, and opened again if need be.

    Attributes:
        numbers: The wanted pages, from 1, in the document's order.
        warnings: What was asked for and is not there, or is there and was not asked for.
    """

    def __init__(
        self,
        begin: Callable[[], Reader],
        lock: threading.Lock,
        wanted: Ranges | None,
        digest: Callable[[], str],
    ) -> None:
        self._begin, self._lock = begin, lock
        self._digest, self._digested = digest, ""
        self._reader: Reader | None
        with lock:
            reader = self._reader = begin()
            try:
                self.numbers, self.warnings = _chosen(reader, wanted)
            except BaseException:
                reader.close()
                raise
        self._unread = set(self.numbers)

    def read(self, number: int, *, dpi: float = 72) -> PageImage:
        """One page, a PDF's at `dpi` pixels an inch.

        Raises:
            MediaError: It is damaged, has no pixels or too many, or the file is gone.
        """
        with self._lock:
            self._reader = self._reader or self._begin()
            try:
                return self._reader.page(number, dpi)
            finally:
                self._unread.discard(number)
                if not self._unread:
                    self._close()

    def picture(self, number: int, dpi: float) -> Image:
        """The pixels of one page; raises as `read` does."""
        return self.read(number, dpi=dpi).image

    def digest(self) -> str:
        """What tells the document's content from any other; reads all of it, once."""
        with self._lock:
            self._digested = self._digested or self._digest()
            return self._digested

    @property
    def is_open(self) -> bool:
        """Whether a page is still to be read."""
        return self._reader is not None

    def close(self) -> None:
        """Let go of what is open."""
        if self.is_open:  # an event loop waits here for what is being rendered, if it must
            with self._lock:
                self._close()

    def _close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def source_of(
    given: ImageSource,
    *,
    pages: Ranges | None = None,
    password: str | None = None,
) -> Source:
    """What was given, as a document.

    Args:
        given: As for `read_image`, and PDFs.
        pages: Those that are wanted; None is every one, of an animation its first frame.
        password: Of a PDF that is encrypted.

    Raises:
        MediaError: There is no such file, it is no image and no PDF, has no such page, or the
            password is missing or wrong.
        ImportError: A PDF, and pypdfium2 is not installed.
    """
    from PIL import Image

    if isinstance(given, np.ndarray):
        given = array_image(given)
    if isinstance(given, Image.Image):
        picture = _Picture(given)
        return Source(lambda: picture, threading.Lock(), pages, picture.digest)
    with opened(given) as found:
        # An open file is read once; what is found in it can be opened again.
        again = given if not hasattr(given, "read") else found.file.read()
    begin: Callable[[], Reader] = partial(_Frames, again)
    lock = threading.Lock()
    if found.kind.family is Family.PDF:
        from .pdf import LOCK, Pdf

        begin, lock = partial(Pdf, again, found.name, password=password), LOCK
    return Source(begin, lock, pages, partial(_digest, again))


def _digest(given: ByteSource) -> str:
    with opened(given) as found:
        return hashlib.file_digest(found.file, "sha256").hexdigest()  # type: ignore[arg-type]


def _chosen(reader: Reader, wanted: Ranges | None) -> tuple[tuple[int, ...], tuple[str, ...]]:
    if wanted is None and reader.is_animation:
        message = "is an animation: only its first frame was read; `pages` chooses others."
        return (1,), (f"{reader.name} {message}",)
    count = reader.count()
    numbers, missing = among(wanted, count)
    has = f"{reader.name} has {count} page{'s' * (count != 1)}"
    if not numbers:
        raise MediaError(f"{has}, none of those that were asked for ({missing or 'all'}).")
    return numbers, (f"{has}: there is no page {missing}.",) if missing else ()


class _Picture:
    """An image that is in memory already."""

    name = "the image"
    is_animation = False

    def __init__(self, image: Image) -> None:
        self._image = image

    def count(self) -> int:
        return 1

    def page(self, number: int, dpi: float) -> PageImage:
        return decoded(self._image, self.name, number=number)

    def digest(self) -> str:
        shape = f"{self._image.mode} {self._image.size} ".encode()
        return hashlib.sha256(shape + self._image.tobytes()).hexdigest()

    def close(self) -> None:
        """Nothing is open."""


class _Frames:
    """An image file: a page, or several, or a moving picture."""

    def __init__(self, given: ByteSource) -> None:
        with ExitStack() as stack:
            found: Opened = stack.enter_context(opened(given))
            self._image, self._many = open_image(found)
            stack.callback(self._image.close)
            self.close = stack.pop_all().close
        self.name = named(found)
        self.is_animation = self._many and self._image.format != "TIFF"

    def count(self) -> int:
        """Counted by going there: `n_frames` would go on for minutes where a TIFF claims many."""
        if not self._many:
            return 1
        for frame in range(MOST_FRAMES + 1):
            try:
                self._image.seek(frame)
            except EOFError:
                return frame
            except Exception:  # as in `open_image`; a page that is damaged is one all the same
                if self._image.tell() != frame:
                    return frame + 1
        raise MediaError(f"{self.name} has more than {MOST_FRAMES:,} pages.")

    def page(self, number: int, dpi: float) -> PageImage:
        name = f"page {number} of {self.name}" if self._many else self.name
        try:
            if self._many:
                self._image.seek(number - 1)
        except Exception as error:
            raise MediaError(f"{name} is damaged: {error or type(error).__name__}") from error
        return decoded(self._image, name, number=number)
