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
    scripts = [script_of(text) for text in texts]
    known = Counter(filter(None, scripts))
    if known.total() < PAGES:
        return {}
    usual, count = known.most_common(1)[0]
    if count < REST * known.total():
        return {}
    message = "the words are {}, where those of other pages are {}: perhaps not what stands there"
    return {
        place: message.format(_named(script), _named(usual))
        for place, script in enumerate(scripts)
        if script not in (None, usual)
    }


def _named(script: str | None) -> str:
    return "Chinese or Japanese" if script == "CJK" else str(script).capitalize()
