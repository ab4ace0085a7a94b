"""Read a page: its words as Markdown, and a picture that shows where they stand.

VLLM_BASE_URL=http://gpu1:8000 python ocr_page.py [IMAGE]

gpu1: the command that `vllm-modalities recipe deepseek-ai/DeepSeek-OCR` prints
"""

import sys
from pathlib import Path

from vllm_modalities import Client

SAMPLE = Path(__file__).parent / "assets" / "invoice.png"

source = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE

with Client() as client:  # the servers of $VLLM_BASE_URL
    document = client.ocr(source, max_tokens=1000)

folder = Path(source.stem)
markdown = document.save(folder)
document.overlay(1).save(folder / "overlay.png")

page = document.pages[0]
print(f"{source.name}, {page.width} x {page.height} pixels: {len(page.blocks)} blocks")
for block in page.blocks[:10]:
    print(f"  {block.type}: {block.text[:60]!r} at {block.boxes}")
print(f"The words are in {markdown}, the boxes in {folder / 'overlay.png'}.")
for warning in document.warnings:
    print(f"Doubtful: {warning}")
