"""A document as one HTML page: all of it, linked where it has places; nothing in it loads."""

from __future__ import annotations

import re
from dataclasses import replace

from PIL import Image

from vllm_modalities.documents.blocks import Block, Document, Page
from vllm_modalities.documents.html_page import NOTEBOOK

BLOCKS = (
    Block("title", "# A", ((10.0, 10.0, 90.0, 20.0),), 0),
    Block("figure", "A tree.", ((10.0, 30.0, 50.0, 60.0), (50.0, 30.0, 90.0, 60.0)), 1),
    Block("note <x>", "No place.", (), 2),
)
MARKDOWN = "# A\n\n![](figures/page-1-1.png)\n\n![](figures/page-1-2.png)\n\nA tree.\n\nNo place."
PAGE = Page(1, 100, 140, MARKDOWN, "A", BLOCKS, "stop", ("doubtful",), Image.new("RGB", (100, 140)))


def html(*pages: Page) -> str:
    return Document(pages, "m").to_html()


def test_every_box_leads_to_its_words_and_back() -> None:
    made = html(PAGE)
    assert re.findall(r'<rect id="([^"]+)"', made) == ["page-1-0-0", "page-1-1-0", "page-1-1-1"]
    blocks = re.findall(r'<div class="block[^>]* id="([^"]+)"', made)
    assert blocks == ["page-1-0", "page-1-1", "page-1-2"]
    ids = set(re.findall(r'id="([^"]+)"', made))
    assert set(re.findall(r'href="#([^"]+)"', made)) <= ids
    assert set(re.findall(r'data-block="(page[^"]+)"', made)) == set(blocks)


def test_a_block_without_a_place_has_its_type_and_no_link() -> None:
    assert '<b class="type">2 note &lt;x&gt;</b>' in html(PAGE)


def test_figures_are_cut_out_once_each() -> None:
    assert html(PAGE).count("<img ") == 2
    assert html(replace(PAGE, blocks=())).count("<img ") == 0


def test_a_page_without_blocks_is_its_markdown() -> None:
    made = html(replace(PAGE, blocks=(), markdown="# Title\n\nWords."))
    assert "<h1>Title</h1><p>Words.</p>" in made
    assert "<rect" not in made


def test_a_page_whose_image_was_not_kept_has_words_alone() -> None:
    made = html(replace(PAGE, picture=None))
    assert "<svg" not in made
    assert made.count("(a figure)") == 2


def test_words_in_no_block_are_shown_at_once() -> None:
    assert "<details>" in html(PAGE)
    assert "<details open>" in html(replace(PAGE, markdown=f"{MARKDOWN}\n\nOutside."))


def test_the_page_says_that_nothing_may_load_or_run_but_its_own() -> None:
    made = html(PAGE)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', made)
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in policy
    assert not re.search(r'(?:src|href)="(?!data:|#)', made)
    assert " style=" not in made


def test_a_notebook_shows_the_first_pages_and_how_many_are_left() -> None:
    pages = [replace(PAGE, number=number, picture=None) for number in range(1, NOTEBOOK + 3)]
    shown = Document(tuple(pages))._repr_html_()
    assert shown.count("<section") == NOTEBOOK
    assert "2 pages more" in shown
    assert "<script" not in shown


def test_a_page_that_is_read_again_each_time_is_read_once() -> None:
    times: list[int] = []

    def read() -> Image.Image:
        times.append(1)
        return Image.new("RGB", (100, 140))

    assert html(replace(PAGE, picture=read)).count("<img ") == 2
    Document((replace(PAGE, picture=read),)).overlay()
    assert len(times) == 2
