"""Make the sample inputs of this folder anew: `python make_assets.py`.

Needs espeak-ng (`apt-get install espeak-ng`), soundfile and Pillow. Nothing here was recorded,
photographed or copied: the sound is synthetic, the invoice is drawn, and the sentences were written
for this project.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from io import BytesIO
from pathlib import Path

import soundfile
from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).parent
SPEED = 140  # words a minute

# File name: (espeak-ng voice, language, words). f3 is one of espeak-ng's speaker variants.
SPEECH = {
    "speech-en-us.flac": (
        "en-us",
        "en",
        "The museum is open on Monday and Tuesday.",
    ),
    "speech-en-us-f3.flac": (
        "en-us+f3",
        "en",
        "We will meet again in the garden tomorrow afternoon.",
    ),
    "speech-en-gb.flac": (
        "en-gb",
        "en",
        "My brother lives in a small house near the river.",
    ),
    "speech-de.flac": (
        "de",
        "de",
        "Am Montag fahren wir mit dem Zug nach Berlin.",
    ),
}

SENTENCES = [
    "The train to Berlin leaves from platform seven.",
    "Passengers for Berlin should go to platform seven.",
    "Bread rises because yeast turns sugar into gas.",
    "The dough grows as the yeast feeds on sugar.",
    "Our solar system has eight planets.",
]
QUERY = "Why does bread rise?"
DOCUMENTS = [
    "Horses pulled these wagons along the rails for more than a century.",
    "Yeast in the dough turns sugar into carbon dioxide, and the bubbles lift the bread.",
    "Wheat is sown in autumn or in spring and harvested in summer.",
    "A loaf keeps longest in a dry and airy place.",
]

WIDTH, HEIGHT = 1000, 1300  # pixels
INK, ACCENT, LINE = "#1d1d1f", "#1a5fb4", "#b8b8b8"
ITEMS = [
    ("Garden chair, oak", 4, "59.00", "236.00"),
    ("Folding table", 1, "148.50", "148.50"),
    ("Lantern, brass", 6, "12.25", "73.50"),
    ("Delivery", 1, "19.00", "19.00"),
]


def make_speech(folder: Path) -> None:
    """Write each sentence as 16-bit mono FLAC at espeak-ng's own 22,050 Hz, and what was said."""
    espeak = shutil.which("espeak-ng")
    if espeak is None:
        raise SystemExit("espeak-ng is missing: apt-get install espeak-ng")
    said = {}
    for name, (voice, language, words) in SPEECH.items():
        command = [espeak, "-v", voice, "-s", str(SPEED), "--stdout", words]
        wave = subprocess.run(command, check=True, capture_output=True).stdout  # noqa: S603
        samples, rate = soundfile.read(BytesIO(wave), dtype="int16")
        soundfile.write(folder / name, samples, rate, subtype="PCM_16")
        said[name] = {"language": language, "voice": voice, "text": words}
    write_json(folder / "speech.json", said)


def make_invoice(path: Path) -> None:
    """Draw one page: a logo, a title, addresses, a table and a total."""
    page = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw = ImageDraw.Draw(page)

    def write(x: int, y: int, words: str, size: int = 24, *, right: bool = False) -> None:
        font = ImageFont.load_default(size)
        draw.text((x, y), words, font=font, fill=INK, anchor="ra" if right else "la")

    draw.ellipse((760, 70, 900, 210), fill=ACCENT)
    draw.polygon([(830, 95), (880, 180), (780, 180)], fill="white")
    write(90, 90, "INVOICE 2047", 52)
    write(90, 160, "Date: 14 March 2026", 24)
    for line, words in enumerate(["Lindner Garden Furniture", "Mill Lane 8", "Oakfield 30412"]):
        write(90, 270 + 36 * line, words)
    for line, words in enumerate(["Bill to:", "Ada Brandt", "Harbour Street 21", "Westport 11873"]):
        write(560, 270 + 36 * line, words)

    top, row = 480, 62
    for x, words, right in [(110, "Item", False), (600, "Qty", True), (750, "Price", True)]:
        write(x, top + 16, words, 26, right=right)
    write(890, top + 16, "Amount", 26, right=True)
    for line, (item, count, price, amount) in enumerate(ITEMS, 1):
        y = top + row * line + 18
        write(110, y, item)
        for x, words in [(600, str(count)), (750, price), (890, amount)]:
            write(x, y, words, right=True)
    for line in range(len(ITEMS) + 2):
        draw.line((90, top + row * line, 910, top + row * line), fill=LINE, width=2)
    for x in (90, 520, 620, 770, 910):
        draw.line((x, top, x, top + row * (len(ITEMS) + 1)), fill=LINE, width=2)

    write(750, 830, "Total EUR", 30, right=True)
    write(890, 830, "477.00", 30, right=True)
    write(90, 960, "Please pay within 30 days. Thank you for your order.")
    write(90, 1210, "Lindner Garden Furniture, Oakfield. Page 1 of 1", 18)
    # Sixteen colours are enough, and keep the file small.
    page.quantize(16, dither=Image.Dither.NONE).save(path, optimize=True)


def make_questions(path: Path) -> None:
    """Write sentences to embed and a query with documents to rank."""
    rerank = {"query": QUERY, "documents": DOCUMENTS, "best": 1}
    write_json(path, {"sentences": SENTENCES, "rerank": rerank})


def write_json(path: Path, content: object) -> None:
    """Write `content` for people to read too."""
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", "utf-8", newline="\n")


if __name__ == "__main__":
    make_speech(HERE)
    make_invoice(HERE / "invoice.png")
    make_questions(HERE / "questions.json")
