"""Every grammar reads any text: without an error, every box on the page, in linear work."""

from __future__ import annotations

import re
from functools import partial

import pytest
from _work import calls
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities.documents.grammars import GRAMMARS
from vllm_modalities.documents.grammars.parsed import Parsed
from vllm_modalities.documents.halves import Seam, joined
from vllm_modalities.documents.preparing import Frame
from vllm_modalities.documents.regions import composed, distinct
from vllm_modalities.documents.tables import grid, tables_in, to_html, to_pipes

# Marks of all grammars, whole and broken: models mix them up, and so do their merges.
MARKS = """
    <|ref|> <|/ref|> <|det|> <|/det|> [[ ]] [1,2,3,4] [[1,2,30,40]] <PAGE>
    [{ }] {"bbox":[1,2,3,4],"category":"Text","text":" "} "bbox": "text": \\" \\frac \\u00e9 [ ] { }
    \\ud83d \\ude00
    <x_0.1><y_0.2> <x_0.8><y_0.3> <class_Text> <class_Picture> <x_ <y_0. \\begin{tabular}{cc} & \\\\
    (1,2),(30,40) (1,2) ,(3,4) ( ) 金额(小写)
    <|LOC_1|> <|LOC_1|><|LOC_2|><|LOC_30|><|LOC_2|><|LOC_30|><|LOC_40|><|LOC_1|><|LOC_40|>
    <|TEXT_START|>
    <fcel> <ecel> <lcel> <ucel> <xcel> <nl> <ched> <otsl> </otsl>
    --- primary_language: rotation_correction: ![a](page_1_2_30_40.png) ![a](b) ![](
    <think> </think> ```markdown ``` </s> <|im_end|>
    <img> </img> <watermark> </watermark> <page_number> </page_number>
    <|box_start|>1_2_3_4<|box_end|> <|box_start|> <|box_end|> <|ref_start|>text<|ref_end|>
    <|rotate_up|>
    <div_data-bbox="[1,2,30,40]"_data-label="Text"> <div> </div> <p> </p>
    <ul> <li> </ul> <pre> </pre>
    <table> </table> <tr> <td> <td_colspan="9999"> <td_rowspan="3"> </td> <math> </math> <h2> </h2>
    <doctag> <text> </text> <loc_1><loc_2><loc_30><loc_40> <loc_9> <picture> </picture> <caption>
    <list_item> <ordered_list> </list_item> <code> <_Python_> </code> <formula> </formula>
    \\( \\) \\[ \\] $ $$ | a|b |-|-| # title[[1,2,3,4]]
"""
PIECES = [mark.replace("_", " ") if mark.startswith("<div") else mark for mark in MARKS.split()]
PIECES += ["\n", "\n\n", " ", "word", "<td colspan='9'>", "<|box_start|>1 2 30 40<|box_end|>"]
ANSWERS = st.text(max_size=80) | st.lists(
    st.sampled_from(PIECES) | st.text("aß中 \n<>|[]{}\\", max_size=5), max_size=40
).map("".join)
SIDES = st.integers(1, 5_000)
NAMES = st.sampled_from(sorted(GRAMMARS))


@given(name=NAMES, text=ANSWERS, width=SIDES, height=SIDES, edge=st.sampled_from([1, 500, 1000.0]))
def test_any_text_is_a_page(name: str, text: str, width: int, height: int, edge: float) -> None:
    page = GRAMMARS[name](text, Frame.whole(width, height, edge), 3)
    assert isinstance(page, Parsed)
    assert page.rotation in (0, 90, 180, 270)
    for words in (page.markdown, page.text, *page.warnings):
        words.encode()  # a file can hold it
    for order, block in enumerate(page.blocks):
        f"{block.type} {block.text}".encode()
        assert block.order == order
        assert block.text or block.boxes
        for x0, y0, x1, y1 in block.boxes:
            assert 0 <= x0 < x1 <= width
            assert 0 <= y0 < y1 <= height


@given(name=NAMES, text=ANSWERS)
def test_every_link_to_a_picture_is_ours(name: str, text: str) -> None:
    page = GRAMMARS[name](text, Frame.whole(99, 99, 99))
    if name != "grounding":  # it leaves Markdown as it is
        links = re.findall(r"!\[[^\[\]\n]*\]\(([^()\n]*)\)", page.markdown)
        assert all(re.fullmatch(r"figures/page-1-\d+\.png", link) for link in links)


@given(name=NAMES, text=ANSWERS)
def test_tables_of_any_page_are_rows_of_one_length(name: str, text: str) -> None:
    markdown = GRAMMARS[name](text, Frame.whole(99, 99, 99)).markdown
    ended = 0
    for start, end, cells in tables_in(markdown):
        assert ended <= start < end <= len(markdown)
        ended = end
        rows = grid(cells)
        assert len({len(row) for row in rows}) <= 1
        again = [grid(found) for _, _, found in tables_in(to_html(cells))]
        assert again in ([rows], [[]]) or not rows
        assert to_pipes(rows).count("\n") == (len(rows) if rows else 0)


@given(name=NAMES, text=ANSWERS, words=ANSWERS)
def test_any_layout_becomes_a_page_of_its_blocks(name: str, text: str, words: str) -> None:
    layout = distinct(GRAMMARS[name](text, Frame.whole(99, 99, 99)))
    assert [block.order for block in layout.blocks] == list(range(len(layout.blocks)))
    assert set(layout.turns) <= set(range(len(layout.blocks)))
    assert distinct(layout).blocks == layout.blocks
    page = composed(layout, dict.fromkeys(range(0, len(layout.blocks), 2), words), page=3)
    assert len(page.blocks) <= len(layout.blocks)
    assert all(block.text in page.markdown for block in page.blocks)


@given(name=NAMES, upper=ANSWERS, lower=ANSWERS, both=st.integers(0, 9))
def test_any_two_halves_are_a_page(name: str, upper: str, lower: str, both: int) -> None:
    seam = Seam(50 - both, 50 + both, 100)
    top, bottom = (
        GRAMMARS[name](text, Frame.whole(100, last - first, 100))
        for text, (first, last) in zip((upper, lower), seam.spans, strict=True)
    )
    page = joined(top, bottom, seam=seam, page=1)
    assert [block.order for block in page.blocks] == list(range(len(page.blocks)))
    assert page.blocks[: len(top.blocks)] == top.blocks
    for block in page.blocks:
        assert all(0 <= y0 < y1 <= 100 for _, y0, _, y1 in block.boxes)
    if not both:
        assert page.markdown.startswith(top.markdown)


@given(rows=st.lists(st.lists(st.text("ab1 é|", max_size=5), min_size=2, max_size=2), min_size=1))
def test_a_table_in_pipes_is_read_back(rows: list[list[str]]) -> None:
    trimmed = [[" ".join(text.split()) for text in row] for row in rows]
    [(_, _, cells)] = tables_in(to_pipes(trimmed))
    assert grid(cells) == trimmed


UNITS = [
    *(
        "<|det|>[[",
        "[[",
        "{",
        '{"bbox":[',
        '"',
        '\\"',
        '{"a":{',
        "<x_0.1><y_0.2>",
        "<x_",
        "<class_A>",
    ),
    *("(1,2),", "(1,2),(3,4)", "<|LOC_1|>", "<fcel>a", "<lcel>a", "<nl><ucel>a", "a: b\n", "---\n"),
    *("![a](page_1_2_3_4.png)", "![", "![a](", "</s>", "```", "```\n", "<think>", "</think>"),
    *("<img>", "<watermark>a", "<|box_start|>", "<|box_start|>1 2 3 4<|box_end|>", "<div", "<div>"),
    *(
        '<div data-bbox="1 2 3 4">',
        "</div>",
        "<ul><li>",
        "<table>",
        "<td",
        "<td rowspan=99 colspan=99>",
    ),
    *(
        "<text>",
        "</text>",
        "<loc_1>",
        "<picture><caption>",
        "<list_item>",
        "\\(",
        "\\[",
        "\\\\",
        "|a\n",
    ),
    *("| a | b |\n", "|-|-|\n", " ", "\n", "&amp;", "<", "a"),
]


@pytest.mark.parametrize("name", sorted(GRAMMARS))
def test_work_grows_with_the_text_and_no_faster(name: str) -> None:
    """Four times the text is at most five times the work; a square would be sixteen times it."""

    def read(text: str) -> None:
        page = GRAMMARS[name](text, Frame.whole(100, 100, 100))
        for _, _, cells in tables_in(page.markdown):
            grid(cells)

    fast = {}
    for unit in UNITS:
        few, many = (calls(partial(read, unit * (size // len(unit)))) for size in (5_000, 20_000))
        if many > 5 * few:
            fast[unit] = (few, many)
    assert fast == {}


@pytest.mark.parametrize("end", ["", ',{"bbox":[1,'])
def test_characters_that_json_spells_in_halves_are_whole(end: str) -> None:
    """A cut answer is read by other code than a sound one."""
    block = r'{"bbox":[1,2,30,40],"category":"T\ud83d","text":"a \ud83d\ude00 \ude00 b"}'
    page = GRAMMARS["layout-json"](f"[{block}{end or ']'}", Frame.whole(100, 100, 100.0))
    assert page.markdown == "a 😀 � b"
    assert page.blocks[0].type == "T�"
