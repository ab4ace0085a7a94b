"""Servers that read pages, and say of each what a test wants."""

from __future__ import annotations

import base64
import io
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from _pdfs import pdf
from _script import Answer, FakeVLLM, same
from PIL import Image

SIZE = (200, 100)  # of the pages, in pixels at 72 dots an inch


def document(pages: int) -> bytes:
    """A PDF whose pages say their number, from 0, by the grey of their box."""
    return pdf(pages, size=SIZE)


def number_of(picture: bytes) -> int:
    """Which page of `document` that is, from 1."""
    with Image.open(io.BytesIO(picture)) as image:
        return 1 + int(np.asarray(image).min())


@dataclass(frozen=True)
class Ask:
    """One page as a server gets it."""

    fields: dict[str, Any]

    @property
    def picture(self) -> bytes:
        (part,) = (one for one in self.fields["messages"][-1]["content"] if "image_url" in one)
        return base64.b64decode(part["image_url"]["url"].partition(",")[2])

    @property
    def number(self) -> int:
        return number_of(self.picture)

    @property
    def size(self) -> tuple[int, int]:
        with Image.open(io.BytesIO(self.picture)) as image:
            return image.size

    @property
    def temperature(self) -> float:
        return float(self.fields["temperature"])


Says = Callable[[Ask], Any]


def spoken(ask: Ask) -> str:
    """Words of each page's own, long enough to be told apart."""
    return f"Page {ask.number}. " + " ".join(f"word{ask.number}n{i}" for i in range(20))


@dataclass
class Reader(FakeVLLM):
    """A DeepSeek-OCR whose answers depend on the page.

    Attributes:
        answers: Gives the words of a page; or words and why they end; or an `Answer`.
        asks: Every page that came, in order.
    """

    task: str = "chat"
    model: str = "deepseek-ocr"
    answers: Says = spoken
    asks: list[Ask] = field(default_factory=list)

    def _serve(self, path: str, asked: Any) -> Answer:
        ask = Ask(asked)
        self.asks.append(ask)
        found = self.answers(ask)
        if isinstance(found, Answer):
            return found
        text, reason = found if isinstance(found, tuple) else (found, "stop")
        choice = {"message": {"content": text}, "finish_reason": reason}
        return same({"choices": [choice]})

    @property
    def numbers(self) -> list[int]:
        """The pages that came, in order."""
        return [ask.number for ask in self.asks]


class Gate:
    """Lets pages wait for each other: `gate(ask)` returns when so many stand there."""

    def __init__(self, count: int) -> None:
        self._barrier = threading.Barrier(count)

    def __call__(self) -> None:
        self._barrier.wait(20)


def numbers_in(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"Page (\d+)\.", text)]
