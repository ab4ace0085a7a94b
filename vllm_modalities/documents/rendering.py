"""Render a page's Markdown as HTML; every tag is written here, and what a model wrote is words."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence

from .tables import Cell, tables_in

HEADING = re.compile(r"(?P<level>#{1,6}) +(?P<words>.*)")
ITEM = re.compile(r"[ \t]*(?:(?P<mark>[-*+])|(?P<number>[0-9]{1,9})[.)])[ \t]+(?P<words>.*)")
FIGURE = re.compile(r"!\[(?P<words>[^\[\]\n]*)\]\((?P<target>[^()\n]*)\)")
FENCE = "```"
BREAK = re.compile(r"&lt;br ?/?&gt;", re.IGNORECASE)
# A mark, words without it, the mark; none goes over a line or begins or ends with a blank.
MARKS = (
    (re.compile(r"\*\*(?! )([^*\n]{1,2000}?)(?<! )\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*(?![ *])([^*\n]{1,2000}?)(?<! )\*(?![\w*])"), r"<em>\1</em>"),
    (re.compile(r"`([^`\n]{1,2000})`"), r"<code>\1</code>"),
    (re.compile(r"\$\$([^$]{1,5000})\$\$"), r"<code class='math'>\1</code>"),
    (
        re.compile(r"(?<!\$)\$(?! )([^$\n]{1,2000}?)(?<! )\$(?![$\d])"),
        r"<code class='math'>\1</code>",
    ),
)
NEAR = 2000  # characters within which a tag must be closed
TAGS = re.compile(r"&lt;(/?)(b|i|sub|sup|u|strong|em)&gt;", re.IGNORECASE)

Figures = Callable[[str], str]
"""The HTML of a figure, from its link; `""` if it is none of the page's."""


def rendered(markdown: str, figure: Figures) -> str:
    """`markdown` as HTML: headings, paragraphs, lists, tables, code, and the figures it links to.

    Args:
        markdown: Of a page, or of a block.
        figure: Told the target of each link to a picture; what it gives is HTML.
    """
    parts: list[str] = []
    at = 0
    for start, end, cells in tables_in(markdown):
        parts += _parts(markdown[at:start], figure)
        parts.append(_table(cells))
        at = end
    return "".join([*parts, *_parts(markdown[at:], figure)])


def inline(words: str) -> str:
    """Words on a line, or some, with their emphasis and math marked."""
    text = BREAK.sub("<br>", html.escape(words, quote=False))
    for mark, tag in MARKS:
        text = mark.sub(tag, text)
    return _balanced(text)


def _balanced(text: str) -> str:
    """`text` with the few tags of HTML that are kept, if each that is opened is closed at once."""
    opened = ""

    def kept(tag: re.Match[str]) -> str:
        nonlocal opened
        name = tag[2].lower()
        if (
            not tag[1]
            and not opened
            and f"&lt;/{name}&gt;" in text[tag.end() : tag.end() + NEAR].lower()
        ):
            opened = name
        elif tag[1] and opened == name:
            opened = ""
        else:
            return tag[0]
        return f"<{tag[1]}{name}>"

    return TAGS.sub(kept, text)


def _table(cells: Sequence[Sequence[Cell]]) -> str:
    def row(one: Sequence[Cell]) -> str:
        return "".join(
            f"<{'th' if cell.heads else 'td'}"
            f"{f' rowspan={chr(34)}{cell.rows}{chr(34)}' if cell.rows > 1 else ''}"
            f"{f' colspan={chr(34)}{cell.columns}{chr(34)}' if cell.columns > 1 else ''}"
            f">{inline(html.unescape(cell.text))}</{'th' if cell.heads else 'td'}>"
            for cell in one
        )

    return f"<table>{''.join(f'<tr>{row(one)}</tr>' for one in cells)}</table>"


def _parts(markdown: str, figure: Figures) -> Iterator[str]:
    """What lies between tables."""
    lines = markdown.split("\n")
    at = 0
    while at < len(lines):
        start = at
        if lines[at].startswith(FENCE):
            at += 1
            while at < len(lines) and not lines[at].startswith(FENCE):
                at += 1
            code = "\n".join(lines[start + 1 : at])
            yield f"<pre><code>{html.escape(code, quote=False)}</code></pre>"
            at += 1
        elif not lines[at].strip():
            at += 1
        elif heading := HEADING.fullmatch(lines[at]):
            level = len(heading["level"])
            yield f"<h{level}>{inline(heading['words'])}</h{level}>"
            at += 1
        elif lines[at].strip() in {"---", "***"}:
            yield "<hr>"
            at += 1
        elif ITEM.fullmatch(lines[at]):
            while at < len(lines) and ITEM.fullmatch(lines[at]):
                at += 1
            yield _list(lines[start:at])
        else:
            while at < len(lines) and _goes_on(lines[at], first=at == start):
                at += 1
            yield from _paragraph("\n".join(lines[start:at]), figure)


def _goes_on(line: str, *, first: bool) -> bool:
    """Whether a line belongs to the paragraph before it."""
    ends = line.startswith(FENCE) or HEADING.fullmatch(line) or ITEM.fullmatch(line)
    return first or bool(line.strip() and not ends)


def _list(lines: Sequence[str]) -> str:
    found = [item for line in lines if (item := ITEM.fullmatch(line))]
    name = "ol" if found[0]["number"] else "ul"
    start = f' start="{int(found[0]["number"])}"' if found[0]["number"] else ""
    items = "".join(f"<li>{inline(item['words'])}</li>" for item in found)
    return f"<{name}{start}>{items}</{name}>"


def _paragraph(text: str, figure: Figures) -> Iterator[str]:
    """Words, and the figures between them."""
    at = 0
    for link in FIGURE.finditer(text):
        yield from _words(text[at : link.start()])
        yield figure(link["target"]) or f"<p>{inline(link['words'])}</p>"
        at = link.end()
    yield from _words(text[at:])


def _words(text: str) -> Iterator[str]:
    if text.strip():
        yield f"<p>{inline(text.strip()).replace(chr(10), '<br>')}</p>"
