"""The answer of a model that prints Markdown and no places."""

from __future__ import annotations

from ..preparing import Frame
from .clean import tidy, unwrapped
from .parsed import Doubts, Parsed, plain

THOUGHT, END_OF_THOUGHT = "<think>", "</think>"


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read one page of Markdown; there are no blocks, whatever the page's size (pixels).

    Thoughts before the page (`<think>…</think>`) are dropped; an answer that is cut inside them
    has no page, so its thoughts are kept.
    """
    doubts = Doubts()
    text = text.strip()
    thoughts, end, after = text.partition(END_OF_THOUGHT)
    if end:
        text = after
    elif text.startswith(THOUGHT):
        doubts.add("answer cut inside the model's thoughts, which were kept", thoughts)
        text = text.removeprefix(THOUGHT)
    markdown = tidy(unwrapped(text), doubts)
    return Parsed(blocks=(), markdown=markdown, text=plain(markdown), warnings=doubts.warnings())
