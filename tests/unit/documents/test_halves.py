"""Where a page is parted, and how what was read of both halves becomes one page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from vllm_modalities.documents.blocks import Block
from vllm_modalities.documents.grammars.parsed import Parsed, plain
from vllm_modalities.documents.halves import Seam, cut, joined

FREE, OVERLAPPING = Seam(100, 100, 200), Seam(90, 110, 200)


@given(
    lines=st.lists(st.tuples(st.integers(0, 390), st.integers(1, 12)), max_size=30),
    height=st.integers(1, 400),
    paper=st.sampled_from([240, 10]),
)
def test_the_cut_is_in_the_middle_and_the_halves_overlap_where_no_row_is_free(
    lines, height, paper
) -> None:
    page = Image.new("L", (40, height), paper)
    for top, size in lines:
        ImageDraw.Draw(page).rectangle((3, top, 17, top + size), fill=250 - paper)
    seam = cut(page)
    (first, upper), (lower, last) = seam.spans
    assert (first, last) == (0, height)
    assert 0 <= lower <= upper <= height
    row = (lower + upper) / 2
    assert abs(row - height / 2) <= 0.16 * height + 1
    there = page.crop((0, lower, 40, min(lower + 1, height)))
    assert seam.overlaps or lower >= height or there.getextrema() == (paper, paper)
    assert seam.overlaps == (lower < upper)


def test_of_free_rows_the_nearest_to_the_middle_is_taken() -> None:
    page = Image.new("RGB", (40, 100), "white")
    ImageDraw.Draw(page).rectangle((3, 40, 17, 52), fill="black")
    assert cut(page) == Seam(53, 53, 100)


def test_a_ruled_page_is_parted_between_its_lines_though_no_row_is_free() -> None:
    page = Image.new("L", (60, 200), "white")
    ImageDraw.Draw(page).rectangle((5, 0, 6, 199), fill="black")  # a rule from top to bottom
    for top in range(0, 200, 20):
        ImageDraw.Draw(page).rectangle((10, top, 50, top + 12), fill="black")
    seam = cut(page)
    middle = (seam.top + seam.bottom) // 2
    assert seam.overlaps
    assert 12 < middle % 20 < 20


def read(markdown: str, *blocks: Block) -> Parsed:
    return Parsed(blocks, markdown, plain(markdown))


def test_figures_are_counted_on_and_boxes_moved() -> None:
    figure = Block("image", "", ((0.0, 0.0, 9.0, 9.0),), 0)
    words = Block("text", "Words", ((0.0, 10.0, 9.0, 20.0),), 1)
    markdown = "![](figures/page-10-1.png)\n\nWords"
    half = Parsed(
        (figure, words), markdown, "Words", ("doubt",), turns={1: 90}, follows=frozenset({1})
    )
    whole = joined(half, half, seam=FREE, page=10)
    assert whole.markdown == (
        "![](figures/page-10-1.png)\n\nWords\n\n![](figures/page-10-2.png)\n\nWords"
    )
    assert [block.boxes[0][1] for block in whole.blocks] == [0, 10, 100, 110]
    assert [block.order for block in whole.blocks] == [0, 1, 2, 3]
    assert (whole.text, whole.warnings) == ("Words\n\nWords", ("doubt",))
    assert (whole.turns, whole.follows) == ({1: 90, 3: 90}, {1, 3})


def test_a_half_without_words_adds_nothing() -> None:
    half, empty = read("Words"), read("")
    assert joined(half, empty, seam=FREE, page=1).markdown == "Words"
    assert joined(empty, half, seam=FREE, page=1).markdown == "Words"


@given(
    words=st.lists(st.integers(0, 10**9), min_size=30, max_size=60, unique=True),
    shared=st.integers(6, 12),
    between=st.sampled_from([" ", "\n\n", " | "]),
)
def test_what_both_halves_say_stands_once_and_nothing_is_lost(words, shared, between) -> None:
    written = [f"w{word}" for word in words]
    upper, lower = written[: 15 + shared], written[15:]
    top = read(between.join([*upper, "clipp"]))
    bottom = read(between.join(["pped", *lower]))
    whole = joined(top, bottom, seam=OVERLAPPING, page=1)
    assert whole.markdown == between.join(written)
    assert whole.warnings == ()


def test_chinese_is_met_by_its_characters() -> None:
    text = "页面中间没有空行时两半会重叠并且相同的文字只出现一次"
    whole = joined(read(text[:18]), read(text[8:]), seam=OVERLAPPING, page=1)
    assert whole.markdown == text


def test_a_table_that_is_cut_through_stays_one_table() -> None:
    rows = [f"<tr><td>{n}</td><td>tea {n}</td></tr>" for n in range(12)]
    top, bottom = (read(f"<table>{''.join(part)}</table>") for part in (rows[:8], rows[4:]))
    whole = joined(top, bottom, seam=OVERLAPPING, page=1)
    assert whole.markdown == f"<table>{''.join(rows)}</table>"


@pytest.mark.parametrize(
    ("top", "bottom"),
    [
        ("one two three four", "five six seven eight"),
        ("<td></td><td></td><td></td>", "<td></td><td></td><td></td>"),
        ("a b c d e f g ![](figures/page-1-1.png)", "a b c d e f g h"),
        ("a b c d e f g", "![](figures/page-1-1.png) a b c d e f g h"),
    ],
    ids=["nothing alike", "only marks alike", "a figure above", "a figure below"],
)
def test_where_the_halves_meet_is_not_guessed(top: str, bottom: str) -> None:
    whole = joined(read(top), read(bottom), seam=OVERLAPPING, page=1)
    assert whole.markdown.startswith(f"{top}\n\n")
    assert whole.warnings == ("where the halves overlap, words may stand twice",)


def test_a_block_that_both_halves_show_is_one_block_and_a_figure_stays() -> None:
    same = "a b c d e f g"
    upper = Block("text", same, ((0, 60, 50, 100),), 0)
    lower = [
        Block("text", same, ((0, 0, 50, 12),), 0),
        Block("image", "", ((0, 0, 50, 12),), 1),
        Block("text", "h", ((0, 40, 50, 60),), 2),
    ]
    whole = joined(read(same, upper), read(f"{same} h", *lower), seam=OVERLAPPING, page=1)
    assert whole.markdown == f"{same} h"
    assert [(block.type, block.boxes[0][1]) for block in whole.blocks] == [
        ("text", 60),
        ("image", 90),
        ("text", 130),
    ]
