"""Pixels of any kind as mode RGB: opacity, palettes, CMYK, greys of 16 bits and more, arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MediaError

if TYPE_CHECKING:
    from PIL.Image import Image

BAND = 1 << 20  # pixels whose greys are scaled at a time; as doubles, a page takes gigabytes


def rgb(image: Image, name: str) -> Image:
    """A copy in mode RGB, what is transparent laid on white.

    Raises:
        MediaError: Its pixels are no colours, such as those of a transparency mask.
    """
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


def image_of(array: NDArray[Any]) -> Image:
    """An array of pixels as an image.

    Args:
        array: Shape (height, width) or (height, width, channels), with 1 (grey), 2 (grey and
            opacity), 3 (RGB) or 4 channels (RGB and opacity), of booleans or numbers. Other than
            uint8, they are scaled as `_greys` says.

    Raises:
        MediaError: It is no such array.
    """
    from PIL import Image

    grey = array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array
    if not (grey.ndim == 2 or (grey.ndim == 3 and grey.shape[2] in (2, 3, 4))):
        raise MediaError(
            f"an array of shape {array.shape} is no image: (height, width) or (height, width,"
            " channels) with 1 to 4 channels is."
        )
    if grey.dtype.kind not in "buif":
        raise MediaError(f"an array of {grey.dtype} is no image: its pixels must be numbers.")
    if grey.dtype.kind == "b":
        grey = grey.astype(np.uint8) * 255
    return Image.fromarray(grey if grey.dtype == np.uint8 else _greys(grey))


def _greys(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels of 16 or 32 bits or floats, scaled to 0..255; shape (height, width, …).

    White is 65,535 for unsigned numbers. Others do not say their white: it is the smallest of 1
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
