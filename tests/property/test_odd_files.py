"""Files that are damaged or odd give pages or a `MediaError`: 500 of them, made here."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from _pdfs import pdf
from PIL import Image

from vllm_modalities.documents.reading import MAX_PIXELS
from vllm_modalities.documents.sources import source_of
from vllm_modalities.errors import MediaError

FORMATS = ("PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP", "PPM", "JPEG2000", "AVIF")
NOISE = Image.fromarray(np.random.default_rng(3).integers(0, 255, (40, 60, 3), dtype=np.uint8))


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_bomb(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes(1000))
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def sound() -> Iterator[tuple[str, bytes]]:
    """Files that are as they should be, in shapes and modes that are rare."""
    for kind in FORMATS:
        yield f"{kind} noise", saved(NOISE, kind)
        for size in ((1, 1), (1, 999), (30_000 if kind != "WEBP" else 16_000, 10)):
            if kind != "AVIF":
                yield f"{kind} {size}", saved(Image.new("RGB", size, "red"), kind)
    for kind in ("JPEG", "TIFF"):
        yield f"{kind} CMYK", saved(NOISE.convert("CMYK"), kind)
    for kind in ("PNG", "TIFF"):
        for mode in ("1", "L", "LA", "P", "RGBA", "I;16"):
            given = NOISE.convert("L").convert(mode)
            yield f"{kind} {mode}", saved(given, kind)
    yield "PNG clear palette", saved(NOISE.quantize(9), "PNG", transparency=3)
    others = [NOISE.rotate(180), NOISE.convert("1").convert("RGB")]
    for kind in ("TIFF", "GIF", "WEBP", "PNG"):
        yield f"{kind} of three", saved(NOISE, kind, save_all=True, append_images=others)


def sound_pdfs() -> Iterator[tuple[str, bytes]]:
    for pages in (1, 2, 30):
        yield f"PDF of {pages}", pdf(pages)
    for size in ((1, 1), (14_400, 14_400), (99_999, 1), (0.01, 0.01), (-5, -5)):
        yield f"PDF {size}", pdf(size=size)
    for turn in (90, 180, 270, 45):
        yield f"PDF turned {turn}", pdf(rotate=turn)


def odd() -> Iterator[tuple[str, bytes]]:
    """Files that promise what they have not."""
    yield "nothing", b""
    yield "PDF without pages", pdf(0)
    yield "PDF with a password", pdf(password="secret")
    yield "PDF with a circle", pdf(2).replace(b"/Kids [4 0 R", b"/Kids [2 0 R")
    yield "PDF with another count", pdf(2).replace(b"/Count 2", b"/Count 9")
    yield "PDF with a vast count", pdf(1).replace(b"/Count 1", b"/Count 99")
    for size in ((60_000, 60_000), (2**31 - 1, 2**31 - 1), (0, 5), (20_000, 9_000)):
        yield f"PNG bomb {size}", png_bomb(*size)
    jpeg = bytearray(saved(NOISE, "JPEG"))
    place = jpeg.index(b"\xff\xc0")
    jpeg[place + 5 : place + 9] = b"\xff\xff\xff\xff"
    yield "JPEG bomb", bytes(jpeg)
    gif = bytearray(saved(NOISE, "GIF"))
    gif[6:10] = b"\xff\xff\xff\xff"
    yield "GIF bomb", bytes(gif)
    for text in (
        b"%PDF-",
        b"%PDF-1.7\n%%EOF",
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n",
        b"II*\0",
        b"P6 9 9",
    ):
        yield f"head {text!r}", text


def damaged() -> Iterator[tuple[str, bytes]]:
    """Files that are cut, or in which bytes have changed."""
    chance = random.Random(11)
    whole = {kind: saved(NOISE, kind) for kind in FORMATS}
    others = [NOISE.rotate(90, expand=True)]
    whole["TIFF of two"] = saved(NOISE, "TIFF", save_all=True, append_images=others)
    whole |= {"PDF": pdf(3), "locked PDF": pdf(2, password="secret")}
    for kind, content in whole.items():
        for part in range(1, 16):
            yield f"{kind} cut at {part}/16", content[: len(content) * part // 16]
        for n in range(20):
            spoilt = bytearray(content)
            for _ in range(chance.choice((1, 3, 20))):
                spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
            yield f"{kind} spoilt {n}", bytes(spoilt)


SOUND = dict([*sound(), *sound_pdfs()])
FILES = SOUND | dict([*odd(), *damaged()])


def test_there_are_enough_of_them() -> None:
    assert len(FILES) > 500


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_pages_or_says_what_is_wrong(name: str) -> None:
    pages = []
    with suppress(MediaError):
        source = source_of(FILES[name])
        assert source.numbers
        for number in source.numbers[:3]:
            with suppress(MediaError):
                pages.append(source.read(number, dpi=36))
        source.close()
    for page in pages:
        assert page.image.mode == "RGB"
        assert 1 <= page.width * page.height <= MAX_PIXELS


@pytest.mark.parametrize("name", SOUND)
def test_what_is_as_it_should_be_is_read(name: str) -> None:
    source = source_of(FILES[name])
    assert all(source.read(number, dpi=36).image for number in source.numbers[:3])
    source.close()
