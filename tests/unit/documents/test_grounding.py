from __future__ import annotations

import pytest

from vllm_modalities.documents.grammars import unmarked
from vllm_modalities.documents.grammars.grounding import parse
from vllm_modalities.documents.grammars.parsed import Parsed, plain
from vllm_modalities.documents.preparing import Frame


def read(text: str) -> Parsed:
    """`text` on a page where pixels are the model's own numbers."""
    return parse(text, Frame.whole(999, 999, 999))


def mark(label: str, boxes: str = "[[1, 2, 30, 40]]") -> str:
    return f"<|ref|>{label}<|/ref|><|det|>{boxes}<|/det|>"


def found(text: str) -> list[tuple[str, str, int]]:
    return [(block.type, block.text, len(block.boxes)) for block in read(text).blocks]


PAGE = (
    f"{mark('title', '[[80, 40, 910, 92]]')}\n# Annual note\n\n"
    f"{mark('text', '[[80,120,900,300]]')}\nBody."
)


def test_blocks_have_their_types_words_and_order() -> None:
    page = read(PAGE)
    assert [(b.type, b.text, b.order) for b in page.blocks] == [
        ("title", "# Annual note", 0),
        ("text", "Body.", 1),
    ]
    assert page.markdown == "# Annual note\n\nBody."
    assert page.text == "Annual note\n\nBody."
    assert page.warnings == ()


def test_boxes_are_scaled_to_the_page() -> None:
    page = parse(mark("text", "[[0, 111, 333, 999]]"), Frame.whole(1998, 3996, 999))
    assert page.blocks[0].boxes == ((0.0, 444.0, 666.0, 3996.0),)


def test_a_block_may_have_several_boxes() -> None:
    page = read(f"{mark('text', '[[80,120,450,300],[520,120,900,280]]')}\nTwo columns.")
    assert page.blocks[0].boxes == ((80, 120, 450, 300), (520, 120, 900, 280))


def test_words_as_the_label_are_words_of_the_page() -> None:
    page = read(f"{mark('Total: [12]')}\n{mark('title')}")
    assert page.markdown == "Total: [12]\ntitle"
    assert [(block.type, block.text) for block in page.blocks] == [
        ("text", "Total: [12]"),
        ("text", "title"),
    ]


def test_words_as_labels_without_a_line_break_are_kept_apart() -> None:
    assert read(mark("Total") + mark("12.50")).markdown == "Total\n12.50"
    assert read(f"a{mark('b c')}d").markdown == "a b c d"


def test_a_label_inside_a_sentence_is_a_word() -> None:
    page = read(f"A {mark('table')} of {mark('oak')}.")
    assert page.markdown == "A table of oak."
    assert [block.text for block in page.blocks] == ["table", "oak"]


def test_an_unknown_label_on_a_line_of_its_own_is_a_type() -> None:
    assert found(f"{mark('side_note')}\nWords.") == [("side_note", "Words.", 1)]


def test_a_label_alone_on_a_page_of_known_types_is_a_type() -> None:
    assert found(mark("image")) == [("image", "", 1)]


def test_figures_become_links_one_a_box_numbered_over_the_page() -> None:
    text = f"{mark('image', '[[0,0,9,9],[20,20,30,30]]')}\n{mark('image')}\n{mark('text')}\nWords."
    page = parse(text, Frame.whole(999, 999, 999), page=7)
    assert page.markdown == (
        "![](figures/page-7-1.png)\n![](figures/page-7-2.png)\n\n"
        "![](figures/page-7-3.png)\n\nWords."
    )
    assert page.text == "Words."


def test_a_figure_without_a_good_box_has_no_link() -> None:
    page = read(f"{mark('image', '[[5, 5, 5, 5]]')}\n{mark('text')}\nWords.")
    assert page.markdown == "Words."
    assert page.warnings == ("box dropped, since it has no area: '[5, 5, 5, 5]'",)


@pytest.mark.parametrize(
    ("boxes", "expected", "said"),
    [
        ("[[950, 20, 1003, 60]]", ((950, 20, 999, 60),), "box clamped, since it leaves the page"),
        ("[[-7, 20, 30, 60]]", ((0, 20, 30, 60),), "box clamped, since it leaves the page"),
        ("[[400,300,100,200]]", ((100, 200, 400, 300),), "box with its corners swapped sorted"),
        ("[[1,2,3]]", (), "box dropped, since it is not four numbers"),
        ("[[1,2,3,4,5]]", (), "box dropped, since it is not four numbers"),
        ("[[1,2,3,x]]", (), "box dropped, since it is not four numbers"),
        ("[[]]", (), "box dropped, since it is not four numbers"),
        ("[[9,2,9,40]]", (), "box dropped, since it has no area"),
        ("[[1000,0,1001,40]]", (), "box clamped, since it leaves the page"),
        (f"[[1,2,{'9' * 5000},40]]", ((1, 2, 999, 40),), "box clamped, since it leaves the page"),
        ("", (), "mark without a box"),
        ("[[1,2,3,4], 5 words]", ((1, 2, 3, 4),), "words inside a list of boxes dropped"),
        ("near [[1,2,3,4]]", ((1, 2, 3, 4),), "words inside a list of boxes dropped"),
        ("__import__('os')", (), "words inside a list of boxes dropped"),
    ],
)
def test_bad_boxes_are_repaired_or_dropped_and_told(
    boxes: str, expected: tuple[tuple[int, ...], ...], said: str
) -> None:
    page = read(f"{mark('text', boxes)}\nWords.")
    assert page.blocks[0].boxes == expected
    assert page.markdown == "Words."
    assert page.warnings[0].startswith(said)


def test_decimal_coordinates_are_read() -> None:
    assert read(mark("text", "[[1.5, 2, 30.25, 40]]")).blocks[0].boxes == ((1.5, 2, 30.25, 40),)


def test_a_warning_is_given_once_with_the_count() -> None:
    text = f"{mark('text', '[[1,2,3]]')}\nA.\n\n" * 3
    assert read(text).warnings == (
        "box dropped, since it is not four numbers: '[1,2,3]' (and 2 more)",
    )


CUTS = {
    "<|ref|>tab": "output cut inside a label, which was dropped: 'tab'",
    "<|ref|>table<|/ref|>": "label without a box: 'table'",
    "<|ref|>table<|/ref|><|det|>": "output cut inside a list of boxes: ''",
    "<|ref|>table<|/ref|><|det|>[[90, 400, 880": "output cut inside a list of boxes",
    "<|ref|>table<|/ref|><|det|>[[90, 4": "output cut inside a list of boxes",
}


@pytest.mark.parametrize(("tail", "said"), CUTS.items())
def test_a_cut_block_leaves_the_text_before_and_is_told(tail: str, said: str) -> None:
    page = read(f"{PAGE}\n\n{tail}")
    assert page.markdown == read(PAGE).markdown
    assert len(page.blocks) == 2
    assert page.warnings[0].startswith(said)


def test_a_cut_list_keeps_its_complete_boxes() -> None:
    page = read("<|ref|>table<|/ref|><|det|>[[90,120,900,300],[520, 120")
    assert page.blocks[0].boxes == ((90, 120, 900, 300),)


def test_words_behind_a_list_that_is_never_closed_are_kept() -> None:
    page = read(f"<|ref|>title<|/ref|><|det|>[[1,2,30,40]]\n# Head\n\n{mark('text')}\nBody.")
    assert page.markdown == "# Head\n\nBody."
    assert page.blocks[0].boxes == ((1, 2, 30, 40),)
    assert page.warnings == ("list of boxes never closed: '[[1,2,30,40]] # Head'",)


def test_words_in_place_of_a_list_that_is_never_closed_are_kept() -> None:
    assert read(f"<|det|>Words here\n{mark('text')}\nBody.").markdown == "Words here\n\nBody."


def test_a_label_that_is_never_closed_still_has_its_box() -> None:
    page = read("<|ref|>title<|det|>[[1,2,30,40]]<|/det|>\n# Head")
    assert [(block.type, block.text) for block in page.blocks] == [("title", "# Head")]
    assert page.warnings == ("label that is never closed: 'title'",)


def test_stray_markers_are_dropped_and_their_words_kept() -> None:
    page = read("One <|/det|>two<|ref|> three<|ref|>x<|/ref|>")
    assert page.markdown == "One two three x"
    assert page.warnings[0] == "stray marker dropped: '<|/det|>' (and 1 more)"


def test_a_known_label_without_a_box_is_a_block_without_boxes() -> None:
    assert found("<|ref|>title<|/ref|>\n# Head") == [("title", "# Head", 0)]


def test_the_label_may_stand_inside_the_box() -> None:
    page = read(
        "<|det|>text [10, 20, 500, 90]<|/det|>Hi [1] there.\n<|det|>image [0, 0, 9, 9]<|/det|>"
    )
    assert [(block.type, block.text, block.boxes) for block in page.blocks] == [
        ("text", "Hi [1] there.", ((10, 20, 500, 90),)),
        ("image", "", ((0, 0, 9, 9),)),
    ]
    assert page.markdown == "Hi [1] there.\n\n![](figures/page-1-1.png)"
    assert page.warnings == ()


def test_a_box_without_any_label_is_text() -> None:
    assert found("<|det|>[[1,2,3,4]]<|/det|>\nWords.") == [("text", "Words.", 1)]


def test_words_inside_a_box_that_are_no_type_are_kept() -> None:
    assert read("<|det|>two words [1, 2, 3, 4]<|/det|> more").markdown.split() == [
        "two",
        "words",
        "more",
    ]


def test_the_page_marker_is_dropped() -> None:
    page = read("<PAGE><|det|>text [10, 20, 500, 90]<|/det|>Hi.")
    assert (page.markdown, page.warnings) == ("Hi.", ())


def test_several_pages_in_one_are_told() -> None:
    page = read("<PAGE><|det|>text [10, 20, 500, 90]<|/det|>Hi.\n<PAGE>")
    assert page.markdown == "Hi."
    assert page.warnings[0].startswith("output of 2 pages read as one page")


def test_a_page_marker_within_the_words_is_a_word() -> None:
    assert read("The tag\n<PAGE> opens a page.").markdown == "The tag\n<PAGE> opens a page."


@pytest.mark.parametrize(
    ("text", "markdown", "types"),
    [
        ("title [34, 88, 370, 172]INVOICE", "INVOICE", ["title"]),
        (
            "title[[80, 40, 910, 92]]\n# Note\n\ntext[[1,2,3,4]]\nA.",
            "# Note\n\nA.",
            ["title", "text"],
        ),
        ("image_caption[[1,2,3,4]]\nFig.", "Fig.", ["image_caption"]),
        (
            "Total: [12][[10,10,200,40]]\n\nNext[[1,50,20,90]]",
            "Total: [12]\nNext",
            ["text", "text"],
        ),
    ],
)
def test_an_output_without_special_tokens_is_read_and_told(
    text: str, markdown: str, types: list[str]
) -> None:
    page = read(text)
    assert page.markdown == markdown
    assert [block.type for block in page.blocks] == types
    assert "send skip_special_tokens=false" in page.warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        "# Note\n\nsee [1, 2, 3, 4]",
        "A = [[1, 2], [3, 4]]",
        "a[[1,2,3,4]]\nb",
        "Some.\ntext[[1,2,3,4]]",
    ],
)
def test_plain_markdown_is_left_alone(text: str) -> None:
    assert read(text) == Parsed((), text, plain(text))


def test_the_official_replacements_are_made() -> None:
    page = read(f"{mark('equation')}\n\\[a \\coloneqq b \\eqqcolon c\\]\n\n\n\n{mark('text')}\nA.")
    assert page.markdown == "$$a := b =: c$$\n\nA."


def test_the_end_of_text_is_dropped() -> None:
    assert read("Words.<｜end▁of▁sentence｜>").markdown == "Words."


def test_nothing_is_an_empty_page() -> None:
    assert read(" \n ") == Parsed((), "", "")


def test_plain_text_sets_cells_apart_and_keeps_other_angles() -> None:
    table = "## Sum\n<table><tr><td>a</td><th>b</th></tr><tr><td>x < y > z</td></tr></table>1<br/>2"
    assert plain(table) == "Sum\na\tb\nx < y > z\n1\n2"


def test_a_model_without_marks_gives_its_markdown() -> None:
    assert unmarked.parse(" # A\n", Frame.whole(1, 1, 999)) == Parsed((), "# A", "A")
