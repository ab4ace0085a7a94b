"""Tables as rows of cells, out of HTML, Markdown and LaTeX, and into HTML and Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Rows = list[list[str]]

# All of these stop at the next `<`, `>` or line: linear on any input.
HTML_TABLE = re.compile(r"<(/?)table\b[^<>]*>", re.IGNORECASE)
TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-z][a-z0-9]*)(?P<attributes>[^<>]*)>", re.IGNORECASE)
SPAN = re.compile(r"\b(?P<way>row|col)span\s*=\s*[\"']?(?P<count>[0-9]{1,4})", re.IGNORECASE)
DELIMITER = re.compile(r":?-+:?")
PIPE = re.compile(r"(?<!\\)\|")
SPACES = re.compile(r"[ \t\r\n]+")
LONGEST_SPAN = 100  # cells; a model that loops inside a number makes more
MOST_CELLS = 100_000  # of one table; spans beyond are taken for 1


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes:
        text: Its words; HTML inside (`<b>`, `<br>`) stays.
        rows, columns: How many it covers.
        heads: Whether it is a heading.
    """

    text: str
    rows: int = 1
    columns: int = 1
    heads: bool = False


def tables_in(markdown: str) -> Iterator[tuple[int, int, list[list[Cell]]]]:
    """Each table: where it begins and ends, and its rows of cells as they are written.

    A table of HTML that is never closed goes to the end.
    """
    at = 0
    for start, end in _html_tables(markdown):
        yield from _piped(markdown, at, start)
        yield start, end, _html_cells(markdown[start:end])
        at = end
    yield from _piped(markdown, at, len(markdown))


def grid(cells: Sequence[Sequence[Cell]]) -> Rows:
    """The texts in rows of one length; a cell stands where it begins, and what else it covers and
    what is missing is `""`.
    """
    covered: dict[tuple[int, int], str] = {}
    for across, row in enumerate(cells):
        column = 0
        for cell in row:
            while (across, column) in covered:
                column += 1
            roomy = len(covered) + cell.rows * cell.columns < MOST_CELLS
            for down in range(min(cell.rows, len(cells) - across) if roomy else 1):
                for right in range(cell.columns if roomy else 1):
                    covered.setdefault((across + down, column + right), "")
            covered[across, column] = cell.text
    width = max((column + 1 for _, column in covered), default=0)
    if width * len(cells) > 2 * MOST_CELLS:  # one endless row among many
        return [[cell.text for cell in row] for row in cells]
    return [[covered.get((row, n), "") for n in range(width)] for row in range(len(cells))]


def to_html(cells: Sequence[Sequence[Cell]]) -> str:
    """`<table>` on one line a row, as models write it."""
    return f"<table>\n{''.join(map(_html_row, cells))}</table>"


def to_pipes(rows: Rows) -> str:
    """A table of GitHub's Markdown, whose first row is its head; `""` for no rows."""
    if not rows or not rows[0]:
        return ""
    width = max(map(len, rows))
    lines = [[_piped_text(text) for text in row] + [""] * (width - len(row)) for row in rows]
    written = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([written[0], "|" + " --- |" * width, *written[1:]])


def written_as(markdown: str, form: Literal["html", "gfm"]) -> str:
    """`markdown` with all of its tables in one form; GitHub's has no cells over several places."""
    parts, at = [], 0
    for start, end, cells in tables_in(markdown):
        table = to_html(cells) if form == "html" else to_pipes(grid(cells))
        parts += [markdown[at:start], table]
        at = end
    return "".join([*parts, markdown[at:]])


def latex_cells(latex: str) -> list[list[Cell]]:
    r"""The rows of a `tabular`: `\\` ends a row, `&` a cell; rules and the frame are dropped."""
    body = re.sub(r"\\(?:begin|end)\{[a-z*]{1,20}\}(?:\{[^{}\n]*\})?", "", latex)
    body = re.sub(r"\\(?:hline|toprule|midrule|bottomrule)\b", "", body)
    rows = [row for row in re.split(r"\\\\(?:\[[^\[\]\n]*\])?", body) if row.strip()]
    return [
        [Cell(cell.strip().replace(r"\&", "&")) for cell in re.split(r"(?<!\\)&", row)]
        for row in rows
    ]


def _html_tables(markdown: str) -> Iterator[tuple[int, int]]:
    """Where the outermost tables of HTML begin and end."""
    depth, start = 0, 0
    for tag in HTML_TABLE.finditer(markdown):
        if not tag[1]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, tag.end()
    if depth:
        yield start, len(markdown)


def _html_cells(table: str) -> list[list[Cell]]:
    """The rows of `<table>…`; cells and rows need not be closed, and an inner table is words."""
    rows: list[list[Cell]] = []
    opened: Cell | None = None
    depth, begins = 0, 0
    for tag in [*TAG.finditer(table), None]:
        name = tag["name"].lower() if tag else "table"
        if name not in {"td", "th", "tr", "table"}:
            continue
        if tag and name == "table":
            inner = depth > 1 if tag["end"] else depth > 0
            depth += -1 if tag["end"] else 1
            if inner:
                continue
        if depth > 1:
            continue
        if opened is not None:
            text = SPACES.sub(" ", table[begins : tag.start() if tag else len(table)]).strip()
            rows[-1].append(Cell(text, opened.rows, opened.columns, opened.heads))
            opened = None
        if tag and not tag["end"] and name != "table":
            if name == "tr" or not rows:
                rows.append([])
            if name != "tr":
                opened, begins = _opened(name, tag["attributes"]), tag.end()
    return [row for row in rows if row]


def _opened(name: str, attributes: str) -> Cell:
    spans = {span["way"].lower(): int(span["count"]) for span in SPAN.finditer(attributes)}
    rows, columns = (min(max(spans.get(way, 1), 1), LONGEST_SPAN) for way in ("row", "col"))
    return Cell("", rows, columns, name == "th")


def _html_row(cells: Sequence[Cell]) -> str:
    def written(cell: Cell) -> str:
        spans = [
            f' {way}span="{count}"'
            for way, count in (("row", cell.rows), ("col", cell.columns))
            if count > 1
        ]
        name = "th" if cell.heads else "td"
        return f"<{name}{''.join(spans)}>{cell.text}</{name}>"

    return f"<tr>{''.join(map(written, cells))}</tr>\n"


def _piped(markdown: str, start: int, end: int) -> Iterator[tuple[int, int, list[list[Cell]]]]:
    """Tables of GitHub's Markdown: a line with pipes, a line of dashes, and more with pipes."""
    lines: list[tuple[int, str]] = []
    for line in [*markdown[start:end].splitlines(keepends=True), ""]:
        if "|" in line:
            lines.append((start, line))
        elif lines:
            yield from _piped_table(lines)
            lines = []
        start += len(line)


def _piped_table(lines: list[tuple[int, str]]) -> Iterator[tuple[int, int, list[list[Cell]]]]:
    rows = [_piped_cells(line) for _, line in lines]
    for head in range(len(rows) - 1):
        if all(map(DELIMITER.fullmatch, rows[head + 1])):
            begins, last = lines[head][0], lines[-1]
            ends = last[0] + len(last[1].rstrip("\r\n"))
            body = [rows[head], *rows[head + 2 :]]
            yield (
                begins,
                ends,
                [[Cell(text, heads=row is rows[head]) for text in row] for row in body],
            )
            return


def _piped_cells(line: str) -> list[str]:
    inside = line.strip().removeprefix("|")
    cells = PIPE.split(inside)
    if len(cells) > 1 and not cells[-1].strip():
        cells.pop()
    return [cell.strip().replace(r"\|", "|") for cell in cells]


def _piped_text(text: str) -> str:
    """One cell on one line; `<b>` and other tags leave it, but for line breaks."""

    def kept(tag: re.Match[str]) -> str:
        return "<br>" if tag["name"].lower() == "br" else ""

    words = html.unescape(TAG.sub(kept, text))
    return SPACES.sub(" ", words).strip().replace("|", r"\|")
