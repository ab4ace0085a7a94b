"""Results in a notebook: tables, bars and heat maps that take the colours of the page around them.

Whatever is given is shown as words, never as markup.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

ROWS = 50  # of a table
CELLS = 16  # of a heat map, each way

_NUMBER = re.compile(r"-?[\d.:]+|–")  # times too
_FAINT = "color-mix(in srgb,currentColor 18%,transparent)"
_STYLE = f"""
.vm-r{{font:13px/1.45 system-ui,sans-serif;overflow-x:auto}}
.vm-r p{{margin:.3em 0}}
.vm-r ul{{margin:.3em 0;padding-left:1.2em;list-style:"⚠ "}}
.vm-r table{{border-collapse:collapse;margin:.4em 0;color:inherit;table-layout:auto}}
.vm-r tr,.vm-r tr:hover{{background:none}}
.vm-r .heat tbody tr:nth-child(n){{background:none}}
.vm-r td,.vm-r th{{padding:.2em .7em;border:0;border-bottom:1px solid {_FAINT};text-align:left;
vertical-align:top;max-width:60em;overflow-wrap:anywhere;white-space:normal}}
.vm-r th{{font-weight:600;opacity:.75;white-space:nowrap}}
.vm-r .n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
.vm-r .bar{{width:9em;min-width:9em}}
.vm-r .bar i{{display:block;height:.75em;margin-top:.3em;border-radius:2px;background:#4285d6}}
.vm-r .heat td{{padding:.25em .4em;border:1px solid transparent;background-clip:padding-box;
background-color:color-mix(in srgb,#2f7de1 var(--m),transparent)}}
.vm-r .heat .minus{{background-color:color-mix(in srgb,#e0622f var(--m),transparent)}}
.vm-r .heat th{{border:0;padding:.25em .4em}}
""".replace("\n", "")


def framed(head: str, *parts: str, warnings: Sequence[str] = ()) -> str:
    """A result in HTML: who it is, what was doubtful, and its parts, which are HTML."""
    told = "".join(f"<li>{html.escape(warning)}</li>" for warning in warnings)
    doubts = f"<ul>{told}</ul>" if told else ""
    words = f"<p>{html.escape(head)}</p>{doubts}"
    return f'<div class="vm-r"><style>{_STYLE}</style>{words}{"".join(parts)}</div>'


def paragraph(text: str) -> str:
    """Words by themselves."""
    return f"<p>{html.escape(text)}</p>"


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str | float]], count: int, most: int = ROWS
) -> str:
    """The first rows of `count`: words, and numbers between 0 and 1 as bars."""
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(rows, most))
    if count > most:
        body += f'<tr><td colspan="{len(headings)}">… and {count - most:,} more</td></tr>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(shown: str | float) -> str:
    if isinstance(shown, str):
        kind = ' class="n"' if _NUMBER.fullmatch(shown) else ""
        return f"<td{kind}>{html.escape(shown)}</td>"
    part = shown if math.isfinite(shown) else 0.0
    return f'<td class="bar"><i style="width:{part:.1%}"></i></td>'


def heat_map(values: Sequence[Sequence[float]], rows: int, columns: int) -> str:
    """A matrix with its numbers coloured by size, the first `CELLS` rows and columns of it.

    Args:
        values: That part of the matrix.
        rows, columns: Of the whole.
    """
    largest = max((abs(x) for row in values for x in row if math.isfinite(x)), default=1.0)
    width = len(values[0]) if values else 0
    head = "".join(f'<th class="n">{place}</th>' for place in range(width))
    body = "".join(
        f'<tr><th class="n">{place}</th>{"".join(_heat(row, largest))}</tr>'
        for place, row in enumerate(values)
    )
    left = (rows, columns) != (len(values), width)
    more = f"<p>the first {len(values)} x {width} of {rows:,} x {columns:,}</p>" if left else ""
    return f'<table class="heat"><tr><th></th>{head}</tr>{body}</table>{more}'


def _heat(row: Sequence[float], largest: float) -> Iterator[str]:
    for value in row:
        part = abs(value) / (largest or 1.0) if math.isfinite(value) else 0.0
        kind = "n minus" if value < 0 else "n"
        # Never of full colour, so that the number stays legible.
        yield f'<td class="{kind}" style="--m:{0.65 * part:.0%}">{number(value, 2)}</td>'


def number(value: float, digits: int = 3) -> str:
    """A number in words, zero without a sign; one that is none, since it failed, is a dash."""
    return f"{round(value, digits) + 0.0:.{digits}f}" if math.isfinite(value) else "–"


def parts(scores: Sequence[float]) -> list[float]:
    """How much of a bar each score fills: all of it at 1, or at the largest where one is larger."""
    known = [score for score in scores if math.isfinite(score)]
    low, high = min([0.0, *known]), max([0.0, *known])
    if low == 0.0 and high <= 1.0:
        high = 1.0
    return [(score - low) / ((high - low) or 1.0) for score in scores]
