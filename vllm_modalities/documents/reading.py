"""Read any image as an upright RGB page, the way a vision model sees it."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._sniff import Family, Opened, opened
from ..errors import MediaError

if TYPE_CHECKING:
    from PIL.Image import Image

# The server's own limit: vLLM v0.25.0, vllm/envs.py, VLLM_MAX_IMAGE_PIXELS.
MAX_PIXELS = 178_956_970
BAND = 1 << 20  # pixels whose greys are scaled at a time; as doubles, a page takes gigabytes
# Left out on purpose: EPS, which Pillow hands to Ghostscript, and TGA, which any bytes may be.
FORMATS = ("PNG", "JPEG", "MPO", "WEBP", "TIFF", "GIF", "BMP", "DIB", "PPM", "JPEG2000", "AVIF")

ImageSource: TypeAlias = "str | os.PathLike[str] | bytes | BinaryIO | Image"


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
        source: A path (str or PathLike), the bytes of a file, an open binary file, or a Pillow
            image, which stays as it is.

    Raises:
        MediaError: There is no such file, or it is no image, is cut or damaged, has no pixels or
            more than 178,956,970.
    """
    from PIL import Image

    if isinstance(source, Image.Image):
        return _page(source, "the image", warnings=())
    with opened(source) as given:
        if given.kind.family not in (Family.IMAGE, Family.UNKNOWN):
            raise MediaError(_refusal(given))
        image, many = _open(given)
        name = f"{given.name}, {given.kind},"
        doubts = (f"{name} holds more images: only the first was read.",) if many else ()
        return _page(image, name, warnings=doubts)


def to_data_url(image: Image) -> str:
    """`image` as a PNG in a `data:` URL; no pixel changes."""
    file = BytesIO()
    image.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _refusal(given: Opened) -> str:
    if given.kind.family is Family.PDF:
        return (
            f"{given.name} is a PDF, not an image. Render its pages to images; the extra `pdf` "
            "(`pip install vllm-modalities[pdf]`) is planned to do so."
        )
    return f"{given.name} is {given.kind}, not an image."


def _open(given: Opened) -> tuple[Image, bool]:
    """The image, not yet decoded, and whether more pages (TIFF) or pictures follow it."""
    from PIL import Image, UnidentifiedImageError

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


def _page(image: Image, name: str, *, warnings: tuple[str, ...]) -> PageImage:
    from PIL import ImageOps

    width, height = image.size
    if not width or not height:
        raise MediaError(f"{name} is {width}x{height}: it has no pixels.")
    if width * height > MAX_PIXELS:
        raise MediaError(
            f"{name} is {width}x{height}, which is {width * height:,} pixels. vLLM takes "
            f"{MAX_PIXELS:,} (VLLM_MAX_IMAGE_PIXELS); make it smaller."
        )
    try:
        image.load()
    except Exception as error:  # as in `_open`
        raise MediaError(f"{name} is cut or damaged; Pillow says: {error}") from error
    try:
        upright = ImageOps.exif_transpose(image)
    except Exception as error:  # damaged EXIF beside sound pixels
        upright = image
        warnings += (f"{name}: its EXIF orientation cannot be read ({error}).",)
    rgb = _rgb(upright, name)
    rgb.info.clear()  # PNG would carry a colour profile, and JPEG's EXIF, to the server
    return PageImage(rgb, warnings=warnings)


def _rgb(image: Image, name: str) -> Image:
    """A copy in mode RGB."""
    from PIL import Image

    if image.mode.startswith(("I", "F")):
        return Image.fromarray(_greys(np.asarray(image))).convert("RGB")
    try:
        if image.has_transparency_data:
            if image.mode == "La":  # Pillow has no direct way from premultiplied grey
                image = image.convert("LA")
            clear = image.convert("RGBA")
            white = Image.new("RGBA", clear.size, "white")
            return Image.alpha_composite(white, clear).convert("RGB")
        return image.convert("RGB") if image.mode != "RGB" else image.copy()
    except ValueError as error:
        raise MediaError(f"{name} is of mode {image.mode}, not RGB: {error}") from error


def _greys(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Greys of 16 or 32 bits or floats, shape (height, width), scaled to 0..255.

    White is 65,535 for 16 bits. Modes I and F do not say their white: it is the smallest of 1
    (floats only), 255, 65,535 and the image's own maximum that covers the image.
    """
    rows = max(1, BAND // values.shape[1])
    bands = [slice(top, top + rows) for top in range(0, len(values), rows)]

    def exact(band: slice) -> NDArray[np.float64]:
        return np.nan_to_num(values[band].astype(np.float64), nan=0.0)

    whites = {"u": (65_535,), "i": (255, 65_535), "f": (1, 255, 65_535)}[values.dtype.kind]
    peak = max(float(exact(band).max()) for band in bands)
    white = next((white for white in whites if white >= peak), peak)
    greys = np.empty(values.shape, np.uint8)
    for band in bands:
        greys[band] = np.rint(np.clip(exact(band) / white, 0, 1) * 255)
    return greys
