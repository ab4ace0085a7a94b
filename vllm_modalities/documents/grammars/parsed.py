"""What every grammar of a model's output gives, and how its parts become one page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..blocks import Block, Box, figure_path, is_figure

# Both stop at the next `<` and at the end of the line: linear on any input.
TAG = re.compile(
    r"</?(?:table|thead|tbody|tr|td|th|caption|div|p|br|b|i|u|sub|sup|span|center)\b[^<>\n]*>"
)
FIGURE = re.compile(r"!\[[^\[\]\n]*\]\([^()\n]*\)")
HEADING = re.compile(r"^#{1,6} +", re.MULTILINE)
EXAMPLE = 60  # characters of the output that a warning quotes
BLANK_LINES = re.compile(r"\n{3,}")
UNSPACED = re.compile(r"[-\u3000-\u9fff\uff00-\uffef]")  # a hyphen, and letters without blanks


@dataclass(frozen=True, slots=True)
class Parsed:
    """One page of a model's output, read.

    Attributes:
        blocks: What was found where, in the order of reading.
        markdown: All words outside the markup, in order; figures are links.
        text: The same without figures and without marks of markdown and HTML.
        warnings: What was dropped, repaired or doubtful.
        rotation: Degrees clockwise that the model says the page must be turned by to be upright.
        turns: The same for blocks that lie otherwise than the page, by their order.
        follows: Blocks, by their order, whose words go on from those of the block of words before
            them, as behind the foot of a column.
    """

    blocks: tuple[Block, ...]
    markdown: str
    text: str
    warnings: tuple[str, ...] = ()
    rotation: int = 0
    turns: Mapping[int, int] = field(default_factory=dict)
    follows: frozenset[int] = frozenset()


class Doubts:
    """What was doubtful in one output: one warning a reason, however often it occurred."""

    def __init__(self) -> None:
        self.examples: dict[str, str] = {}
        self.counts: Counter[str] = Counter()

    def add(self, reason: str, example: str) -> None:
        """Note `reason`; the first `example` is the one that is quoted."""
        self.examples.setdefault(reason, " ".join(example[:EXAMPLE].split()))
        self.counts[reason] += 1

    def extend(self, others: Doubts) -> None:
        """Note what `others` has noted."""
        self.examples = {**others.examples, **self.examples}
        self.counts += others.counts

    def warnings(self) -> tuple[str, ...]:
        """One sentence a reason, in the order of their first occurrence."""
        return tuple(
            f"{reason}: {example!r}" + (f" (and {more} more)" if more else "")
            for reason, example in self.examples.items()
            for more in [self.counts[reason] - 1]
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of a page, before it has its place in the order of reading.

    Attributes:
        type: The model's own label; `"text"` if it gave none.
        text: The words, as clean Markdown; a figure's caption or description.
        boxes: In pixels of the page.
        turn: Degrees clockwise that it must be turned by to be upright.
        follows: Whether its words go on from those of the piece of its type before it.
    """

    type: str
    text: str
    boxes: tuple[Box, ...] = ()
    turn: int = 0
    follows: bool = False


def assembled(pieces: Iterable[Piece], doubts: Doubts, *, page: int = 1) -> Parsed:
    """A page of `pieces`, in their order; figures become links, one a box.

    A piece that says what the one before said, at the same place, is a loop: it is dropped, and
    `doubts` hears of it.
    """
    kept = list(_once(pieces, doubts))
    markdown = "\n\n".join(_paragraphs(kept, page))
    return Parsed(
        tuple(Block(one.type, one.text, one.boxes, order) for order, one in enumerate(kept)),
        markdown,
        plain(markdown),
        doubts.warnings(),
        turns={order: one.turn for order, one in enumerate(kept) if one.turn},
        follows=frozenset(order for order, one in enumerate(kept) if one.follows),
    )


def _once(pieces: Iterable[Piece], doubts: Doubts) -> Iterator[Piece]:
    before: Piece | None = None
    for piece in pieces:
        if not piece.text and not piece.boxes:
            continue
        if piece == before and piece.boxes:
            doubts.add("block repeated in place dropped", piece.text or piece.type)
            continue
        before = piece
        yield piece


def _paragraphs(pieces: Iterable[Piece], page: int) -> Iterator[str]:
    """What stands on a page with a blank line between two: words, and links to figures."""
    written: list[list[str]] = []  # in parts
    ends: dict[str, list[str]] = {}  # the last of each type
    figures = 0
    for piece in pieces:
        if is_figure(piece.type):
            paths = [figure_path(page, figures + n) for n in range(1, len(piece.boxes) + 1)]
            written += [[f"![]({path})"] for path in paths]
            figures += len(paths)
        if piece.text and piece.follows and piece.type in ends:
            paragraph = ends[piece.type]
            paragraph.append(_going_on(paragraph[-1], piece.text))
        elif piece.text:
            ends[piece.type] = [piece.text]
            written.append(ends[piece.type])
        else:
            ends.pop(piece.type, None)  # what goes on from there goes on from nothing
    return map("".join, written)


def _going_on(before: str, after: str) -> str:
    """Words that go on, with a blank before them, but for Chinese, Japanese and hyphens."""
    return after if UNSPACED.search(before[-1:] + after[:1]) else f" {after}"


def displayed(latex: str) -> str:
    """A formula on lines of its own, with its marks if it has none."""
    return f"$$\n{latex}\n$$" if latex and "$" not in latex else latex


def plain(markdown: str) -> str:
    """`markdown` without figures, heading marks and the usual HTML tags; cells stand apart."""

    def gap(tag: re.Match[str]) -> str:
        return {"</td": "\t", "</th": "\t", "</tr": "\n", "<br": "\n"}.get(tag[0].rstrip(" />"), "")

    bare = HEADING.sub("", TAG.sub(gap, FIGURE.sub("", markdown)))
    lines = (line.rstrip() for line in bare.split("\n"))
    return BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
