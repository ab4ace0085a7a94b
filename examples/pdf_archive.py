"""An archive of PDFs to Markdown: a folder each, with the figures and the places of all blocks.

VLLM_BASE_URL=http://gpu1:8000,http://gpu2:8000 python pdf_archive.py ARCHIVE FOLDER [TOKENS]

gpu1, gpu2: the command that `vllm-modalities recipe deepseek-ai/DeepSeek-OCR` prints
Needs the extra `pdf`. A page is cut after TOKENS, or by the model. Killed and started again, it
reads no page twice.
"""

import sys
from itertools import groupby
from pathlib import Path

from vllm_modalities import Client, Document

if len(sys.argv) < 3:
    sys.exit(__doc__)
archive, folder = map(Path, sys.argv[1:3])
most = int(sys.argv[3]) if len(sys.argv) > 3 else None
files = sorted(file for file in archive.rglob("*") if file.suffix.lower() == ".pdf")
folder.mkdir(parents=True, exist_ok=True)

with Client() as client:
    journal = folder / "pages.journal"
    pages = client.ocr_iter(files, max_tokens=most, journal=journal, on_error="return")
    for place, of_one in groupby(pages, key=lambda page: page.source):
        document = Document(tuple(of_one))
        name = files[place].relative_to(archive)
        if document.pages[0].number == 0:  # it could not even be opened
            print(f"{name}: {document.pages[0].warnings[0]}")
            continue
        whole = [page for page in document if page.finish_reason == "stop"]
        written = document.save(folder / name.with_suffix(""))
        print(f"{name}: {len(whole)} of {len(document)} pages are whole, in {written}")
        for page in document:
            for warning in page.warnings:
                print(f"  page {page.number}: {warning}")
