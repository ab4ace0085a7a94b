"""Text from outside, made safe to print: a terminal obeys control characters."""

from __future__ import annotations

import re

# All but line break and tab: an ESC, or its one-character form U+009B, can retitle a window, hide
# what follows, or have the terminal type. And halves of surrogate pairs, which no encoding has.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    r"""`text` with such characters spelled as in Python and JSON: `\u001b`."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
