"""Read PaddleOCR-VL: words with four corners as tokens (`<|LOC_460|>`), tables as OTSL, Markdown.

Source: PaddleX 3.7.2 inference/pipelines/paddleocr_vl/uilts.py, `post_process_for_spotting`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..preparing import Frame
from . import otsl
from .boxes import placed
from .clean import tidy, unwrapped
from .parsed import Doubts, Parsed, Piece, assembled, plain

RUN = re.compile(r"((?:<\|LOC_[0-9]{1,5}\|>)++)")
NUMBER = re.compile(r"[0-9]+")
# What may stand around words and numbers, and says nothing.
AROUND = re.compile(r"<\|(?:TEXT_START|TEXT_END|LOC_BEGIN|LOC_END|LOC_SEP)\|>")


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read the answer to any of the model's tasks.

    Args:
        text: What the model wrote, with its special tokens (`skip_special_tokens=false`).
        frame: Where the page is; 1000 is its right and bottom edge.
        page: The page's number.
    """
    doubts = Doubts()
    written = unwrapped(text)
    if otsl.is_otsl(written):
        markdown = otsl.table(written)
        return Parsed((), markdown, plain(markdown))
    words, *rest = RUN.split(AROUND.sub("", written))
    if not rest:
        markdown = tidy(words, doubts)
        return Parsed((), markdown, plain(markdown), doubts.warnings())
    return assembled(_pieces([words, *rest], frame, doubts), doubts, page=page)


def _pieces(parts: list[str], frame: Frame, doubts: Doubts) -> Iterator[Piece]:
    """From words, numbers, words, numbers, …, words."""
    for words, printed in zip(parts[::2], [*parts[1::2], ""], strict=True):
        text = tidy(words, doubts)
        numbers = [float(number) for number in NUMBER.findall(printed)]
        if len(numbers) == 8:
            xs, ys = numbers[::2], numbers[1::2]
            corners = (min(xs), min(ys), max(xs), max(ys))
            yield Piece("text", text, placed(corners, frame, doubts, printed))
        elif text:
            doubts.add("words without four corners kept as text", words)
            yield Piece("text", text)
