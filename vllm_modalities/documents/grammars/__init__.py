"""What every grammar of a model's output gives; one module a grammar."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from ..blocks import Block

# Both stop at the next `<` and at the end of the line: linear on any input.
TAG = re.compile(
    r"</?(?:table|thead|tbody|tr|td|th|caption|div|p|br|b|i|u|sub|sup|span|center)\b[^<>\n]*>"
)
FIGURE = re.compile(r"!\[[^\[\]\n]*\]\([^()\n]*\)")
HEADING = re.compile(r"^#{1,6} +", re.MULTILINE)
EXAMPLE = 60  # characters of the output that a warning quotes
BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Parsed:
    """One page of a model's output, read.

    Attributes:
        blocks: What was found where, in the order of reading.
        markdown: All words outside the markup, in order; figures are links.
        text: The same without figures and without marks of markdown and HTML.
        warnings: What was dropped, repaired or doubtful.
    """

    blocks: tuple[Block, ...]
    markdown: str
    text: str
    warnings: tuple[str, ...] = ()


class Doubts:
    """What was doubtful in one output: one warning a reason, however often it occurred."""

    def __init__(self) -> None:
        self.examples: dict[str, str] = {}
        self.counts: Counter[str] = Counter()

    def add(self, reason: str, example: str) -> None:
        """Note `reason`; the first `example` is the one that is quoted."""
        self.examples.setdefault(reason, " ".join(example[:EXAMPLE].split()))
        self.counts[reason] += 1

    def warnings(self) -> tuple[str, ...]:
        """One sentence a reason, in the order of their first occurrence."""
        return tuple(
            f"{reason}: {example!r}" + (f" (and {more} more)" if more else "")
            for reason, example in self.examples.items()
            for more in [self.counts[reason] - 1]
        )


def plain(markdown: str) -> str:
    """`markdown` without figures, heading marks and the usual HTML tags; cells stand apart."""

    def gap(tag: re.Match[str]) -> str:
        return {"</td": "\t", "</th": "\t", "</tr": "\n", "<br": "\n"}.get(tag[0].rstrip(" />"), "")

    bare = HEADING.sub("", TAG.sub(gap, FIGURE.sub("", markdown)))
    lines = (line.rstrip() for line in bare.split("\n"))
    return BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
