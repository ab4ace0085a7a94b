from __future__ import annotations

import base64
import io
import pathlib
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms

from vllm_modalities.documents import reading
from vllm_modalities.documents.reading import PageImage, read_image, to_data_url
from vllm_modalities.errors import MediaError

NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 255, (60, 90, 3), dtype=np.uint8))


def saved(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def pixel(source: Any) -> tuple[int, int, int]:
    page = read_image(source)
    assert page.image.mode == "RGB"
    found = page.image.getpixel((0, 0))
    assert isinstance(found, tuple)
    return found[0], found[1], found[2]


@pytest.mark.parametrize(
    "kind", ["PNG", "JPEG", "WEBP", "TIFF", "GIF", "BMP", "PPM", "JPEG2000", "AVIF"]
)
def test_each_format_gives_a_page_of_the_same_size(kind: str) -> None:
    page = read_image(saved(NOISE, kind))
    assert (page.image.mode, page.width, page.height) == ("RGB", 90, 60)
    assert (page.number, page.warnings) == (1, ())


def test_paths_bytes_files_and_images_give_the_same(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "page.png"
    path.write_bytes(saved(NOISE))
    for source in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes()), NOISE):
        assert read_image(source).image.tobytes() == NOISE.tobytes()


def test_a_given_image_stays_as_it_is() -> None:
    given = NOISE.copy()
    given.info["note"] = "kept"
    page = read_image(given)
    page.image.putpixel((0, 0), (1, 2, 3))
    assert given.info == {"note": "kept"}
    assert given.tobytes() == NOISE.tobytes()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    page = read_image(saved(NOISE, "JPEG", exif=exif, quality=95))
    assert (page.width, page.height) == ((60, 90) if orientation > 4 else (90, 60))
    assert page.image.getexif().get(0x0112) is None


def test_damaged_exif_leaves_the_image_as_it_is_and_tells_so() -> None:
    page = read_image(saved(NOISE, exif=b"Exif\0\0no TIFF header"))
    assert page.image.tobytes() == NOISE.tobytes()
    assert "EXIF orientation cannot be read (not a TIFF file" in page.warnings[0]


def test_no_metadata_is_sent() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    url = to_data_url(read_image(saved(NOISE, icc_profile=profile)).image)
    sent = Image.open(io.BytesIO(base64.b64decode(url.split(",")[1])))
    assert sent.info == {}


@pytest.mark.parametrize(
    "image",
    [
        Image.new("RGBA", (2, 2), (255, 0, 0, 0)),
        Image.new("LA", (2, 2), (0, 0)),
        Image.new("RGBA", (2, 2), (255, 0, 0, 0)).quantize(4),
        Image.new("RGBa", (2, 2), (0, 0, 0, 0)),
        Image.new("La", (2, 2), (0, 0)),
    ],
    ids=lambda image: image.mode,
)
def test_what_is_clear_becomes_white(image: Image.Image) -> None:
    assert pixel(image) == (255, 255, 255)


def test_half_clear_black_becomes_grey() -> None:
    assert pixel(Image.new("RGBA", (2, 2), (0, 0, 0, 128))) == (127, 127, 127)


def test_a_colour_named_clear_in_a_png_becomes_white() -> None:
    content = saved(Image.new("RGB", (2, 2), (0, 255, 0)), transparency=(0, 255, 0))
    assert pixel(content) == (255, 255, 255)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (Image.new("1", (2, 2), 1), (255, 255, 255)),
        (Image.new("L", (2, 2), 90), (90, 90, 90)),
        (Image.new("CMYK", (2, 2), (0, 255, 255, 0)), (255, 0, 0)),
        (Image.new("RGB", (2, 2), (10, 20, 200)).quantize(4), (10, 20, 200)),
        (Image.new("HSV", (2, 2), (0, 255, 255)), (255, 0, 0)),
        (Image.new("I", (2, 2), 200), (200, 200, 200)),
        (Image.new("I", (2, 2), 65_535), (255, 255, 255)),
        (Image.new("I", (2, 2), 2**30), (255, 255, 255)),
        (Image.new("I", (2, 2), -5), (0, 0, 0)),
        (Image.new("F", (2, 2), 0.5), (128, 128, 128)),
        (Image.new("F", (2, 2), 128.0), (128, 128, 128)),
        (Image.new("F", (2, 2), float("nan")), (0, 0, 0)),
    ],
    ids=lambda value: value.mode if isinstance(value, Image.Image) else "",
)
def test_other_modes_become_rgb(image: Image.Image, expected: tuple[int, int, int]) -> None:
    assert pixel(image) == expected


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_16_bit_greys_are_scaled_not_cut_off(kind: str) -> None:
    ramp = np.arange(0, 65_536, 257, dtype=np.uint16).reshape(16, 16)
    page = read_image(saved(Image.fromarray(ramp), kind))
    assert np.asarray(page.image)[..., 0].ravel().tolist() == list(range(256))


def test_a_dark_16_bit_page_stays_dark() -> None:
    assert pixel(Image.fromarray(np.full((2, 2), 200, np.uint16))) == (1, 1, 1)


def test_a_mode_that_cannot_be_shown_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Image.Image, mode: str) -> Image.Image:
        raise ValueError(f"no way to {mode}")

    monkeypatch.setattr(Image.Image, "convert", refuse)
    with pytest.raises(MediaError, match="is of mode LAB, not RGB: no way to RGB"):
        read_image(Image.new("LAB", (2, 2)))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is an empty file, not an image"),
        (b"<html>Not found", "is text beginning '<html>Not found', not an image"),
        (b"%PDF-1.7", "is a PDF, not an image; `ocr` reads its pages"),
        (b"fLaC\0\0\0\x22", "is a FLAC file, not an image"),
        (b"PK\x03\x04", "is a ZIP archive, not an image"),
        (b"\0\x01" * 30, "is binary data beginning 0x0001.*no image that Pillow can open"),
        (saved(NOISE)[:30], "is a PNG image, but no image that Pillow can open: cut"),
    ],
)
def test_other_files_are_named(content: bytes, said: str) -> None:
    with pytest.raises(MediaError, match=said):
        read_image(content)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF", "GIF", "BMP", "PPM", "JPEG2000"])
def test_half_an_image_is_refused(kind: str) -> None:
    content = saved(NOISE, kind)
    with pytest.raises(MediaError, match=r"cut|damaged"):
        read_image(content[: len(content) // 2])


def test_an_image_damaged_so_that_its_parser_breaks_is_refused() -> None:
    content = saved(NOISE, "AVIF")
    with pytest.raises(MediaError, match="an AVIF image, is cut or damaged; Pillow says"):
        read_image(content[:-1])


def test_a_decompression_bomb_is_refused_before_it_is_decoded() -> None:
    header = bytearray(saved(Image.new("1", (1, 1)), "BMP"))
    header[18:26] = (30_000).to_bytes(4, "little") * 2
    with pytest.raises(MediaError, match="has too many pixels: Image size"):
        read_image(bytes(header))


def test_a_huge_image_is_refused_even_where_pillow_was_told_to_take_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "MAX_PIXELS", 90 * 60 - 1)
    with pytest.raises(MediaError, match=r"90x60, which is 5,400 pixels\. vLLM takes 5,399"):
        read_image(NOISE)


def test_an_image_without_pixels_is_refused() -> None:
    with pytest.raises(MediaError, match="the image is 0x5: it has no pixels"):
        read_image(Image.new("RGB", (0, 5)))


@pytest.mark.parametrize("kind", ["TIFF", "GIF"])
def test_further_pages_are_told(kind: str) -> None:
    content = saved(NOISE, kind, save_all=True, append_images=[NOISE.rotate(180), NOISE.rotate(90)])
    assert "holds more images: only the first was read" in read_image(content).warnings[0]


def test_a_camera_preview_is_no_page() -> None:
    content = saved(NOISE, "MPO", save_all=True, append_images=[NOISE])
    assert read_image(content).warnings == ()


def test_the_data_url_holds_every_pixel() -> None:
    head, _, body = to_data_url(NOISE).partition(",")
    assert head == "data:image/png;base64"
    assert Image.open(io.BytesIO(base64.b64decode(body))).tobytes() == NOISE.tobytes()


def test_a_page_shows_its_size_not_its_pixels() -> None:
    assert repr(PageImage(NOISE, 3)) == "PageImage(3: 90x60)"


RAMP = np.linspace(0, 1, 12).reshape(3, 4)
EIGHT = np.rint(RAMP * 255).astype(np.uint8)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (EIGHT, EIGHT),
        (EIGHT[:, :, None], EIGHT),
        ((RAMP * 65_535).astype(np.uint16), EIGHT),
        (RAMP, EIGHT),
        (RAMP.astype(np.float16), EIGHT),
        (EIGHT.astype(np.int64), EIGHT),
        (RAMP > 0.5, np.uint8(RAMP > 0.5) * 255),
        (np.stack([EIGHT, EIGHT * 0 + 255], 2), EIGHT),
        (np.stack([EIGHT] * 3, 2), EIGHT),
        (np.stack([RAMP] * 3, 2), EIGHT),
        (np.stack([EIGHT, EIGHT, EIGHT, EIGHT * 0], 2), EIGHT * 0 + 255),
    ],
    ids=lambda array: f"{array.dtype} {array.shape}",
)
def test_an_array_is_a_page(array: np.ndarray, expected: np.ndarray) -> None:
    found = np.asarray(read_image(array).image).astype(int)
    assert np.abs(found - expected[:, :, None]).max() <= 1


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros(3), r"shape \(3,\) is no image"),
        (np.zeros((2, 2, 5)), "1 to 4 channels"),
        (np.zeros((1, 2, 2, 3)), "1 to 4 channels"),
        (np.zeros((0, 5)), "5x0: it has no pixels"),
        (np.array([["a"]]), "<U1 is no image"),
        (np.broadcast_to(np.uint8(0), (20_000, 20_000)), "400,000,000 pixels"),
    ],
    ids=lambda value: str(value.shape) if isinstance(value, np.ndarray) else "",
)
def test_an_array_that_is_no_page_says_why(array: np.ndarray, said: str) -> None:
    with pytest.raises(MediaError, match=said):
        read_image(array)
