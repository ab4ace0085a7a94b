"""Writes the seeds that are files: `PYTHONPATH=tests python tests/fuzz/make_seeds.py`."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import soundfile
from _pdfs import pdf
from PIL import Image

SEEDS = Path(__file__).parent / "seeds"
PICTURE = Image.radial_gradient("L").resize((8, 6))
TONE = (np.sin(np.arange(400) / 5) * 0.5).astype(np.float32)


def pictures() -> dict[str, bytes]:
    """One a format and mode, with EXIF, several frames, a palette and transparency among them."""

    def saved(mode: str, kind: str, **options: object) -> bytes:
        file = io.BytesIO()
        PICTURE.convert(mode).save(file, kind, **options)
        return file.getvalue()

    exif = Image.Exif()
    exif[0x0112] = 6

    def frames() -> dict[str, object]:
        return {"save_all": True, "append_images": [PICTURE.convert("L")]}

    return {
        "grey.png": saved("L", "PNG"),
        "grey16.png": saved("I;16", "PNG"),
        "clear.png": saved("RGBA", "PNG"),
        "palette.png": saved("P", "PNG", transparency=0),
        "turned.jpg": saved("RGB", "JPEG", exif=exif),
        "ink.jpg": saved("CMYK", "JPEG", progressive=True),
        "two.mpo": saved("RGB", "MPO", **frames()),
        "lossless.webp": saved("RGBA", "WEBP", lossless=True),
        "two.webp": saved("RGB", "WEBP", **frames()),
        "two.gif": saved("P", "GIF", **frames()),
        "two.tiff": saved("L", "TIFF", **frames()),
        "packed.tiff": saved("I;16", "TIFF", compression="tiff_lzw"),
        "fax.tiff": saved("1", "TIFF", compression="group4"),
        "float.tiff": saved("F", "TIFF"),
        "colour.bmp": saved("RGB", "BMP"),
        "colour.ppm": saved("RGB", "PPM"),
        "colour.jp2": saved("RGB", "JPEG2000"),
        "colour.avif": saved("RGB", "AVIF"),
    }


def documents() -> dict[str, bytes]:
    """PDFs with and without a password, and the files of several pictures."""
    several = {name: data for name, data in pictures().items() if name.startswith("two.")}
    return {
        "two.pdf": pdf(2),
        "turned.pdf": pdf(rotate=90),
        "locked.pdf": pdf(password="a"),
    } | several


def sounds() -> dict[str, bytes]:
    """One a container and coding that libsndfile writes."""

    def saved(kind: str, subtype: str, rate: int = 16_000) -> bytes:
        file = io.BytesIO()
        soundfile.write(file, TONE, rate, format=kind, subtype=subtype)
        return file.getvalue()

    return {
        "16.wav": saved("WAV", "PCM_16"),
        "float.wav": saved("WAV", "FLOAT"),
        "adpcm.wav": saved("WAV", "IMA_ADPCM"),
        "gsm.wav": saved("WAV", "GSM610"),
        "16.flac": saved("FLAC", "PCM_16", 48_000),
        "vorbis.ogg": saved("OGG", "VORBIS"),
        "opus.ogg": saved("OGG", "OPUS"),
        "layer3.mp3": saved("MP3", "MPEG_LAYER_III"),
        "24.aiff": saved("AIFF", "PCM_24"),
        "law.au": saved("AU", "ULAW", 8_000),
        "alac.caf": saved("CAF", "ALAC_16"),
        "16.w64": saved("W64", "PCM_16"),
        "16.rf64": saved("RF64", "PCM_16"),
        "16.voc": saved("VOC", "PCM_16"),
        "16.svx": saved("SVX", "PCM_16"),
        "float.mat": saved("MAT5", "FLOAT"),
    }


if __name__ == "__main__":
    files_of = {"image": pictures(), "pages": documents(), "sound": sounds()}
    for folder, files in files_of.items():
        (SEEDS / folder).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (SEEDS / folder / name).write_bytes(content)
