"""Families that read a page in two steps: where its blocks are, and then what each of them says."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable

import pytest
from _pages import Ask, Gate, Reader, document, spoken
from _script import BLOCKING, URL, Talker, status
from PIL import Image, ImageDraw

from vllm_modalities import AuthenticationError, InternalServerError, InvalidRequestError, Profile
from vllm_modalities.profiles import OCRProfile, Steps

LAYOUT, TEXT, TABLE, FORMULA = (
    f"\n{what}:"
    for what in ("Layout Detection", "Text Recognition", "Table Recognition", "Formula Recognition")
)
MODEL = "MinerU2.5-2509-1.2B"
GREYS = {"title": 10, "text": 40, "table": 80, "equation": 120, "image": 160, "list": 200}
# In the shape of myhloli/mineru-vl-utils tests/fixtures/baige_page8_layout.txt: three digits, a
# line a block, a list around its parts, and parts that come twice.
BLOCKS = [
    ("title", (100, 50, 900, 100), "up"),
    ("text", (100, 120, 480, 400), "up"),
    ("image", (520, 120, 900, 400), "up"),
    ("table", (100, 450, 900, 600), "up"),
    ("equation", (100, 650, 900, 700), "up"),
]
SIZE = (500, 800)


def layout(*blocks: tuple[str, tuple[int, ...], str]) -> str:
    return "".join(
        f"<|box_start|>{' '.join(f'{side:03}' for side in box)}<|box_end|>"
        f"<|ref_start|>{kind}<|ref_end|><|rotate_{turn}|>\n"
        for kind, box, turn in blocks
    )


def page_of(*blocks: tuple[str, tuple[int, ...], str]) -> Image.Image:
    """Each block in a grey of its own, with a black corner where its words begin."""
    page = Image.new("L", SIZE, 255)
    draw = ImageDraw.Draw(page)
    for kind, box, _ in blocks:
        x0, y0, x1, y1 = (side * SIZE[n % 2] // 1000 for n, side in enumerate(box))
        draw.rectangle((x0, y0, x1 - 1, max(y0, y1 - 1)), fill=GREYS[kind])
    return page


def words_of(ask: Ask) -> str:
    return str(ask.fields["messages"][-1]["content"][-1]["text"])


def grey_of(ask: Ask) -> int:
    """The grey of most of the picture."""
    with Image.open(io.BytesIO(ask.picture)) as image:
        counts = image.convert("L").histogram()
    return counts.index(max(counts))


SAID = {
    "title": "An oak",
    "text": "The oak grows.",
    "table": "<fcel>A<fcel>B<nl><fcel>1<lcel><nl>",
    "equation": r"\[ E = m \]",
}
KINDS = {grey: kind for kind, grey in GREYS.items()}


def reader(*blocks, says: Callable[[str, Ask], object] | None = None) -> Reader:
    """A MinerU that finds these blocks, and says of each what its grey stands for."""

    def answers(ask: Ask):
        if words_of(ask) == LAYOUT:
            return layout(*blocks)
        kind = KINDS[grey_of(ask)]
        return (says and says(kind, ask)) or SAID[kind]

    return Reader(model=MODEL, answers=answers)


def test_a_page_is_its_blocks_in_the_order_of_the_layout_each_read_in_its_own_words(talk) -> None:
    server = reader(*BLOCKS)
    (page,) = talk(server).ocr(page_of(*BLOCKS))
    assert page.markdown == (
        "# An oak\n\nThe oak grows.\n\n![](figures/page-1-1.png)\n\n"
        '<table>\n<tr><td>A</td><td>B</td></tr>\n<tr><td colspan="2">1</td></tr>\n</table>\n\n'
        "$$E = m$$"
    )
    assert [(block.type, block.boxes[0]) for block in page.blocks] == [
        (kind, tuple(side * SIZE[n % 2] / 1000 for n, side in enumerate(box)))
        for kind, box, _ in BLOCKS
    ]
    assert (page.finish_reason, page.warnings) == ("stop", ())
    assert page.tables() == [[["A", "B"], ["1", ""]]]
    assert sorted((KINDS[grey_of(ask)], words_of(ask)) for ask in server.asks[1:]) == [
        ("equation", FORMULA),
        ("table", TABLE),
        ("text", TEXT),
        ("title", TEXT),
    ]


def test_the_layout_is_asked_of_a_square_and_blocks_as_they_are_on_the_page(talk) -> None:
    server = reader(*BLOCKS)
    talk(server).ocr(page_of(*BLOCKS))
    first, *blocks = server.asks
    assert first.size == (1036, 1036)
    assert {KINDS[grey_of(ask)]: ask.size for ask in blocks} == {
        "title": (400, 40),
        "text": (190, 224),
        "table": (400, 120),
        "equation": (400, 40),
    }


def test_each_task_has_its_own_sampling(talk) -> None:
    server = reader(*BLOCKS)
    talk(server).ocr(page_of(*BLOCKS))
    penalties = {
        words_of(ask): tuple(
            ask.fields.get(name) for name in ("presence_penalty", "frequency_penalty", "top_k")
        )
        for ask in server.asks
    }
    assert penalties == {
        LAYOUT: (None, None, 1),
        TEXT: (1.0, 0.05, 1),
        TABLE: (1.0, 0.005, 1),
        FORMULA: (1.0, 0.05, 1),
    }


@pytest.mark.parametrize(
    ("box", "size"),
    [((100, 100, 130, 110), (53, 28)), ((0, 100, 1000, 101), (1400, 28))],
    ids=["small", "narrow"],
)
def test_a_small_block_is_made_larger_and_a_narrow_one_gets_white_beside_it(
    talk, box, size
) -> None:
    blocks = [("text", box, "up")]
    server = Reader(model=MODEL, answers=lambda ask: layout(*blocks) * (words_of(ask) == LAYOUT))
    talk(server).ocr(page_of(*blocks), repair=False)
    assert server.asks[1].size == size


@pytest.mark.parametrize("turn", ["right", "down", "left"])
def test_a_block_that_lies_otherwise_is_turned_before_it_is_read(talk, turn) -> None:
    """Its black corner, where the words begin, is at the upper left of the picture that is sent."""
    block = ("text", (200, 200, 600, 400), turn)
    page = page_of(block)
    corner = {"right": (299, 160), "down": (299, 319), "left": (100, 319)}[turn]
    page.putpixel(corner, 0)
    server = reader(block)
    found = talk(server).ocr(page)
    with Image.open(io.BytesIO(server.asks[1].picture)) as sent:
        assert sent.convert("L").getpixel((0, 0)) == 0
        assert sent.size == ((200, 160) if turn == "down" else (160, 200))
    assert found.text == "The oak grows."
    assert found.warnings == (f"block that is turned: '<|rotate_{turn}|>'",)


def test_blocks_that_stand_twice_or_inside_a_table_are_read_once_and_told(talk) -> None:
    blocks = [
        ("text", (100, 100, 900, 200), "up"),
        ("list", (100, 100, 900, 400), "up"),
        ("text", (101, 100, 900, 200), "up"),
        ("table", (100, 450, 900, 600), "up"),
        ("text", (120, 460, 400, 500), "up"),
        ("text", (100, 100, 900, 200), "left"),
    ]
    server = reader(*blocks)
    (page,) = talk(server).ocr(page_of(*blocks[:1], *blocks[3:4]))
    assert [block.type for block in page.blocks] == ["text", "list", "table", "text"]
    assert len(server.asks) == 1 + 3
    assert page.warnings[1:] == (
        "block that stands where another one does dropped: 'text [50.5 80 450 160]'",
        "block inside a table dropped, since the table is read whole: 'text [60 368 200 400]'",
    )


@pytest.mark.parametrize(
    ("words", "paragraph"),
    [
        (("The oak grows", "slowly."), "The oak grows slowly."),
        (("It grows well-", "known."), "It grows well-known."),
        (("橡树", "长大。"), "橡树长大。"),
    ],
)
def test_words_that_go_on_in_the_next_column_are_one_paragraph(talk, words, paragraph) -> None:
    columns = [(100, 100, 480, 900), (520, 100, 900, 400)]
    first, second = (layout(("text", box, "up")) for box in columns)
    between = layout(("image", (520, 500, 900, 900), "up"))
    said = iter(words)

    def answers(ask):
        if words_of(ask) == LAYOUT:
            return first + between + second.strip() + "txt_contd_tgt"
        return next(said)

    (page,) = talk(Reader(model=MODEL, answers=answers), max_concurrency=1).ocr(page_of())
    assert page.markdown == f"{paragraph}\n\n![](figures/page-1-1.png)"
    assert [block.text for block in page.blocks] == [words[0], "", words[1]]


def test_words_do_not_go_on_from_a_block_that_failed(talk) -> None:
    boxes = [(100, top, 900, top + 90) for top in (100, 300, 500)]
    one, other, last = (layout(("text", box, "up")) for box in boxes)
    said = iter(["First.", status(400, "no")(None), "goes on."])

    def answers(ask):
        return (
            one + other + last.strip() + "txt_contd_tgt" if words_of(ask) == LAYOUT else next(said)
        )

    (page,) = talk(Reader(model=MODEL, answers=answers), max_concurrency=1).ocr(page_of())
    assert page.markdown == "First.\n\ngoes on."


def test_a_layout_that_goes_on_and_on_is_bounded(talk) -> None:
    """Each block is a request, and none of these stands where another does."""
    blocks = [
        ("text", (x, y, x + 9, y + 9), "up") for x in range(0, 1000, 20) for y in range(0, 240, 20)
    ]
    server = Reader(
        model=MODEL, answers=lambda ask: layout(*blocks) if words_of(ask) == LAYOUT else "Oak."
    )
    (page,) = talk(server).ocr(page_of(), repair=False)
    assert len(blocks) == 600
    assert len(server.asks) == 1 + 500 == 1 + len(page.blocks)
    assert page.warnings == ("block beyond the first 500 dropped: 'text' (and 99 more)",)


def test_a_block_that_fails_keeps_the_page_and_is_named(talk) -> None:
    def says(kind, ask):
        return status(400, "no tables today")(None) if kind == "table" else None

    document = talk(reader(*BLOCKS, says=says)).ocr(page_of(*BLOCKS))
    (page,) = document
    assert page.finish_reason == "error"
    assert page.text.startswith("An oak\n\nThe oak grows.")
    assert page.blocks[3].type == "table"
    assert page.blocks[3].text == ""
    (warning,) = document.warnings
    assert warning.startswith("block 3 (table): it could not be read: HTTP 400: no tables today")


def test_a_page_whose_blocks_all_fail_has_failed(talk) -> None:
    def says(kind, ask):
        return status(500, "out of order")(None)

    with pytest.raises(InternalServerError, match="out of order"):
        talk(reader(*BLOCKS, says=says), max_retries=0).ocr(page_of(*BLOCKS))


def test_a_key_that_is_refused_half_way_ends_the_call(talk) -> None:
    def says(kind, ask):
        return status(401, "no")(None) if kind == "table" else None

    with pytest.raises(AuthenticationError):
        talk(reader(*BLOCKS, says=says)).ocr(page_of(*BLOCKS))


def test_a_block_is_checked_and_repaired_as_a_page_is(talk) -> None:
    def says(kind, ask):
        return {"table": "<fcel>0" * 900 if not ask.temperature else None}.get(kind)

    (page,) = talk(reader(*BLOCKS, says=says)).ocr(page_of(*BLOCKS))
    assert page.finish_reason == "stop"
    assert page.warnings == (
        "block 3 (table): the block was read at temperature 0.2: at 0 the answer ended in a loop",
    )


def test_a_block_that_stays_cut_leaves_the_page_cut(talk) -> None:
    def says(kind, ask):
        return ("The oak", "length") if kind == "text" else None

    (page,) = talk(reader(*BLOCKS, says=says)).ocr(page_of(*BLOCKS), max_tokens=9)
    assert page.finish_reason == "length"
    assert page.warnings == (
        "block 1 (text): the block is cut: the model did not end it by itself ('length')",
    )


def test_a_layout_that_is_cut_leaves_the_page_cut(talk) -> None:
    server = Reader(
        model=MODEL,
        answers=lambda ask: (layout(BLOCKS[1]), "length") if words_of(ask) == LAYOUT else "Oak.",
    )
    (page,) = talk(server).ocr(page_of(*BLOCKS), max_tokens=9)
    assert (page.text, page.finish_reason) == ("Oak.", "length")
    assert page.warnings == ("the layout is cut: the model did not end it by itself ('length')",)


def test_a_page_without_blocks_is_asked_for_once(talk) -> None:
    server = Reader(model=MODEL, answers=lambda ask: "")
    (page,) = talk(server).ocr(Image.new("L", SIZE, 255))
    assert (len(server.asks), page.text, page.warnings) == (1, "", ())


def test_what_is_no_layout_is_kept_as_words(talk) -> None:
    """As opendatalab/MinerU issue 5263 shows: another model's tokens instead of boxes."""
    server = Reader(model=MODEL, answers=lambda ask: "]]<|txtMask fill:#>\n<]|content_end|>")
    (page,) = talk(server).ocr(page_of(*BLOCKS))
    assert len(server.asks) == 1
    assert "txtMask" in page.text


def test_blocks_of_all_pages_share_one_window() -> None:
    """Six blocks of two pages can only meet if pages do not wait for each other."""
    blocks = [("text", (100, top, 900, top + 90), "up") for top in (100, 300, 500)]
    gate = Gate(6)

    def answers(ask):
        if words_of(ask) == LAYOUT:
            return layout(*blocks)
        gate()
        return "Oak."

    server = Reader(model=MODEL, answers=answers)
    found = Talker(BLOCKING, server, max_concurrency=6).ocr(document(2))
    assert [page.text for page in found] == ["Oak.\n\nOak.\n\nOak."] * 2


def test_no_more_requests_are_under_way_than_allowed(talk) -> None:
    blocks = [("text", (100, top, 900, top + 20), "up") for top in range(100, 900, 40)]
    lock, under_way, most = threading.Lock(), 0, 0

    def answers(ask):
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        try:
            return layout(*blocks) if words_of(ask) == LAYOUT else "Oak."
        finally:
            with lock:
                under_way -= 1

    talk(Reader(model=MODEL, answers=answers), max_concurrency=3).ocr(document(3))
    assert 1 <= most <= 3


def test_a_journal_keeps_pages_whole_and_asks_again_for_one_whose_block_failed(
    talk, tmp_path
) -> None:
    page, journal, fails = page_of(*BLOCKS), tmp_path / "pages.jsonl", [True]

    def says(kind, ask):
        return status(400, "no")(None) if kind == "table" and fails else None

    server = reader(*BLOCKS, says=says)
    for asked in (5, 10, 10):
        found = talk(server).ocr(page, journal=journal)
        assert len(server.asks) == asked
        fails.clear()
    assert found.pages[0].tables() == [[["A", "B"], ["1", ""]]]


def test_each_step_is_a_task_of_its_own_and_own_words_are_said_once(talk) -> None:
    server = reader(*BLOCKS)
    found = talk(server).ocr(page_of(*BLOCKS), task="layout")
    assert [block.type for block in found.pages[0].blocks] == [kind for kind, _, _ in BLOCKS]
    talk(server).ocr(page_of(BLOCKS[1]).crop((50, 96, 240, 320)), prompt="Read.")
    assert [words_of(ask) for ask in server.asks] == [LAYOUT, "Read."]


def test_an_unknown_task_names_those_in_two_steps_too(talk) -> None:
    with pytest.raises(InvalidRequestError, match="has 'markdown', 'layout', 'text', 'table'"):
        talk(reader()).ocr(page_of(), task="seal")


def test_a_profile_of_one_s_own_may_read_in_two_steps(talk) -> None:
    facts = OCRProfile(
        prompts={"boxes": LAYOUT, "words": "Say it."},
        steps={"markdown": Steps(layout="boxes", tasks={"image": None}, others="words")},
        grammar="box-marks",
        sources={},
    )
    server = Reader(
        model="mine",
        answers=lambda ask: (
            "<|box_start|>0 0 1 1<|box_end|><|ref_start|>text<|ref_end|>"
            if words_of(ask) == LAYOUT
            else spoken(ask)
        ),
    )
    mine = Profile(name="Mine", pattern="mine", ocr=facts)
    found = talk(server, profiles=[mine], base_url={"ocr": URL}).ocr(document(1))
    assert found.text.startswith("Page ")
