from __future__ import annotations

from io import BytesIO

import pytest
from _work import calls
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vllm_modalities.documents.grammars.grounding import parse
from vllm_modalities.documents.preparing import Frame
from vllm_modalities.documents.reading import read_image
from vllm_modalities.documents.repetition import repeated_tail
from vllm_modalities.errors import MediaError

MARKERS = ["<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>"]
SIZES = st.integers(1, 5_000)
NUMBERS = st.integers(-50, 1_100)
BOX = st.lists(NUMBERS, min_size=3, max_size=5).map(str)
BOXES = st.lists(BOX, max_size=3).map(lambda boxes: f"[{', '.join(boxes)}]")
LABELS = st.sampled_from(["title", "text", "image", "table", "side_note", "Total: [12]", ""])
MARKS = st.builds("<|ref|>{}<|/ref|><|det|>{}<|/det|>".format, LABELS, BOXES)
WORDS = st.text("abcäß中1<>[]|# ", min_size=1, max_size=12)
PIECES = st.one_of(
    MARKS, WORDS, BOX, BOXES, LABELS, st.sampled_from([*MARKERS, "\n", "<PAGE>", "text[", "![]("])
)
OUTPUTS = st.lists(PIECES, max_size=30).map("".join)


@given(text=st.text() | OUTPUTS, width=SIZES, height=SIZES)
def test_any_text_is_read_and_every_box_lies_on_the_page(
    text: str, width: int, height: int
) -> None:
    page = parse(text, Frame.whole(width, height, 999))
    for order, block in enumerate(page.blocks):
        assert block.order == order
        assert block.text or block.boxes
        for x0, y0, x1, y1 in block.boxes:
            assert 0 <= x0 < x1 <= width
            assert 0 <= y0 < y1 <= height
    assert not any(marker in page.markdown for marker in MARKERS)


@given(parts=st.lists(st.tuples(MARKS, st.lists(st.from_regex(r"[b-y]{3,8}", fullmatch=True)))))
def test_words_outside_the_markup_all_survive_in_order(parts: list[tuple[str, list[str]]]) -> None:
    text = "".join(f"{mark}\n{' '.join(words)}\n" for mark, words in parts)
    left = iter(parse(text, Frame.whole(999, 999, 999)).markdown.split())
    assert all(word in left for _, words in parts for word in words)


@given(text=OUTPUTS, cut=st.integers(0, 400))
def test_a_cut_output_is_read(text: str, cut: int) -> None:
    parse(text[:cut], Frame.whole(100, 100, 999))


@pytest.mark.parametrize("before", ["", "text[[1,2,3,4]]\n", "<|det|>", "<|det|>[["])
@pytest.mark.parametrize(
    "unit",
    [
        *MARKERS,
        "[",
        "[[",
        " ",
        "\n",
        "1,",
        "[1,2,3,4], ",
        "[[1,2,3,4], ",
        "text [",
        "text [1 1,\n",
        "a[[1,2,3,4]]",
        "<|/ref|>abcdefghij",
        "<|ref|>a<|/ref|>",
        "<|det|>[[1,1,2,2]]",
        "<PAGE>",
        "<td",
        "![](",
        "| 0 | 0 |\n",
    ],
)
def test_work_grows_with_the_text_and_no_faster(before: str, unit: str) -> None:
    few, many = (
        calls(lambda: parse(before + unit * (size // len(unit)), Frame.whole(100, 100, 999)))  # noqa: B023 - run at once
        for size in (5_000, 20_000)
    )
    assert many <= 5 * few


@given(before=st.text(max_size=50), unit=st.text(min_size=1, max_size=40), extra=st.integers(0, 9))
def test_a_loop_is_found_whatever_its_unit(before: str, unit: str, extra: int) -> None:
    count = max(10, -(-500 // len(unit))) + extra
    text = before + unit * count
    found = repeated_tail(text)
    assert found is not None
    shortest, times = found
    assert len(shortest) <= len(unit)
    assert len(shortest) * (times + 1) > len(unit) * count
    assert shortest * times in text


@given(text=st.text(max_size=499))
def test_a_short_text_is_no_loop(text: str) -> None:
    assert repeated_tail(text) is None


@given(content=st.binary(max_size=300), magic=st.sampled_from([b"", b"BM", b"GIF89a", b"P6\n"]))
def test_bytes_that_are_no_image_are_refused_as_such(content: bytes, magic: bytes) -> None:
    try:
        page = read_image(magic + content)
    except MediaError:
        return
    assert page.image.mode == "RGB"


@given(
    width=st.integers(1, 20),
    height=st.integers(1, 20),
    mode=st.sampled_from("1 L LA P PA RGB RGBA CMYK I F I;16".split()),
)
def test_every_mode_becomes_rgb_of_the_same_size(width: int, height: int, mode: str) -> None:
    page = read_image(Image.new(mode, (width, height)))
    assert (page.image.mode, page.width, page.height) == ("RGB", width, height)


@given(cut=st.integers(0, 200))
def test_a_cut_png_never_gives_a_page_that_lacks_pixels(cut: int) -> None:
    image = Image.radial_gradient("L").resize((40, 40)).convert("RGB")
    file = BytesIO()
    image.save(file, "PNG")
    content = file.getvalue()
    try:
        page = read_image(content[: max(0, len(content) - cut)])
    except MediaError:
        return
    assert page.image.tobytes() == image.tobytes()
