"""Texts as words: what is counted, and what a text says to another."""

from __future__ import annotations

import re
from functools import lru_cache
from zlib import crc32

TOKEN = re.compile(r"\w+|[^\w\s]")
VOCABULARY = 30_000
SPECIAL = (101, 102)
"""The ids that stand before and after a text."""


@lru_cache(maxsize=8192)
def count(text: str) -> int:
    """The tokens of a text, with one before and one after it."""
    return len(TOKEN.findall(text)) + 2


def words(text: str) -> list[str]:
    """The words and marks of a text."""
    return TOKEN.findall(text)


def token_id(word: str) -> int:
    """A number for a word, the same in every process."""
    return 1000 + crc32(word.lower().encode("utf-8", "surrogatepass")) % (VOCABULARY - 1000)
