from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from vllm_modalities.documents.blocks import Block
from vllm_modalities.documents.grammars.parsed import Parsed
from vllm_modalities.documents.halves import cut_row, joined


@given(
    lines=st.lists(st.tuples(st.integers(0, 390), st.integers(1, 12)), max_size=30),
    height=st.integers(1, 400),
)
def test_the_cut_is_in_the_middle_and_free_if_it_says_so(lines, height) -> None:
    page = Image.new("L", (20, height), 240)
    for top, size in lines:
        ImageDraw.Draw(page).rectangle((3, top, 17, top + size), fill=10)
    row, is_free = cut_row(page)
    assert 0 <= row <= height
    assert abs(row - height / 2) <= 0.15 * height + 1
    there = page.crop((0, row, 20, min(row + 1, height)))
    assert is_free == (row >= height or there.getextrema() == (240, 240))


def test_of_free_rows_the_nearest_to_the_middle_is_taken() -> None:
    page = Image.new("RGB", (20, 100), "white")
    ImageDraw.Draw(page).rectangle((3, 40, 17, 52), fill="black")
    assert cut_row(page) == (53, True)


def test_figures_are_counted_on_and_boxes_moved() -> None:
    figure = Block("image", "", ((0.0, 0.0, 9.0, 9.0),), 0)
    words = Block("text", "Words", ((0.0, 10.0, 9.0, 20.0),), 1)
    half = Parsed((figure, words), "![](figures/page-10-1.png)\n\nWords", "Words", ("doubt",))
    whole = joined(half, half, row=100, page=10)
    assert whole.markdown == (
        "![](figures/page-10-1.png)\n\nWords\n\n![](figures/page-10-2.png)\n\nWords"
    )
    assert [block.boxes[0][1] for block in whole.blocks] == [0, 10, 100, 110]
    assert [block.order for block in whole.blocks] == [0, 1, 2, 3]
    assert (whole.text, whole.warnings) == ("Words\n\nWords", ("doubt",))


def test_a_half_without_words_adds_nothing() -> None:
    half, empty = Parsed((), "Words", "Words"), Parsed((), "", "")
    assert joined(half, empty, row=5, page=1).markdown == "Words"
    assert joined(empty, half, row=5, page=1).markdown == "Words"
