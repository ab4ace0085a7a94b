"""How a page is fitted: never more pixels than the model takes, and there is always a way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vllm_modalities.documents.preparing import Frame, fitted, prepare
from vllm_modalities.profiles import ImageRule

SIDES = st.integers(1, 3000)
RULES = st.builds(
    ImageRule,
    scale=st.none() | st.sampled_from([1.0, 500, 999]),
    pixels=st.none() | st.just((3136, 1_000_000)),
    longest=st.none() | st.just(700),
    multiple=st.none() | st.sampled_from([14, 28]),
)


@given(width=SIDES, height=SIDES, rule=RULES)
def test_a_fitted_page_keeps_the_model_s_limits(width: int, height: int, rule: ImageRule) -> None:
    across, down = fitted(width, height, rule)
    step = rule.multiple or 1
    assert across % step == down % step == 0
    if rule.pixels and max(width, height) < 50 * min(width, height):
        assert across * down <= rule.pixels[1]
        assert across * down >= rule.pixels[0]
    elif rule.longest and not rule.pixels:
        assert max(across, down) <= max(rule.longest + step, step)


@given(
    size=st.tuples(st.integers(1, 90), st.integers(1, 90)),
    rule=RULES
    | st.just(ImageRule(scale=1.0, canvas=(166, 204)))
    | st.just(ImageRule(scale=1000, shortest=28, widened=3))
    | st.just(ImageRule(scale=1000, squeezed=(50, 60))),
    x=st.floats(0, 1),
    y=st.floats(0, 1),
)
def test_a_point_goes_there_and_back(
    size: tuple[int, int], rule: ImageRule, x: float, y: float
) -> None:
    prepared = prepare(Image.new("RGB", size), rule)
    frame = prepared.frame
    model = (
        frame.left + x * (frame.right - frame.left),
        frame.top + y * (frame.bottom - frame.top),
    )
    assert frame.place(*model) == pytest.approx((x * size[0], y * size[1]), abs=1e-6)
    assert not frame.leaves(*model)
    right, bottom = (rule.scale,) * 2 if rule.scale else prepared.image.size
    assert 0 <= frame.left < frame.right <= right + 1e-9
    assert 0 <= frame.top < frame.bottom <= bottom + 1e-9


def test_a_page_that_fits_is_sent_as_it_is() -> None:
    page = Image.new("RGB", (56, 84))
    prepared = prepare(page, ImageRule(multiple=28))
    assert prepared.image is page
    assert prepared.frame == Frame(56, 84, 0, 0, 56, 84)


def test_a_canvas_is_white_around_the_page_in_its_middle() -> None:
    """A page that is larger is made smaller, and none larger, as Nemotron-Parse's makers do."""
    rule = ImageRule(canvas=(40, 20), scale=1.0)
    for side, (first, last) in ((60, (10, 29)), (10, (15, 24))):
        prepared = prepare(Image.new("RGB", (side, side), "black"), rule)
        assert prepared.image.size == (40, 20)
        assert [
            prepared.image.getpixel((x, 10)) == (0, 0, 0)
            for x in (first - 1, first, last, last + 1)
        ] == [False, True, True, False]
    assert prepared.frame == Frame(10, 10, 0.375, 0.25, 0.625, 0.75)


@given(width=SIDES, height=SIDES)
def test_a_picture_is_squeezed_or_widened_as_it_is_asked_for(width: int, height: int) -> None:
    squeezed = prepare(Image.new("RGB", (width, height)), ImageRule(squeezed=(103, 103)))
    assert squeezed.image.size == (103, 103)
    rule = ImageRule(scale=1000, shortest=28, widened=50)
    image = prepare(Image.new("RGB", (width, height)), rule).image
    assert min(image.size) >= 28
    assert max(image.size) <= 50 * min(image.size)
    if min(width, height) >= 28 and max(width, height) <= 50 * min(width, height):
        assert image.size == (width, height)
