"""Which script a text is written in, and which pages of a document are in another than the rest.

A model that has lost its way writes another script, or several at once. A text alone does not tell
whether that is so: other pages do.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

LOOKED_AT = 2_000  # letters of a page
FEWEST = 50  # letters of a page that is judged
MAIN = 0.6  # of a page's letters, in its own script
REST = 0.8  # of a document's pages, in the script of the document
PAGES = 3  # that a document has at least
# Written together, or one a spelling of the other.
TOGETHER = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "BOPOMOFO": "CJK", "FULLWIDTH": "LATIN"}


def script_of(text: str) -> str | None:
    """The script of most letters, as Unicode names it (`"LATIN"`, `"CJK"` …).

    None where there are fewer than 50 letters, or no script has most of them.
    """
    letters = [letter for letter in text[: 4 * LOOKED_AT] if letter.isalpha()][:LOOKED_AT]
    if len(letters) < FEWEST:
        return None
    counts: Counter[str] = Counter()
    for letter, count in Counter(letters).items():
        name = unicodedata.name(letter, "?").partition(" ")[0]
        counts[TOGETHER.get(name, name)] += count
    script, most = counts.most_common(1)[0]
    return script if most >= MAIN * len(letters) else None


def strangers(texts: Sequence[str]) -> dict[int, str]:
    """What is said of the pages in another script than nearly all others, by their position."""
    scripts = Scripts()
    written = [scripts.add(text) for text in texts]
    doubts = {place: scripts.doubt(script) for place, script in enumerate(written)}
    return {place: doubt for place, doubt in doubts.items() if doubt}


class Scripts:
    """The scripts of a document's pages, as they come."""

    def __init__(self) -> None:
        self._known: Counter[str] = Counter()

    def add(self, text: str) -> str | None:
        """Note a page; its script, as `script_of` has it."""
        script = script_of(text)
        if script is not None:
            self._known[script] += 1
        return script

    def doubt(self, script: str | None) -> str | None:
        """What is said of a page in this script, where nearly all that came are in another."""
        if script is None or self._known.total() < PAGES:
            return None
        usual, count = self._known.most_common(1)[0]
        if script == usual or count < REST * self._known.total():
            return None
        return (
            f"the words are {_named(script)}, where those of other pages are {_named(usual)}:"
            " perhaps not what stands there"
        )


def _named(script: str) -> str:
    return "Chinese or Japanese" if script == "CJK" else script.capitalize()
