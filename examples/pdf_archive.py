"""An archive of PDFs to Markdown: a folder each, with the figures and the places of all blocks.

VLLM_BASE_URL=http://gpu1:8000,http://gpu2:8000 python pdf_archive.py ARCHIVE FOLDER

gpu1, gpu2: the command that `vllm-modalities recipe deepseek-ai/DeepSeek-OCR` prints
Needs the extra `pdf`. Killed and started again, it reads no page twice.
"""

import sys
from itertools import groupby
from pathlib import Path

from vllm_modalities import Client, Document

archive, folder = map(Path, sys.argv[1:3])
files = sorted(archive.rglob("*.pdf"))
folder.mkdir(exist_ok=True)

with Client() as client:
    pages = client.ocr_iter(files, journal=folder / "pages.journal", on_error="return")
    for place, of_one in groupby(pages, key=lambda page: page.source):
        document = Document(tuple(of_one))
        written = document.save(folder / files[place].relative_to(archive).with_suffix(""))
        print(f"{files[place].name}: {len(document.pages)} pages in {written}")
        for page in document.pages:
            for warning in page.warnings:
                print(f"  page {page.number}: {warning}")
