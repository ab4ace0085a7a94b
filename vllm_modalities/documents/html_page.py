"""A document as one HTML page: pictures with boxes beside the words, linked both ways, offline."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import count, cycle
from typing import TYPE_CHECKING

from .blocks import Block, Box, Document, Page, counted, figure_path, is_figure
from .export import COLOURS, crop
from .rendering import FIGURE, Figures, rendered

if TYPE_CHECKING:
    from PIL.Image import Image

WIDEST = 1000  # pixels of a page's picture, and of a figure
NOTEBOOK = 20  # pages that a notebook shows
STYLE = (
    """
.vm{--paper:#fff;--ink:#1c1c1c;--line:#ccc;--faint:#666;--on:#fff3c4;--doubt:#b3261e;
color:var(--ink);background:var(--paper);font:15px/1.5 system-ui,sans-serif}
@media(prefers-color-scheme:dark){.vm{--paper:#181a1b;--ink:#e6e3de;--line:#444;--faint:#999;
--on:#3d3516;--doubt:#ff8a80}.vm .picture{filter:brightness(.9)}}
.vm .page{border-top:1px solid var(--line);padding:1em}
.vm .sides{display:flex;gap:1.5em;align-items:flex-start}
.vm .picture{flex:1 1 50%;min-width:0;position:sticky;top:1em;max-height:96vh;margin:0}
.vm svg{display:block;width:100%;max-height:94vh;border:1px solid var(--line);background:#fff}
.vm rect{fill:currentColor;fill-opacity:.06;stroke:currentColor;stroke-width:1.5;
vector-effect:non-scaling-stroke;cursor:pointer}
.vm rect.on,.vm rect:target,.vm a:focus rect{fill-opacity:.3;stroke-width:3}
.vm .words{flex:1 1 50%;min-width:0;overflow-wrap:anywhere}
.vm .block{padding:.1em .6em;border-left:3px solid currentColor;margin-bottom:.5em;cursor:pointer}
.vm .block>div{color:var(--ink)}
.vm .block.on,.vm .block:target{background:var(--on)}
.vm .block>a,.vm .type{font-size:11px;text-decoration:none;color:inherit;filter:saturate(.8)}
.vm table{border-collapse:collapse;margin:.5em 0}
.vm td,.vm th{border:1px solid var(--line);padding:.2em .5em;text-align:left}
.vm pre{white-space:pre-wrap;font:13px/1.4 ui-monospace,monospace}
.vm img{max-width:100%}
.vm .math{font-family:ui-monospace,monospace}
.vm .doubt{color:var(--doubt);margin:.2em 0}
.vm summary{color:var(--faint);cursor:pointer}
@media(max-width:50em){.vm .sides{flex-direction:column}.vm .picture{position:static}}
@media(prefers-color-scheme:dark){.vm .block,.vm .block>a{filter:brightness(1.7)}
.vm .block>div{filter:brightness(.6)}}
"""
    + "".join(f".vm .c{place}{{color:{colour}}}" for place, colour in enumerate(COLOURS))
).replace("\n", "")
SCRIPT = """
for(const one of document.querySelectorAll("[data-block]")){
const all=[...document.querySelectorAll('[data-block="'+one.dataset.block+'"]')];
const set=on=>all.forEach(each=>each.classList.toggle("on",on));
one.addEventListener("mouseenter",()=>set(true));
one.addEventListener("mouseleave",()=>set(false));
one.addEventListener("click",event=>{event.preventDefault();
const other=all.find(each=>each.tagName!==one.tagName);
if(other)other.scrollIntoView({block:"nearest"});});}
""".replace("\n", "")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# Nothing is loaded, and nothing runs but what stands above, whatever a model wrote.
POLICY = (
    "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
    f"style-src 'sha256-{_digest(STYLE)}'; script-src 'sha256-{_digest(SCRIPT)}'"
)


def to_html(document: Document) -> str:
    """One HTML page that needs no other file."""
    title = html.escape(f"Document, {counted(document.pages, 'page')}")
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" '
        f'content="light dark"><title>{title}</title>'
    )
    script = f"<script>{SCRIPT}</script>"
    return (
        f'<!doctype html><html lang="en"><head>{head}</head><body>{body(document)}{script}'
        "</body></html>\n"
    )


def body(document: Document, *, most: int | None = None) -> str:
    """The pages, `most` at most, with their style; a notebook shows it as it is."""
    pages = "".join(map(_page, document.pages[:most]))
    left = len(document.pages[most:]) if most else 0
    more = f"<p>{counted([None] * left, 'page')} more</p>" if left else ""
    return f'<div class="vm"><style>{STYLE}</style>{pages}{more}</div>'


def _page(page: Page) -> str:
    doubts = "".join(f'<p class="doubt">{html.escape(doubt)}</p>' for doubt in page.warnings)
    image = page.image  # a PDF's page is rendered anew each time that it is asked for
    picture = "" if image is None else _picture(page, image)
    figure = _figures(page, image)
    words = "".join(_blocks(page, figure)) or rendered(page.markdown, figure)
    markdown = html.escape(page.markdown, quote=False)
    opened = " open" if page.blocks and _outside(page) else ""
    return (
        f'<section class="page"><h3>Page {page.number}</h3>{doubts}<div class="sides">{picture}'
        f'<div class="words">{words}<details{opened}><summary>Markdown</summary>'
        f"<pre>{markdown}</pre></details></div></div></section>"
    )


def _outside(page: Page) -> bool:
    """Whether the page has words that are in none of its blocks."""
    said = sum(map(str.isalnum, FIGURE.sub("", page.markdown)))
    told = (FIGURE.sub("", block.text) for block in page.blocks)
    return said > sum(sum(map(str.isalnum, words)) for words in told)


def _colours(blocks: Sequence[Block]) -> dict[str, int]:
    """A colour a type, in the order of their first blocks."""
    types = dict.fromkeys(block.type for block in blocks)
    return dict(zip(types, cycle(range(len(COLOURS))), strict=False))


def _picture(page: Page, image: Image) -> str:
    """The page with a box for each place of each block."""
    colours = _colours(page.blocks)
    return (
        f'<figure class="picture"><svg viewBox="0 0 {page.width} {page.height}" role="img" '
        f'aria-label="page {page.number}"><image width="{page.width}" height="{page.height}" '
        f'href="{_data(image)}"/>'
        + "".join(
            f'<a href="#{_name(page, block)}">{_rectangle(page, block, place, colours)}</a>'
            for block in page.blocks
            for place in range(len(block.boxes))
        )
        + "</svg></figure>"
    )


def _rectangle(page: Page, block: Block, place: int, colours: dict[str, int]) -> str:
    x0, y0, x1, y1 = block.boxes[place]
    name = _name(page, block)
    return (
        f'<rect id="{name}-{place}" data-block="{name}" class="c{colours[block.type]}" '
        f'x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}">'
        f"<title>{block.order} {html.escape(block.type)}</title></rect>"
    )


def _blocks(page: Page, figure: Figures) -> Iterator[str]:
    """The words of each block, with a link to its first box."""
    colours = _colours(page.blocks)
    for block in page.blocks:
        name = _name(page, block)
        label = f"{block.order} {html.escape(block.type)}"
        there = (
            f'<a href="#{name}-0">{label}</a>' if block.boxes else f'<b class="type">{label}</b>'
        )
        pictures = "".join(figure("") for _ in block.boxes) if is_figure(block.type) else ""
        yield (
            f'<div class="block c{colours[block.type]}" id="{name}" data-block="{name}">{there}'
            f"<div>{pictures}{rendered(block.text, figure)}</div></div>"
        )


def _figures(page: Page, image: Image | None) -> Figures:
    """A figure by its link, or for `""` the next one, cut out of the page."""
    numbers = count(1)
    boxes: dict[str, Box] = {
        figure_path(page.number, place): box for place, box in enumerate(page.figures, 1)
    }

    def figure(target: str) -> str:
        path = target or figure_path(page.number, next(numbers))
        if path not in boxes:
            return ""
        if image is None:
            return "<p>(a figure)</p>"
        return f'<p><img alt="a figure" src="{_data(crop(image, boxes[path]))}"></p>'

    return figure


def _name(page: Page, block: Block) -> str:
    return f"page-{page.number}-{block.order}"


def _data(image: Image) -> str:
    """A picture in the page itself, not wider or higher than is looked at."""
    small = image.convert("RGB")
    small.thumbnail((WIDEST, 2 * WIDEST))
    file = BytesIO()
    small.save(file, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"
