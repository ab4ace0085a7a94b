from __future__ import annotations

import json
import pathlib
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from vllm_modalities.documents.blocks import Block, Document, Page
from vllm_modalities.documents.grammars.grounding import parse
from vllm_modalities.documents.preparing import Frame

WIDTH, HEIGHT = 200, 300
TEXT = (
    "<|ref|>title<|/ref|><|det|>[[0, 0, 999, 99]]<|/det|>\n# A <script>\n\n"
    "<|ref|>image<|/ref|><|det|>[[500, 500, 999, 999]]<|/det|>\n"
)


def page(number: int = 1, *, kept: bool = True) -> Page:
    parsed = parse(TEXT, Frame.whole(WIDTH, HEIGHT, 999), number)
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    image.paste((255, 0, 0), (101, 151, WIDTH, HEIGHT))
    return Page(
        number=number,
        width=WIDTH,
        height=HEIGHT,
        markdown=parsed.markdown,
        text=parsed.text,
        blocks=parsed.blocks,
        finish_reason="stop",
        picture=image if kept else None,
    )


def test_pages_are_joined_in_order() -> None:
    document = Document((page(1), page(2)), "deepseek-ocr")
    assert document.markdown == (
        "# A <script>\n\n![](figures/page-1-1.png)\n\n---\n\n"
        "# A <script>\n\n![](figures/page-2-1.png)"
    )
    assert document.text == "A <script>\n\nA <script>"
    assert len(document) == 2
    assert [each.number for each in document] == [1, 2]


def test_the_dict_is_json_and_tells_all_but_the_picture() -> None:
    document = Document((page(),), "deepseek-ocr", ("doubtful",), raw=(b"{}",))
    again = json.loads(json.dumps(document.to_dict()))
    assert again["model"] == "deepseek-ocr"
    assert again["warnings"] == ["doubtful"]
    [first] = again["pages"]
    assert (first["width"], first["height"], first["finish_reason"]) == (WIDTH, HEIGHT, "stop")
    assert first["blocks"][0]["type"] == "title"
    assert first["blocks"][0]["boxes"][0][2] == WIDTH
    assert "image" not in first


def test_saving_writes_markdown_and_the_figures_it_links_to(tmp_path: pathlib.Path) -> None:
    document = Document((page(1), page(3)), "deepseek-ocr")
    target = document.save(tmp_path / "new" / "folder")
    assert target == tmp_path / "new" / "folder" / "document.md"
    assert target.read_text("utf-8") == document.markdown + "\n"
    for number in (1, 3):
        with Image.open(target.parent / f"figures/page-{number}-1.png") as figure:
            assert figure.size == (100, 150)
            assert figure.getpixel((5, 5)) == (255, 0, 0)


def test_saving_twice_replaces(tmp_path: pathlib.Path) -> None:
    document = Document((page(),), "deepseek-ocr")
    assert document.save(str(tmp_path)) == document.save(tmp_path)


def test_a_figure_whose_page_was_not_kept_leaves_a_comment(tmp_path: pathlib.Path) -> None:
    saved = Document((page(kept=False),), "m").save(tmp_path).read_text("utf-8")
    assert "<!-- a figure of page 1 at (100, 150, 200, 300); its image was not kept -->" in saved
    assert "![]" not in saved
    assert not (tmp_path / "figures").exists()


def test_the_overlay_draws_boxes_and_leaves_the_page() -> None:
    document = Document((page(),), "deepseek-ocr")
    before = document.pages[0].image
    assert before is not None
    untouched = before.tobytes()
    drawn = document.overlay()
    assert drawn.size == (WIDTH, HEIGHT)
    assert before.tobytes() == untouched
    changed = np.argwhere((np.asarray(drawn) != np.asarray(before)).any(axis=2))
    assert changed.min(axis=0).tolist() == [0, 0]
    assert changed.max(axis=0).tolist() == [HEIGHT - 1, WIDTH - 1]
    assert drawn.tobytes() == document.overlay(document.pages[0]).tobytes()


def test_an_overlay_needs_the_page_and_its_picture() -> None:
    document = Document((page(kept=False),), "deepseek-ocr")
    with pytest.raises(ValueError, match="image of page 1 was not kept"):
        document.overlay(1)
    with pytest.raises(KeyError, match=r"no page 2; there are \[1\]"):
        document.overlay(2)


def test_a_grey_page_is_drawn_on_in_colour() -> None:
    grey = replace(page(), picture=Image.new("L", (WIDTH, HEIGHT)))
    assert Document((grey,)).overlay().mode == "RGB"


def test_html_shows_what_the_model_wrote_and_runs_none_of_it() -> None:
    doubtful = replace(page(), warnings=("<b>cut</b>",))
    html = Document((doubtful,), "deepseek-ocr").to_html()
    assert html.startswith("<!doctype html>")
    assert "# A &lt;script&gt;" in html
    assert "&lt;b&gt;cut" in html
    assert "data:image/jpeg;base64," in html


def test_a_notebook_shows_the_same_without_a_head() -> None:
    document = Document((page(kept=False),), "deepseek-ocr")
    shown = document._repr_html_()
    assert shown in document.to_html()
    assert "<img" not in shown


def test_reprs_are_short() -> None:
    one = replace(page(), text="word " * 900, warnings=("doubtful",))
    shown = "'word word word word word word word word …'"
    assert repr(one) == f"Page(1: 200x300, 2 blocks, {shown}, 1 warning)"
    assert repr(Document((page(),))) == "Document(1 page: Page(1: 200x300, 2 blocks, 'A <script>'))"
    assert repr(Document((page(),) * 9)).startswith("Document(9 pages: Page(1")
    assert repr(Document((page(),) * 9)).endswith(", …)")


def test_a_block_is_plain_values() -> None:
    block = Block("text", "Words.", ((0.0, 0.0, 1.5, 2.0),), 3)
    assert block.to_dict() == {
        "type": "text",
        "text": "Words.",
        "boxes": [[0.0, 0.0, 1.5, 2.0]],
        "order": 3,
    }


def test_a_picture_may_be_read_again_each_time_it_is_wanted() -> None:
    read = []

    def again() -> Image.Image:
        read.append(1)
        return Image.new("RGB", (WIDTH, HEIGHT))

    one = replace(page(), picture=again)
    assert read == []
    assert one.image is not None
    assert one.image.size == (WIDTH, HEIGHT)
    assert len(read) == 2


def test_a_page_can_be_made_of_its_dict() -> None:
    one = replace(page(2), warnings=("doubtful",), source=3)
    again = Page.from_dict(json.loads(json.dumps(one.to_dict())), source=3)
    assert again.to_dict() == one.to_dict()
    assert again.blocks == one.blocks
    assert (again.source, again.image) == (3, None)
