"""Read one image as an upright RGB page, the way a vision model sees it."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._sniff import Family, Opened, opened
from ..errors import MediaError
from .pixels import image_of, rgb

if TYPE_CHECKING:
    from PIL.Image import Image

# The server's own limit: vLLM v0.25.0, vllm/envs.py, VLLM_MAX_IMAGE_PIXELS.
MAX_PIXELS = 178_956_970
LEVEL = 3  # of PNG: pages of text are no larger than at 6, and take 40 % less time
GRAIN = 32  # greys that empty paper may span
# Left out on purpose: EPS, which Pillow hands to Ghostscript, and TGA, which any bytes may be.
FORMATS = ("PNG", "JPEG", "MPO", "WEBP", "TIFF", "GIF", "BMP", "DIB", "PPM", "JPEG2000", "AVIF")

ImageSource: TypeAlias = "str | os.PathLike[str] | bytes | BinaryIO | Image | NDArray[Any]"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PageImage:
    """One page as pixels.

    Attributes:
        image: Mode RGB, upright, fully decoded, without metadata.
        number: Its place in the document, from 1.
        warnings: What is doubtful about the file it came from.
    """

    image: Image
    number: int = 1
    warnings: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Pixels from left to right."""
        return self.image.width

    @property
    def height(self) -> int:
        """Pixels from top to bottom."""
        return self.image.height

    def __repr__(self) -> str:
        return f"PageImage({self.number}: {self.width}x{self.height})"


def read_image(source: ImageSource) -> PageImage:
    """Decode `source`, turn it upright and make it RGB.

    EXIF orientation is applied, transparency is laid on white (as DeepSeek-OCR and dots.ocr do),
    and 16-bit greys are scaled, not cut off.

    Args:
        source: A path (str or PathLike), the bytes of a file, an open binary file, a Pillow
            image, which stays as it is, or a numpy array as `pixels.image_of` takes it.

    Raises:
        MediaError: There is no such file, or it is no image, is cut or damaged, has no pixels or
            more than 178,956,970.
    """
    from PIL import Image

    if isinstance(source, np.ndarray):
        source = array_image(source)
    if isinstance(source, Image.Image):
        return decoded(source, "the image")
    with opened(source) as given:
        image, many = open_image(given)
        name = named(given)
        doubts = (f"{name} holds more images: only the first was read.",) if many else ()
        return decoded(image, name, warnings=doubts)


def array_image(array: NDArray[Any]) -> Image:
    """An array of pixels as an image.

    Raises:
        MediaError: It is none, or has too many pixels.
    """
    if array.ndim >= 2:
        _bearable(array.shape[1], array.shape[0], "the array")
    return image_of(array)


def named(given: Opened) -> str:
    """What a message about its content begins with."""
    return f"{given.name}, {given.kind},"


def to_data_url(image: Image) -> str:
    """`image` as a PNG in a `data:` URL; no pixel changes."""
    file = BytesIO()
    image.save(file, "PNG", compress_level=LEVEL)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def is_blank(image: Image) -> bool:
    """Whether a page has nothing on it: no grey differs from another by more than scanners do."""
    greys = np.asarray(image.convert("L"))
    return int(greys.max()) - int(greys.min()) <= GRAIN


def open_image(given: Opened) -> tuple[Image, bool]:
    """The image, not yet decoded, and whether more pages (TIFF) or pictures follow it.

    Raises:
        MediaError: It is no image, is damaged, or has too many pixels.
    """
    from PIL import Image, UnidentifiedImageError

    if given.kind.family not in (Family.IMAGE, Family.UNKNOWN):
        cure = "; `ocr` reads its pages" * (given.kind.family is Family.PDF)
        raise MediaError(f"{given.name} is {given.kind}, not an image{cure}.")
    Image.init()
    try:
        image = Image.open(given.file, formats=[name for name in FORMATS if name in Image.OPEN])
        # MPO is a camera's JPEG: its second picture is a preview or a depth map. To count them all
        # would take minutes where a small TIFF claims many.
        return image, image.format != "MPO" and bool(getattr(image, "is_animated", False))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise MediaError(f"{given.name} ({given.kind}) has too many pixels: {error}") from error
    except UnidentifiedImageError as error:
        raise MediaError(
            f"{given.name} is {given.kind}, but no image that Pillow can open: cut, damaged, or of "
            "a format it does not read."
        ) from error
    except Exception as error:  # its parsers raise SyntaxError, struct.error, IndexError and others
        raise MediaError(f"{given.name} is {given.kind}, but damaged: {error}") from error


def decoded(
    image: Image, name: str, *, number: int = 1, warnings: tuple[str, ...] = ()
) -> PageImage:
    """`image` as a page; what is given stays as it is.

    Raises:
        MediaError: It is cut or damaged, has no pixels, too many, or none that are colours.
    """
    from PIL import ImageOps

    _bearable(*image.size, name)
    try:
        image.load()
    except Exception as error:  # as in `open_image`
        raise MediaError(f"{name} is cut or damaged; Pillow says: {error}") from error
    try:
        upright = ImageOps.exif_transpose(image)
    except Exception as error:  # damaged EXIF beside sound pixels
        upright = image
        warnings += (f"{name}: its EXIF orientation cannot be read ({error}).",)
    plain = rgb(upright, name)
    plain.info.clear()  # PNG would carry a colour profile, and JPEG's EXIF, to the server
    return PageImage(plain, number, warnings)


def _bearable(width: int, height: int, name: str) -> None:
    if not width or not height:
        raise MediaError(f"{name} is {width}x{height}: it has no pixels.")
    if width * height > MAX_PIXELS:
        raise MediaError(
            f"{name} is {width}x{height}, which is {width * height:,} pixels. vLLM takes "
            f"{MAX_PIXELS:,} (VLLM_MAX_IMAGE_PIXELS); make it smaller."
        )
